/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a few timings. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

typedef struct bench_stats {
    double median, min;
    double iqr; /* third quartile less the first */
} bench_stats;

/* 1 ≤ count ≤ BENCH_MAX_VALUES. */
enum { BENCH_MAX_VALUES = 4096 };
bench_stats bench_summarise(const double *values, int count);

/* Seconds of a monotonic clock. */
double bench_now(void);

#endif
