/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading arguments by a command's table. */
#include "options.h"

#include <string.h>

#include "tools.h"

enum { MOST_OPTIONS = 24, MOST_WORDS = MOST_OPTIONS + 16, LONGEST_OPTION = 40 };

const char *options_last_name(const command_spec *spec) {
    const char *blank = strrchr(spec->name, ' ');
    return blank ? blank + 1 : spec->name;
}

const command_spec *options_subcommand(const command_spec *spec, const char *name) {
    for (const command_spec *const *s = spec->subcommands; s && *s; s++)
        if (strcmp(options_last_name(*s), name) == 0) return *s;
    return NULL;
}

void options_paragraphs(const char *text, void (*visit)(void *context, const char *text, int size),
                        void *context) {
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        visit(context, text, (int)(end ? (size_t)(end - text) : strlen(text)));
        text = end ? end + 2 : NULL;
    }
}

int options_take_none(void *context, int id, char *value) {
    (void)context;
    (void)id;
    (void)value;
    return EXIT_OK;
}

/* --- refusals --------------------------------------------------------------------------------- */

/* Everything that could have been meant: options for what begins with a dash, else commands. */
static int refuse(const command_spec *spec, const char *word) {
    char texts[MOST_OPTIONS][LONGEST_OPTION];
    const char *words[MOST_WORDS] = {0};
    int count = 0;
    const bool is_option = word[0] == '-';
    if (is_option) {
        for (const option_spec *o = spec->options; o && o->name && count < MOST_OPTIONS; o++) {
            snprintf(texts[count], LONGEST_OPTION, "--%s", o->name);
            words[count] = texts[count];
            count++;
        }
        words[count] = "--help";
    } else {
        for (const command_spec *const *s = spec->subcommands; s && *s && count + 1 < MOST_WORDS;
             s++)
            words[count++] = options_last_name(*s);
    }
    return refuse_word(spec->name,
                       is_option           ? "unknown option"
                       : spec->subcommands ? "unknown command"
                                           : "unexpected argument",
                       word, words);
}

static int refuse_missing(const command_spec *spec, const option_spec *o) {
    const size_t bracket = o->argument[0] == '[';
    fprintf(stderr, "tdm %s: --%s wants a value: %.*s\n  %s\n'tdm %s --help' says more\n",
            spec->name, o->name, (int)(strlen(o->argument) - 2 * bracket), o->argument + bracket,
            o->help, spec->name);
    return EXIT_USAGE;
}

/* Each word of the value is one of those that the table has. */
static int check_words(const command_spec *spec, const option_spec *o, const char *value) {
    const char *const *words = o->words();
    for (const char *text = value, *end;; text = end + 1) {
        char word[128], what[LONGEST_OPTION + 16];
        end = o->is_list ? text + strcspn(text, ",") : text + strlen(text);
        snprintf(word, sizeof word, "%.*s", (int)(end - text), text);
        const char *const *known = words;
        while (*known && strcmp(*known, word) != 0)
            known++;
        snprintf(what, sizeof what, "--%s: unknown word", o->name);
        if (!*known) return refuse_word(spec->name, what, word, words);
        if (!*end) return EXIT_OK;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* "--name" or "--name=value", by its whole name: an abbreviation would change its meaning when an
 * option is added. */
const option_spec *options_find(const command_spec *spec, const char *word) {
    const size_t length = strcspn(word, "=");
    for (const option_spec *o = spec->options; o && o->name; o++)
        if (strlen(o->name) + 2 == length && strncmp(word, "--", 2) == 0 &&
            strncmp(o->name, word + 2, length - 2) == 0)
            return o;
    return NULL;
}

/* Is the word after an option whose value may be left out that value? */
static bool is_value(const char *word) {
    return strncmp(word, "--", 2) != 0 && strcmp(word, "-h") != 0;
}

/* Takes the option argv[*next] and moves on; false when the command ends with *status. */
static bool read_option(const command_spec *spec, int argc, char **argv, int *next,
                        option_taker take, void *context, int *status) {
    char *word = argv[*next];
    const bool wants_help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    const option_spec *o = options_find(spec, word);
    *status = EXIT_OK;
    if (wants_help) {
        options_print_help(spec, stdout);
        return false;
    }
    if (!o) {
        *status = refuse(spec, word);
        return false;
    }
    const bool is_optional = o->argument && o->argument[0] == '[';
    char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    (*next)++;
    if (o->argument && !value && *next < argc && (!is_optional || is_value(argv[*next])))
        value = argv[(*next)++];
    if (o->argument && (value ? !*value : !is_optional)) {
        *status = refuse_missing(spec, o);
    } else if (!o->argument && value) {
        fprintf(stderr, "tdm %s: --%s takes no value\n", spec->name, o->name);
        *status = EXIT_USAGE;
    } else {
        if (value && o->words && !o->is_open) *status = check_words(spec, o, value);
        if (*status == EXIT_OK) *status = take(context, o->id, value);
    }
    return *status == EXIT_OK;
}

bool options_read(const command_spec *spec, int argc, char **argv, option_taker take, void *context,
                  operand_list *operands, int *status) {
    bool ended = false; /* by "--" */
    *status = EXIT_OK;
    if (operands) operands->count = 0;
    for (int next = 1; next < argc;) {
        char *word = argv[next];
        if (!ended && word[0] == '-' && word[1]) {
            ended = strcmp(word, "--") == 0;
            if (ended)
                next++;
            else if (!read_option(spec, argc, argv, &next, take, context, status))
                return false;
        } else if (operands && operands->count < OPTIONS_MOST_OPERANDS) {
            operands->word[operands->count++] = word;
            next++;
        } else {
            *status = refuse(spec, word);
            return false;
        }
    }
    return true;
}

int options_run(const command_spec *spec, int argc, char **argv) {
    const command_spec *const command = argc > 1 ? options_subcommand(spec, argv[1]) : NULL;
    int status;
    if (command) return command->run(argc - 1, argv + 1);
    if (spec->run) return spec->run(argc, argv);
    if (argc < 2) {
        options_print_help(spec, stderr);
        return EXIT_USAGE;
    }
    options_read(spec, argc, argv, options_take_none, NULL, NULL, &status);
    return status;
}
