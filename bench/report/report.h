/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reports that are made of the rows of a run. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "rows/peak.h"
#include "rows/row.h"

/* Of the JSON: rises when a key goes or changes its meaning, not when one comes. */
enum { BENCH_SCHEMA = 1 };

/* The results of a run, for the reports. */
typedef struct bench_results {
    const json_t *machine;
    const bench_peak *peaks; /* of each device in turn */
    size_t peak_count;
    const bench_row *rows;
    size_t count;
} bench_results;

/* The document that schema.json describes. bench_write_json: false with a message on stderr when
 * it cannot. */
void bench_print_json(FILE *stream, const bench_results *results);
bool bench_write_json(const char *path, const bench_results *results);

/* A row on one line: as JSON that needs no head, and its figures between commas, where NULL prints
 * the names of the columns. */
void bench_print_jsonl_row(FILE *stream, const bench_row *row);
void bench_print_csv_row(FILE *stream, const bench_row *row);

/* The peaks in the same manner, where there are no rows. */
void bench_print_jsonl_peaks(FILE *stream, const bench_results *results);
void bench_print_csv_peaks(FILE *stream, const bench_results *results);

/* Writes the page: the machine, its peaks, plots, every row. A temporary file next to `path` is
 * renamed to it. False with a message on stderr when it cannot. */
bool bench_write_html(const char *path, const bench_results *results);

#endif
