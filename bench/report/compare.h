/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <stdbool.h>

typedef struct bench_comparison {
    const char *before, *after; /* files that bench_write_json wrote */
    double threshold;           /* the smallest change of a median that is reported: 0.03 is 3 % */
    double significance;        /* the probability with which chance alone may name a row */
    bool all;                   /* rows that did not change too */
    int width;                  /* of the page, in columns; 0: no limit */
} bench_comparison;

typedef enum bench_compared { BENCH_NOT_SLOWER, BENCH_SLOWER, BENCH_UNCOMPARABLE } bench_compared;

/* Prints what changed from one run to another; BENCH_SLOWER when a row became slower. When the
 * files cannot be compared it has said why on stderr. */
bench_compared bench_compare(const bench_comparison *wanted);

#endif
