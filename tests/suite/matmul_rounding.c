/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The promises of tdm_matmul for 16-bit products: the bias is in the sum that is rounded, and which subnormals
 * count. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/product.h"

TestSuite(matmul_rounding, .init = device_open, .fini = device_close, TAGS("device lanes"));

static const tdm_dtype narrow_dtypes[] = {TDM_F16, TDM_BF16};

/* Of A there is one element in each row, of B all are alike: every element of C is `a` times `b`, and a bias. */
typedef struct product {
    tdm_dtype dtype;
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    bool view_c; /* C is stored column by column: the bias lies along its rows */
    double a, b;
    double bias, step; /* of the columns, the first of each four */
    tdm_activation activation;
} product;

/* op() is rows x cols. */
static array *matrices(const product *p, int64_t rows, int64_t cols, bool transposed) {
    const int64_t stored_rows = transposed ? cols : rows, stored_cols = transposed ? rows : cols;
    const int64_t shape[3] = {p->batch, stored_rows, stored_cols};
    return array_new(p->dtype, 3, shape, NULL);
}

static array *result(const product *p) {
    const int64_t shape[3] = {p->batch, p->m, p->n};
    const int64_t strides[3] = {p->m * p->n, p->view_c ? 1 : p->n, p->view_c ? p->m : 1};
    return array_new(p->dtype, 3, shape, strides);
}

static array *sparse(const product *p) {
    array *a = matrices(p, p->m, p->k, p->transpose_a);
    double *values = numbers(a->count);
    for (int64_t i = 0; i < p->batch * p->m; i++) {
        const int64_t row = i % p->m, k = i % p->k, first = i / p->m * p->m * p->k;
        values[first + (p->transpose_a ? k * p->m + row : row * p->k + k)] = p->a;
    }
    array_set(a, values);
    return a;
}

static array *columns(const product *p) {
    array *bias = array_1d(p->dtype, p->n);
    double *values = numbers(p->n);
    for (int64_t j = 0; j < p->n; j++)
        values[j] = p->bias + p->step * (double)(j % 4);
    array_set(bias, values);
    return bias;
}

/* Without a bias where that is 0. *want and *bound get the reference. */
static bool multiply(const product *p, array **c, double **want, double **bound) {
    check_case("%s %lld*%lldx%lldx%lld T%d%d view %d %g*%g%+g %s", tdm_dtype_name(p->dtype),
               (long long)p->batch, (long long)p->m, (long long)p->n, (long long)p->k,
               p->transpose_a, p->transpose_b, p->view_c, p->a, p->b, p->bias,
               tdm_activation_name(p->activation));
    array *a = sparse(p), *b = matrices(p, p->k, p->n, p->transpose_b);
    array *bias = p->bias != 0 ? columns(p) : NULL;
    array_constant(b, p->b);
    *c = result(p);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_a = p->transpose_a;
    options.transpose_b = p->transpose_b;
    options.bias = bias ? &bias->t : NULL;
    options.activation = p->activation;
    product_refer(&options, a, b, bias, *c, want, bound);
    return OK(tdm_matmul(queue, &options, &a->t, &b->t, &(*c)->t));
}

/* Of few and many rows, and parts of C for several threads, some of which are computed elsewhere. */
static const int64_t shapes[][3] = {{1, 5, 3},   {3, 1, 40},  {5, 40, 7},    {16, 16, 16},
                                    {2, 700, 9}, {70, 5, 33}, {65, 130, 33}, {96, 200, 600}};

/* 65025 - 65024 is 1, and 70000 - 19984 is a number of f16's, where 65025 and 70000 are not. */
Test(matmul_rounding, bias) {
    static const tdm_activation activations[] = {TDM_ACTIVATION_NONE, TDM_ACTIVATION_RELU,
                                                 TDM_ACTIVATION_SILU, TDM_ACTIVATION_NONE,
                                                 TDM_ACTIVATION_GELU_TANH};
    for (int i = 0; i < 8 * 2 * 2 * 2 * 5; i++) {
        if (small && i % 3 != 0) continue;
        if (!is_chosen(narrow_dtypes[i / 16 % 2]) || !in_turn(i / 3 + i / 24)) continue;
        const int64_t *const shape = shapes[i % 8];
        const bool overflows = i / 8 % 2;
        const product p = {.dtype = narrow_dtypes[i / 16 % 2],
                           .batch = i % 5 == 4 ? 3 : 1,
                           .m = shape[0],
                           .n = shape[1],
                           .k = shape[2],
                           .transpose_a = random_integer(0, 1),
                           .transpose_b = random_integer(0, 1),
                           .view_c = i / 32 % 2,
                           .a = overflows ? 280 : 255,
                           .b = overflows ? 250 : 255,
                           .bias = overflows ? -19984 : -65024,
                           .step = overflows ? 0 : 256,
                           .activation = activations[i / 64 % 5]};
        array *c;
        double *want, *bound;
        bool right = multiply(&p, &c, &want, &bound);
        /* the reference's bound allows for a product of bf16 that is rounded before, as in a C stored by columns */
        for (int64_t j = 0; j < c->count && p.dtype == TDM_BF16 && !p.view_c; j++)
            bound[j] = 0.25 + fabs(want[j]) / 128;
        right = right && ARRAY_CHECK(c, want, bound);
        array_free_all();
        if (!right) return;
    }
}

/* The subnormals of f16 count, of inputs and of results; those of bf16 may count as 0, and are nothing else. */
static void check_subnormals(tdm_dtype dtype, const double (*factors)[2], int kinds) {
    for (int i = 0; i < 8 * kinds && is_chosen(dtype); i++) {
        const int64_t *const shape = shapes[i % 8];
        const product p = {.dtype = dtype,
                           .batch = 1,
                           .m = shape[0],
                           .n = shape[1],
                           .k = shape[2],
                           .transpose_b = i % 2,
                           .a = factors[i / 8][0],
                           .b = factors[i / 8][1]};
        array *c;
        double *want, *bound;
        if (!multiply(&p, &c, &want, &bound)) return;
        const double *const got = array_values(c);
        for (int64_t j = 0; j < c->count && dtype == TDM_BF16; j++)
            if (got[j] == 0) want[j] = 0;
        const bool right = ARRAY_CHECK(c, want, NULL);
        array_free_all();
        if (!right) return;
    }
}

Test(matmul_rounding, subnormals) {
    static const double of_f16[][2] = {{5 * 0x1p-24, 1024}, {3 * 0x1p-20, 0x1p-2}};
    static const double of_bf16[][2] = {{3 * 0x1p-130, 0x1p120}, {0x1p-130, 1}, {0x1p-70, 0x1p-60}};
    check_subnormals(TDM_F16, of_f16, 2);
    check_subnormals(TDM_BF16, of_bf16, 3);
}
