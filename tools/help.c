/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The text of --help, from a command's table. */
#include <stdio.h>
#include <string.h>

#include "options.h"

enum { PAGE = 80, WIDEST_LEFT = 25, LEFT_MARGIN = 2 };

/* Where the next word goes. */
typedef struct page {
    FILE *stream;
    int indent, column;
} page;

/* Words of a text of `size` bytes, broken where the page ends. */
static void print_words(page *p, const char *text, int size) {
    for (const char *end = text + size; text < end;) {
        text += strspn(text, " \n");
        int length = (int)strcspn(text, " \n");
        if (text + length > end) length = (int)(end - text);
        if (length <= 0) break;
        if (p->column > p->indent && p->column + 1 + length > PAGE) {
            fprintf(p->stream, "\n%*s", p->indent, "");
            p->column = p->indent;
        } else if (p->column > p->indent) {
            fputc(' ', p->stream);
            p->column++;
        }
        fprintf(p->stream, "%.*s", length, text);
        p->column += length;
        text += length;
    }
}

static void print_paragraph(void *context, const char *text, int size) {
    page p = {.stream = context};
    print_words(&p, text, size);
    fputs("\n\n", p.stream);
}

/* "--watch [SECONDS]", or "NAME=VALUE" of a variable; returns its length. */
static int format_left(const option_spec *o, const char *dashes, char *text, size_t size) {
    return snprintf(text, size, "%s%s%s%s", dashes, o->name,
                    !o->argument ? ""
                    : dashes[0]  ? " "
                                 : "=",
                    o->argument ? o->argument : "");
}

static void print_entry(FILE *stream, const char *left, int width, const char *help) {
    page p = {stream, LEFT_MARGIN + width + 2, LEFT_MARGIN + width + 2};
    fprintf(stream, "%*s%-*s", LEFT_MARGIN, "", width, left);
    if ((int)strlen(left) > width)
        fprintf(stream, "\n%*s", p.indent, "");
    else
        fputs("  ", stream);
    print_words(&p, help, (int)strlen(help));
    fputc('\n', stream);
}

static void print_options(FILE *stream, const char *title, const option_spec *options,
                          const char *dashes, bool with_help) {
    char left[64];
    int width = with_help ? 6 : 0;
    for (const option_spec *o = options; o && o->name; o++) {
        const int length = format_left(o, dashes, left, sizeof left);
        if (length > width && length <= WIDEST_LEFT) width = length;
    }
    fprintf(stream, "%s:\n", title);
    for (const option_spec *o = options; o && o->name; o++) {
        format_left(o, dashes, left, sizeof left);
        print_entry(stream, left, width, o->help);
    }
    if (with_help) print_entry(stream, "--help", width, "print this help and exit");
    fputc('\n', stream);
}

static void print_usage_line(FILE *stream, const command_spec *spec, const char *before) {
    fprintf(stream, "%s tdm%s%s%s [OPTION...]%s%s\n", before, spec->name[0] ? " " : "", spec->name,
            !spec->run ? " COMMAND" : "", spec->operands ? " " : "",
            spec->operands ? spec->operands : "");
}

static void print_usage(FILE *stream, const command_spec *spec) {
    print_usage_line(stream, spec, "usage:");
    for (const command_spec *const *s = spec->subcommands; spec->run && s && *s; s++)
        print_usage_line(stream, *s, "      ");
    fputc('\n', stream);
}

static void print_commands(FILE *stream, const command_spec *spec) {
    int width = 0;
    for (const command_spec *const *s = spec->subcommands; *s; s++)
        if ((int)strlen(options_last_name(*s)) > width) width = (int)strlen(options_last_name(*s));
    fputs("commands:\n", stream);
    for (const command_spec *const *s = spec->subcommands; *s; s++)
        print_entry(stream, options_last_name(*s), width, (*s)->summary);
    const char *blank = spec->name[0] ? " " : "";
    fprintf(stream,
            "\n'tdm %s%sCOMMAND --help' or 'tdm help %s%sCOMMAND' describes one of them.\n\n",
            spec->name, blank, spec->name, blank);
}

void options_print_help(const command_spec *spec, FILE *stream) {
    print_usage(stream, spec);
    options_paragraphs(spec->description, print_paragraph, stream);
    if (spec->subcommands) print_commands(stream, spec);
    print_options(stream, "options", spec->options, "--", true);
    if (spec->variables) print_options(stream, "environment", spec->variables, "", false);
    if (spec->examples) {
        fputs("examples:\n", stream);
        for (const example_spec *e = spec->examples; e->line; e++) {
            page p = {stream, 6, 6};
            fprintf(stream, "  %s\n%*s", e->line, p.indent, "");
            print_words(&p, e->help, (int)strlen(e->help));
            fputc('\n', stream);
        }
        fputc('\n', stream);
    }
    if (spec->exit_status) {
        page p = {stream, 0, 12};
        fputs("Exit status:", stream);
        print_words(&p, spec->exit_status, (int)strlen(spec->exit_status));
        fputc('\n', stream);
    }
}
