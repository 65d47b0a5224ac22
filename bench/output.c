/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <string.h>

#include "machine.h"

void bench_print_wrapped(FILE *stream, const char *text, int width, int indent) {
    int column = indent;
    fprintf(stream, "%*s", indent, "");
    while (*(text += strspn(text, " "))) {
        const int length = (int)strcspn(text, " ");
        if (column > indent && width > 0 && column + 1 + length > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(stream, column > indent ? " %.*s" : "%.*s", length, text);
        text += length;
    }
    fputc('\n', stream);
}

static bool is_table(const bench_output *output) {
    return output->format == BENCH_TABLE || output->format == BENCH_MD;
}

void bench_output_begin(bench_output *output, const bench_options *options) {
    char machine[768];
    *output = (bench_output){.format = options->format,
                             .width = options->format == BENCH_TABLE ? options->width : 0};
    if (is_table(output)) {
        bench_print_wrapped(stdout, bench_machine_line(options, machine, sizeof machine),
                            output->width, 0);
        if (output->format == BENCH_MD || options->peaks) putchar('\n');
    }
    fflush(stdout);
}

void bench_output_head(bench_output *output, const bench_longest *longest) {
    if (is_table(output)) {
        bench_table_begin(output, longest);
        bench_table_row(output, NULL);
    } else if (output->format == BENCH_CSV) {
        bench_print_csv_row(stdout, NULL);
    }
    fflush(stdout);
}

void bench_output_row(const bench_output *output, const bench_row *row) {
    if (is_table(output)) bench_table_row(output, row);
    if (output->format == BENCH_CSV) bench_print_csv_row(stdout, row);
    if (output->format == BENCH_JSONL) bench_print_jsonl_row(stdout, row);
    fflush(stdout);
}

void bench_output_end(const bench_output *output, const char *counts,
                      const bench_results *results) {
    if (output->format == BENCH_JSON) bench_print_json(stdout, results);
    if (output->format == BENCH_JSONL && !counts[0])
        bench_print_jsonl_peaks(stdout, results->peaks);
    if (output->format == BENCH_CSV && !counts[0]) bench_print_csv_peaks(stdout, results->peaks);
    if (output->format == BENCH_MD && counts[0]) putchar('\n');
    if (counts[0]) fprintf(is_table(output) ? stdout : stderr, "%s\n", counts);
    fflush(stdout);
}
