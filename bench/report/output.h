/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The standard output of a run: a table for people, in plain text or Markdown, as each row is
 * measured; or rows for programs. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdio.h>

#include "report/format.h"
#include "report/report.h"

enum { BENCH_TABLE_COLUMNS = 12 };

typedef struct bench_output {
    bench_format format;
    int width;                       /* columns of the page; 0: no limit */
    int widths[BENCH_TABLE_COLUMNS]; /* of the table; 0: not shown */
    FILE *lines; /* gets peaks and rows as lines of JSON, each as it is measured; or NULL */
} bench_output;

/* The longest texts that the rows of a run will have. */
typedef struct bench_longest {
    int device, op, shape;
} bench_longest;

/* A sentence on the machine and the run; the peaks of one device; the head of the rows, and each
 * row, as it is measured; then the end, with what only the whole run can tell: the counts, in a
 * sentence ("": there are no rows), and the document. Width: of BENCH_TABLE, see above. */
void bench_output_begin(bench_output *output, bench_format format, int width, const char *about);
void bench_output_peaks(const bench_output *output, const bench_peak *peaks, size_t count);
void bench_output_head(bench_output *output, const bench_longest *longest);
void bench_output_row(const bench_output *output, const bench_row *row);
void bench_output_end(const bench_output *output, const char *counts, const bench_results *results);

/* The parts of it for tables; the row NULL is the head. */
void bench_table_begin(bench_output *output, const bench_longest *longest);
void bench_table_row(const bench_output *output, const bench_row *row);

#endif
