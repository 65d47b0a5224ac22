/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark, as the program `tdm` calls it. Each row is verified against a float64
 * reference, and timed along with a baseline in the same run. README.md says how. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "baselines/peers.h"
#include "cases/selection.h"
#include "report/compare.h"
#include "report/format.h"

typedef struct bench_options {
    bench_words devices; /* names; none: every listed device that is not a card listed before */
    bench_selection cases;
    uint64_t seed; /* of the inputs and of the rows that are verified */
    bench_format format;
    int width;                   /* of BENCH_TABLE, in columns; 0: no limit */
    bool peaks;                  /* first the peaks of each device */
    bool no_rows;                /* and nothing else */
    double seconds;              /* to begin rows in; 0: no limit */
    const char *json_path;       /* or NULL */
    const char *json_lines_path; /* the same: one flushed line per row */
    const char *html_path;       /* or NULL */
    const char *peers;           /* a Python, to time rows in its libraries; or NULL */
    bool has_peer[BENCH_PEERS];
} bench_options;

/* Runs the selected cases on the selected devices: the table to stdout, progress and failures to
 * stderr. True when every row is verified, and there was at least one, or no case applied to the
 * devices (f64 on one without it). */
bool bench_run(const bench_options *options);

#endif
