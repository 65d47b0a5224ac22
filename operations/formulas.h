/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Formulas that pages share, and tests of operations without a page: the right result, in extended precision and
 * without the library, and how far a right implementation in the dtype's arithmetic may be from it: `bound`
 * receives the absolute error allowed, c·eps of the arithmetic times the magnitudes that were rounded, plus one
 * rounding to the dtype. Arrays are dense and row-major. */
#ifndef OPERATIONS_FORMULAS_H
#define OPERATIONS_FORMULAS_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/ops.h>

double ref_activation(tdm_activation activation, double x);

/* Error of the activation at x in arithmetic of eps, given an error `dx` of x. */
double ref_activation_bound(tdm_activation activation, double x, double dx, double eps);

/* C = activation(alpha·op(A)·op(B) + beta·C + bias) for one product; a, b as stored (k x m when
 * transposed). bias may be NULL. bound: that of ops.h, min((k + 2) / 2, 16)·eps·(|alpha||A||B| + |beta||C|), and what
 * subnormal products lose, through the activation. */
typedef struct ref_gemm {
    tdm_dtype dtype;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    double alpha, beta;
    const double *a, *b, *c, *bias;
    tdm_activation activation;
} ref_gemm;
void ref_matmul(const ref_gemm *gemm, double *result, double *bound);

/* y = softmax(scale · q·kᵀ) · v for each head, of q [batch, heads, queries, head_size], and of k and v with one
 * head for `shared` of these. mask: [batch, heads, queries, keys], 0 where a key is not attended. lengths: of each
 * batch.
 * offsets: those of `sequences` + 1. NULL: none. The scratch has room for 3 keys; the bound is that of attention.h. */
typedef struct ref_attention {
    tdm_dtype dtype;
    int64_t batch, heads, shared, queries, keys, head_size, value_size;
    double scale;
    bool causal;
    const double *q, *k, *v, *mask;
    const int64_t *lengths, *offsets;
    int64_t sequences;
} ref_attention;
void ref_attend(const ref_attention *attention, double *scratch, double *result, double *bound);

typedef enum ref_reduction {
    REF_SUM,
    REF_MEAN,
    REF_PRODUCT,
    REF_VARIANCE,
    REF_DEVIATION,
    REF_L1, /* the norms in the order of tdm_norm_kind */
    REF_L2,
    REF_INF,
    REF_MAX,
    REF_MIN,
    REF_ANY,
    REF_ALL,
    REF_COUNT,
    REF_REDUCTIONS
} ref_reduction;

/* Of n elements at x, `stride` apart; `out` is the dtype of the result, *bound how far it may be off. */
double ref_reduce(ref_reduction what, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
                  int64_t stride, double correction, double *bound);

/* Where the largest of these is, or the smallest: the first one, or the first NaN. */
int64_t ref_place(bool smallest, int64_t n, const double *x, int64_t stride);

/* The sums, or products, of the first one, two, … n elements at x; x, y and bound `stride` apart. */
void ref_scan(bool products, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
              int64_t stride, double *y, double *bound);

/* The sum of n products. */
double ref_dot(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *a, const double *b,
               double *bound);

#endif
