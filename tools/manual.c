/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Man pages from the commands' tables, in the macros of man(7). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#include "options.h"

/* Characters that roff reads otherwise: a dash has to stay one that can be copied into a shell, and a line
 * that begins with a point or a quote would be a macro. */
static void print_escaped(const char *text, int size) {
    bool first = true;
    for (int i = 0; i < size; i++) {
        const char c = text[i];
        if (first && (c == '.' || c == '\'')) fputs("\\&", stdout);
        first = c == '\n';
        switch (c) {
        case '\\':
            fputs("\\e", stdout);
            break;
        case '-':
            fputs("\\-", stdout);
            break;
        case '\'':
            fputs("\\(aq", stdout);
            break;
        case '`':
            fputs("\\(ga", stdout);
            break;
        case '^':
            fputs("\\(ha", stdout);
            break;
        case '~':
            fputs("\\(ti", stdout);
            break;
        default:
            putchar(c);
        }
    }
}

static void print_text(const char *text) { print_escaped(text, (int)strlen(text)); }

static void print_paragraph(void *context, const char *text, int size) {
    bool *first = context;
    if (!*first) puts(".PP");
    *first = false;
    print_escaped(text, size);
    putchar('\n');
}

static void print_description(const char *text) {
    bool first = true;
    options_paragraphs(text, print_paragraph, &first);
}

static void print_option(const char *dashes, const option_spec *o) {
    printf(".TP\n\\fB");
    print_text(dashes);
    print_text(o->name);
    fputs("\\fR", stdout);
    if (o->argument) {
        fputs(dashes[0] ? " \\fI" : "=\\fI", stdout);
        print_text(o->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_text(o->help);
    putchar('\n');
}

static void print_options(const char *dashes, const option_spec *options) {
    for (const option_spec *o = options; o && o->name; o++)
        print_option(dashes, o);
}

static void print_help_option(void) {
    static const option_spec help = OPTION("help", 0, NULL, "print the options and exit");
    print_option("--", &help);
}

static void print_synopsis(const command_spec *spec) {
    printf("\\fBtdm%s", spec->name[0] ? " " : "");
    print_text(spec->name);
    printf("\\fR%s [\\fIOPTION\\fR...]", !spec->run ? " \\fICOMMAND\\fR" : "");
    if (spec->operands) {
        putchar(' ');
        print_text(spec->operands);
    }
    putchar('\n');
}

static void print_synopses(const command_spec *spec) {
    puts(".SH SYNOPSIS");
    print_synopsis(spec);
    for (const command_spec *const *s = spec->subcommands; s && *s && spec->name[0]; s++) {
        puts(".br");
        print_synopsis(*s);
    }
}

/* Of the program: a list that names the other pages. Of a command: all there is to know. */
static void print_subcommands(const command_spec *spec) {
    puts(".SH COMMANDS");
    for (const command_spec *const *s = spec->subcommands; *s; s++) {
        if (!spec->name[0]) {
            printf(".TP\n\\fB%s\\fR\n", (*s)->name);
            print_text((*s)->summary);
            printf(": see\n.BR tdm\\-%s (1).\n", (*s)->name);
            continue;
        }
        fputs(".SS ", stdout);
        printf("tdm %s", (*s)->name);
        if ((*s)->operands) {
            putchar(' ');
            print_text((*s)->operands);
        }
        putchar('\n');
        print_description((*s)->description);
        print_options("--", (*s)->options);
        if ((*s)->exit_status) {
            fputs(".PP\nExit status: ", stdout);
            print_text((*s)->exit_status);
            putchar('\n');
        }
    }
}

static void print_examples(const example_spec *examples) {
    puts(".SH EXAMPLES");
    for (const example_spec *e = examples; e->line; e++) {
        fputs(".TP\n\\fB", stdout);
        print_text(e->line);
        fputs("\\fR\n", stdout);
        print_text(e->help);
        putchar('\n');
    }
}

static void print_references(const command_spec *spec) {
    const char *before = "";
    puts(".SH SEE ALSO");
    if (spec->name[0]) {
        printf(".BR tdm (1)");
        before = ",\n";
    }
    for (const command_spec *const *s = tdm_spec.subcommands; *s; s++) {
        if (*s == spec) continue;
        printf("%s.BR tdm\\-%s (1)", before, (*s)->name);
        before = ",\n";
    }
    puts(",\n.BR tandem (7)");
}

void options_print_manual(const command_spec *spec) {
    const char *dash = spec->name[0] ? "\\-" : "";
    printf(".\\\" Made by the build from the tables of the program.\n.TH TDM%s", dash);
    for (const char *c = spec->name; *c; c++)
        putchar(toupper((unsigned char)*c));
    /* no date: what is built twice is to be the same */
    printf(" 1 \"\" \"Tandem %d.%d.%d\" \"Tandem\"\n.nh\n.ad l\n.SH NAME\ntdm%s%s \\- ",
           TDM_VERSION_MAJOR, TDM_VERSION_MINOR, TDM_VERSION_PATCH, dash, spec->name);
    print_text(spec->summary);
    putchar('\n');
    print_synopses(spec);
    puts(".SH DESCRIPTION");
    print_description(spec->description);
    if (spec->subcommands) print_subcommands(spec);
    puts(".SH OPTIONS");
    print_options("--", spec->options);
    print_help_option();
    if (spec->variables) {
        puts(".SH ENVIRONMENT");
        print_options("", spec->variables);
    }
    if (spec->exit_status) {
        puts(".SH EXIT STATUS");
        print_text(spec->exit_status);
        putchar('\n');
    }
    if (spec->examples) print_examples(spec->examples);
    print_references(spec);
}
