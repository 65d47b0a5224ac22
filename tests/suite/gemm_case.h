/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product of random matrices against the float64 reference. */
#ifndef TEST_GEMM_CASE_H
#define TEST_GEMM_CASE_H

#include "support/product.h"

typedef struct gemm_case {
    tdm_dtype dtype;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    bool view_a, view_b, view_c; /* the tensor is a transposed view: stored column-major */
    int64_t pad;                 /* leading dimensions are that much longer than needed */
    int64_t pad_c;               /* that of C by this as well */
    int64_t batch;               /* 0: no batch dimension */
    int64_t heads;               /* 0: none; else a view is one of [batch, rows, heads, cols] */
    bool one_a, one_b;           /* without the batch dimension: the matrix is repeated */
    double alpha, beta;
    bool bias;
    tdm_activation activation;
    tdm_math math;
    int64_t integers; /* inputs are integers in [-integers, integers], and the result is exact, */
    bool rounded;     /* or is within the reference's bound */
} gemm_case;

/* A matrix, or a batch of them. */
static array *matrix(const gemm_case *g, bool one, int64_t rows, int64_t cols, bool view,
                     int64_t pad) {
    int64_t lead = (view ? rows : cols) + pad;
    int64_t size = lead * (view ? cols : rows) + pad;
    int64_t shape[3] = {g->batch, rows, cols};
    int64_t strides[3] = {size, view ? 1 : lead, view ? lead : 1};
    bool batched = g->batch > 0 && !one;
    if (batched && g->heads > 0) {
        const int64_t of_heads[] = {g->batch, g->heads, rows, cols};
        const int64_t apart[] = {rows * g->heads * cols, cols, g->heads * cols, 1};
        return array_new(g->dtype, 4, of_heads, view ? apart : NULL);
    }
    return array_new(g->dtype, batched ? 3 : 2, shape + !batched, strides + !batched);
}

static void fill_input(const gemm_case *g, array *a) {
    if (g->integers)
        array_integers(a, -g->integers, g->integers);
    else
        array_uniform(a, -1.0, 1.0);
}

static bool run_case(const gemm_case *g) {
    check_case(
        "%s %lldx%lldx%lld T%d%d view %d%d%d pad %lld batch %lldx%lld one %d%d alpha %g beta %g "
        "bias %d %s pad of C %lld math %d",
        tdm_dtype_name(g->dtype), (long long)g->m, (long long)g->n, (long long)g->k, g->transpose_a,
        g->transpose_b, g->view_a, g->view_b, g->view_c, (long long)g->pad, (long long)g->batch,
        (long long)g->heads, g->one_a, g->one_b, g->alpha, g->beta, g->bias,
        tdm_activation_name(g->activation), (long long)g->pad_c, (int)g->math);
    /* In the reverse order: PoCL 3.1 sorts the buffers of a native kernel by age, and so gave it their addresses in the
     * wrong places. */
    array *c = matrix(g, false, g->m, g->n, g->view_c, g->pad + g->pad_c);
    array *b = g->transpose_b ? matrix(g, g->one_b, g->n, g->k, g->view_b, g->pad)
                              : matrix(g, g->one_b, g->k, g->n, g->view_b, g->pad);
    array *a = g->transpose_a ? matrix(g, g->one_a, g->k, g->m, g->view_a, g->pad)
                              : matrix(g, g->one_a, g->m, g->k, g->view_a, g->pad);
    array *bias = g->bias ? array_1d(g->dtype, g->n) : NULL;
    /* alpha = 0 and beta = 0 promise that A, B and C are not read: they stay NaN then. */
    if (g->alpha != 0.0) {
        fill_input(g, a);
        fill_input(g, b);
    }
    if (g->beta != 0.0) fill_input(g, c);
    if (bias) fill_input(g, bias);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.alpha = g->alpha;
    options.beta = g->beta;
    options.transpose_a = g->transpose_a;
    options.transpose_b = g->transpose_b;
    options.bias = bias ? &bias->t : NULL;
    options.activation = g->activation;
    options.math = g->math;
    double *want, *bound;
    product_refer(&options, a, b, bias, c, &want, &bound);
    bool right = OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t)) &&
                 ARRAY_CHECK(c, want, g->integers && !g->rounded ? NULL : bound) && ARRAY_SAME(a) &&
                 ARRAY_SAME(b);
    array_free_all();
    return right;
}

static const gemm_case plain = {.dtype = TDM_F32, .m = 1, .n = 1, .k = 1, .alpha = 1.0};

#endif
