/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a few timings. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_stats {
    double median, min;
    double iqr; /* third quartile less the first */
} bench_stats;

/* 1 ≤ count ≤ BENCH_MAX_VALUES. */
enum { BENCH_MAX_VALUES = 1024 };
bench_stats bench_summarise(const double *values, int count);

/* The probability that two lists of values differ as much as these, or more, though nothing
 * distinguishes where they come from: the Mann-Whitney U test, two-sided, by its normal
 * approximation. Each list has 1 to BENCH_MAX_VALUES values. */
double bench_mann_whitney(const double *a, int a_count, const double *b, int b_count);

/* The smallest probability that the test can give for lists of these lengths whose values all
 * differ: that of lists of which one lies wholly below the other. */
double bench_mann_whitney_least(int a_count, int b_count);

/* Adjusts the probabilities of `count` tests, so that those below a bound have arisen by chance,
 * even one of them, with no more than the probability of that bound: Holm's method. False when
 * memory is short. */
bool bench_holm(double *probabilities, size_t count);

#endif
