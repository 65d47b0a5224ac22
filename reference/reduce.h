/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What reductions should give, from their formulas in reduce.h, in extended precision and without the library. */
#ifndef REFERENCE_REDUCE_H
#define REFERENCE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tensor.h>

typedef enum ref_reduction {
    REF_SUM,
    REF_MEAN,
    REF_PRODUCT,
    REF_VARIANCE,
    REF_L1,
    REF_L2,
    REF_INF,
    REF_MAX,
    REF_MIN,
    REF_ANY,
    REF_ALL,
    REF_REDUCTIONS
} ref_reduction;

/* Of n elements at x, `stride` apart; `out` is the dtype of the result, *bound how far it may be off. */
double ref_reduce(ref_reduction what, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
                  int64_t stride, double correction, double *bound);

/* Where the largest of these is, or the smallest: the first one, or the first NaN. */
int64_t ref_place(bool smallest, int64_t n, const double *x, int64_t stride);

/* The sums of the first one, two, … n elements at x; x, y and bound `stride` apart. */
void ref_cumsum(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x, int64_t stride,
                double *y, double *bound);

/* The sum of n products. */
double ref_dot(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *a, const double *b,
               double *bound);

#endif
