/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Medians and quartiles, which a busy machine disturbs least. And tests that need only an order of
 * the values, as timings follow no known distribution. */
#include "rows/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

bench_stats bench_summarise(const double *values, int count) {
    double sorted[BENCH_MAX_VALUES];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (bench_stats){.median = quantile(sorted, count, 0.5),
                         .min = sorted[0],
                         .iqr = quantile(sorted, count, 0.75) - quantile(sorted, count, 0.25)};
}

/* How many values of a sorted list are below one, and how many equal it. */
static void count_below(const double *sorted, int count, double value, int *below, int *equal) {
    *below = *equal = 0;
    while (*below < count && sorted[*below] < value)
        ++*below;
    while (*below + *equal < count && sorted[*below + *equal] == value)
        ++*equal;
}

/* The probability of a U that is so far from its mean, in values: H. B. Mann and D. R. Whitney, On
 * a Test of Whether one of Two Random Variables is Stochastically Larger than the Other, Annals of
 * Mathematical Statistics 18 (1947), 50-60. The correction of the variance by `ties`, which is the
 * sum of t^3 - t over the groups of t equal values, and the half by which a step is made a curve,
 * are in E. L. Lehmann, Nonparametrics (1975), section 1.4. */
static double tail(double distance, double a_count, double b_count, double ties) {
    const double all = a_count + b_count;
    const double variance = a_count * b_count / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if (!(variance > 0.0)) return 1.0; /* all values are equal */
    const double z = fmax(distance - 0.5, 0.0) / sqrt(variance);
    return fmin(erfc(z / sqrt(2.0)), 1.0);
}

double bench_mann_whitney(const double *a, int a_count, const double *b, int b_count) {
    double sorted_a[BENCH_MAX_VALUES], sorted_b[BENCH_MAX_VALUES], u = 0.0, ties = 0.0;
    memcpy(sorted_a, a, (size_t)a_count * sizeof *a);
    memcpy(sorted_b, b, (size_t)b_count * sizeof *b);
    qsort(sorted_a, (size_t)a_count, sizeof *a, compare);
    qsort(sorted_b, (size_t)b_count, sizeof *b, compare);
    for (int i = 0; i < a_count; i++) {
        int below, equal;
        count_below(sorted_b, b_count, sorted_a[i], &below, &equal);
        u += below + 0.5 * equal;
    }
    /* groups of equal values, in both lists together; a value of both is counted with a's */
    for (int list = 0; list < 2; list++) {
        const double *values = list == 0 ? sorted_a : sorted_b;
        const int count = list == 0 ? a_count : b_count;
        for (int i = 0; i < count; i++) {
            int below, in_a, in_b;
            if (i > 0 && values[i] == values[i - 1]) continue;
            count_below(sorted_a, a_count, values[i], &below, &in_a);
            count_below(sorted_b, b_count, values[i], &below, &in_b);
            const double t = in_a + in_b;
            if (list == 0 || in_a == 0) ties += t * t * t - t;
        }
    }
    return tail(fabs(u - 0.5 * a_count * b_count), a_count, b_count, ties);
}

double bench_mann_whitney_least(int a_count, int b_count) {
    return tail(0.5 * a_count * b_count, a_count, b_count, 0.0);
}

/* S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
 * Statistics 6 (1979), 65-70. */
bool bench_holm(double *probabilities, size_t count) {
    double *sorted = malloc((count + 1) * sizeof *sorted),
           *adjusted = malloc((count + 1) * sizeof *adjusted);
    const bool good = sorted && adjusted;
    double largest = 0.0;
    if (good && count > 0) {
        memcpy(sorted, probabilities, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare);
    }
    for (size_t i = 0; good && i < count; i++) {
        largest = fmax(largest, fmin(1.0, (double)(count - i) * sorted[i]));
        adjusted[i] = largest;
    }
    for (size_t i = 0; good && i < count; i++) {
        size_t place = 0;
        while (sorted[place] < probabilities[i])
            place++;
        probabilities[i] = adjusted[place];
    }
    free(sorted);
    free(adjusted);
    return good;
}
