/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The completion of bash from the commands' tables. */
#include <stdio.h>
#include <string.h>

#include "options.h"

/* Readline breaks words at '=' as well, so that "--op=x" comes as three words. */
static const char head[] =
    "# Completion of bash for tdm. Made by the build from the tables of the program.\n"
    "_tdm() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command= words= list= i\n"
    "    COMPREPLY=()\n"
    "    if [ \"$current\" = = ]; then\n"
    "        current=\n"
    "    elif [ \"$option\" = = ]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case \"$command ${COMP_WORDS[i]}\" in\n";

static const char middle[] = "        esac\n"
                             "    done\n"
                             "    case \"$command $option\" in\n";

/* Of several words between commas the last one is being written. */
static const char tail[] = "    esac\n"
                           "    if [ \"$list\" = files ]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                           "        compopt -o filenames 2>/dev/null\n"
                           "        return\n"
                           "    fi\n"
                           "    local before=\n"
                           "    if [ \"$list\" = words ] && [[ $current == *,* ]]; then\n"
                           "        before=${current%,*},\n"
                           "    fi\n"
                           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -P \"$before\" -- "
                           "\"${current#\"$before\"}\")\n"
                           "}\n"
                           "complete -o bashdefault -o default -F _tdm tdm\n";

static void visit(const command_spec *spec, void (*print)(const command_spec *spec)) {
    print(spec);
    for (const command_spec *const *s = spec->subcommands; s && *s; s++)
        visit(*s, print);
}

/* A word that makes another command of the one so far. */
static void print_command_pattern(const command_spec *spec) {
    for (const command_spec *const *s = spec->subcommands; s && *s; s++)
        printf("        '%s %s') command='%s' ;;\n", spec->name, options_last_name(*s), (*s)->name);
}

static void print_value_patterns(const command_spec *spec) {
    for (const option_spec *o = spec->options; o && o->name; o++) {
        if (!o->argument || o->argument[0] == '[') continue;
        printf("    '%s --%s') ", spec->name, o->name);
        if (o->words) {
            fputs("words='", stdout);
            for (const char *const *word = o->words(); *word; word++)
                printf("%s ", *word);
            printf("'%s ;;\n", o->is_list ? " list=words" : "");
        } else {
            const bool is_file =
                strcmp(o->argument, "FILE") == 0 || strcmp(o->argument, "PYTHON") == 0;
            printf("%s ;;\n", is_file ? "list=files" : ":");
        }
    }
}

static void print_words_pattern(const command_spec *spec) {
    printf("    '%s '*) words='", spec->name);
    for (const command_spec *const *s = spec->subcommands; s && *s; s++)
        printf("%s ", options_last_name(*s));
    for (const option_spec *o = spec->options; o && o->name; o++)
        printf("--%s ", o->name);
    puts("--help' ;;");
}

void options_print_completion(void) {
    fputs(head, stdout);
    visit(&tdm_spec, print_command_pattern);
    fputs(middle, stdout);
    visit(&tdm_spec, print_value_patterns);
    /* the longer names first: that of the program is the beginning of all */
    for (const command_spec *const *s = tdm_spec.subcommands; *s; s++) {
        for (const command_spec *const *sub = (*s)->subcommands; sub && *sub; sub++)
            print_words_pattern(*sub);
        print_words_pattern(*s);
    }
    print_words_pattern(&tdm_spec);
    fputs(tail, stdout);
}
