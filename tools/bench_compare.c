/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench compare`: reads the options, then compares two files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench.h>

#include "options.h"
#include "tools.h"

enum { OPTION_THRESHOLD, OPTION_SIGNIFICANCE, OPTION_ALL };

static const option_spec options[] = {
    OPTION("threshold", OPTION_THRESHOLD, "PERCENT",
           "the smallest change that is reported (3 when not given)"),
    OPTION("significance", OPTION_SIGNIFICANCE, "P",
           "the probability with which chance alone may name any row (0.01 when not given)"),
    OPTION("all", OPTION_ALL, NULL, "show the rows that did not change too"),
    {0}};

static const example_spec examples[] = {
    {"tdm bench --json old.json", "measures what is there before a change"},
    {"tdm bench --json new.json && tdm bench compare old.json new.json",
     "measures what is there after it, and fails where something has become slower"},
    {0}};

static int bench_compare_command(int argc, char **argv);

const command_spec bench_compare_spec = {
    .name = "bench compare",
    .summary = "compare two files that --json wrote: what has become slower or faster",
    .operands = "OLD NEW",
    .description =
        "Compares the medians of each row that both files have, and prints those that changed by "
        "more than the threshold and whose samples differ significantly: by a Mann-Whitney U test, "
        "two-sided, with Holm's correction for the number of rows.\n\n"
        "The test knows only what varies within a run. Measure both on the same machine, with the "
        "same options, and with nothing else running.",
    .options = options,
    .run = bench_compare_command,
    .exit_status =
        "0 no row is slower, 1 a row is significantly slower, 2 wrong arguments or files.",
    .examples = examples,
};

static int take_number(const char *option, const char *text, double most, double *number) {
    if (read_decimal(text, most, number)) return EXIT_OK;
    fprintf(stderr, "tdm bench compare: %s %s: it is a number from 0 to %g\n", option, text, most);
    return EXIT_USAGE;
}

static int take(void *context, int id, char *value) {
    bench_comparison *out = context;
    int status = EXIT_OK;
    switch (id) {
    case OPTION_THRESHOLD:
        status = take_number("--threshold", value, 1000.0, &out->threshold);
        out->threshold /= 100.0;
        return status;
    case OPTION_SIGNIFICANCE:
        return take_number("--significance", value, 1.0, &out->significance);
    default:
        out->all = true;
        return EXIT_OK;
    }
}

static int bench_compare_command(int argc, char **argv) {
    bench_comparison wanted = {.threshold = 0.03, .significance = 0.01, .width = output_width()};
    operand_list files;
    int status;
    if (!options_read(&bench_compare_spec, argc, argv, take, &wanted, &files, &status))
        return status;
    if (files.count != 2) {
        fprintf(stderr,
                "tdm bench compare: two files are compared, and %d %s given\n'tdm bench compare "
                "--help' says more\n",
                files.count, files.count == 1 ? "is" : "are");
        return EXIT_USAGE;
    }
    wanted.before = files.word[0];
    wanted.after = files.word[1];
    switch (bench_compare(&wanted)) {
    case BENCH_NOT_SLOWER:
        return EXIT_OK;
    case BENCH_SLOWER:
        return EXIT_FAILED;
    default:
        return EXIT_USAGE;
    }
}
