/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Medians and quartiles: what a busy machine disturbs least. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Between the two nearest of sorted values. */
static double quantile(const double *values, int count, double q) {
    double place = q * (count - 1);
    int below = (int)place;
    if (below + 1 >= count) return values[count - 1];
    return values[below] + (place - below) * (values[below + 1] - values[below]);
}

bench_stats bench_summarise(const double *values_in_order, int count) {
    double values[BENCH_MAX_VALUES];
    memcpy(values, values_in_order, (size_t)count * sizeof *values);
    qsort(values, (size_t)count, sizeof *values, compare);
    return (bench_stats){.median = quantile(values, count, 0.5),
                         .min = values[0],
                         .iqr = quantile(values, count, 0.75) - quantile(values, count, 0.25)};
}

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
