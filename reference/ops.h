/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What every operation should give, from its formula in ops.h, in extended precision and without
 * the library; and how far a right implementation in the dtype's arithmetic may be from it.
 *
 * All arrays are dense and row-major. `bound`, where there is one, receives the allowed absolute
 * error of each element: c·eps of the arithmetic times the magnitudes that were rounded, plus one
 * rounding to the dtype. */
#ifndef REFERENCE_OPS_H
#define REFERENCE_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/ops.h>

double ref_activation(tdm_activation activation, double x);

/* Error of the activation at x in arithmetic of eps, given an error `dx` of x. */
double ref_activation_bound(tdm_activation activation, double x, double dx, double eps);

/* C = activation(alpha·op(A)·op(B) + beta·C + bias) for one product; a, b as stored (k x m when
 * transposed). bias may be NULL. bound: 16·eps·(|alpha||A||B| + |beta||C|), through the
 * activation. */
typedef struct ref_gemm {
    tdm_dtype dtype;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    double alpha, beta;
    const double *a, *b, *c, *bias;
    tdm_activation activation;
} ref_gemm;
void ref_matmul(const ref_gemm *gemm, double *result, double *bound);

/* y = a + b, a - b, a b, alpha a, alpha a + b; b is not read by REF_SCALE. */
typedef enum ref_arithmetic_kind {
    REF_ADD,
    REF_SUB,
    REF_MUL,
    REF_SCALE,
    REF_AXPY,
    REF_ARITHMETIC_KINDS
} ref_arithmetic_kind;
void ref_arithmetic(ref_arithmetic_kind kind, tdm_dtype dtype, int64_t count, double alpha,
                    const double *a, const double *b, double *y, double *bound);

/* bias and residual may be NULL. */
void ref_bias_add(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, const double *bias,
                  tdm_activation activation, const double *residual, double *y, double *bound);

/* One norm of count elements; *bound for a result of dtype `out`. */
double ref_norm(tdm_dtype dtype, tdm_dtype out, tdm_norm_kind kind, int64_t count, const double *x,
                double *bound);

void ref_layer_norm(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x,
                    const double *weight, const double *bias, double epsilon, double *y,
                    double *bound);

/* x + residual, rounded to the dtype; x where residual is NULL. */
void ref_residual_sum(tdm_dtype dtype, int64_t count, const double *x, const double *residual,
                      double *sum);

/* sum receives what ref_residual_sum gives; residual and weight may be NULL. */
void ref_rms_norm(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x,
                  const double *residual, const double *weight, double epsilon, double *sum,
                  double *y, double *bound);

/* x [n, c, s]. */
typedef struct ref_channels {
    const double *mean, *variance, *weight, *bias; /* weight, bias may be NULL */
    double epsilon;
} ref_channels;
void ref_batch_norm(tdm_dtype dtype, int64_t n, int64_t c, int64_t s, const double *x,
                    const ref_channels *channels, double *y, double *bound);

void ref_l2_normalize(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, double epsilon,
                      double *y, double *bound);

void ref_softmax(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, double *y,
                 double *bound);

/* Of x scale + mask, of which row i of each matrix of causal_rows rows counts the columns up to i + cols -
 * causal_rows (0: all). mask: rows x cols, or NULL. */
void ref_softmax_scaled(tdm_dtype dtype, int64_t rows, int64_t cols, double scale, const double *x,
                        const double *mask, int64_t causal_rows, double *y, double *bound);

#endif
