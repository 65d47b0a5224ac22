/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

static int64_t rows_of(const tdm_tensor *t) { return t->ndim > 1 ? t->shape[t->ndim - 2] : 1; }
static int64_t cols_of(const tdm_tensor *t) { return t->shape[t->ndim - 1]; }

/* The matrix of t that belongs to matrix number `matrix` of c. */
static int64_t matrix_of(const tdm_tensor *t, const tdm_tensor *c, int64_t matrix) {
    int64_t at = 0, step = 1;
    for (int d = 3; d <= t->ndim; d++) {
        const int64_t of_c = c->shape[c->ndim - d], of_t = t->shape[t->ndim - d];
        if (of_t > 1) at += matrix % of_c * step;
        matrix /= of_c;
        step *= of_t;
    }
    return at;
}

void product_refer(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, const array *c, double **want, double **bound) {
    const tdm_matmul_options usual = TDM_MATMUL_OPTIONS_DEFAULTS;
    const tdm_matmul_options *const o = options ? options : &usual;
    ref_gemm r = {.dtype = a->t.dtype,
                  .m = rows_of(&c->t),
                  .n = cols_of(&c->t),
                  .k = o->transpose_a ? rows_of(&a->t) : cols_of(&a->t),
                  .transpose_a = o->transpose_a,
                  .transpose_b = o->transpose_b,
                  .alpha = o->alpha,
                  .beta = o->beta,
                  .bias = bias ? bias->v : NULL,
                  .activation = o->activation};
    *want = numbers(c->count);
    *bound = numbers(c->count);
    for (int64_t at = 0; at < c->count; at += r.m * r.n) {
        const int64_t matrix = at / (r.m * r.n);
        r.a = a->v + matrix_of(&a->t, &c->t, matrix) * r.m * r.k;
        r.b = b->v + matrix_of(&b->t, &c->t, matrix) * r.k * r.n;
        r.c = c->v + at;
        ref_matmul(&r, *want + at, *bound + at);
    }
}

bool product_check(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, array *c) {
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    double *want, *bound;
    if (options) o = *options;
    o.bias = bias ? &bias->t : NULL;
    product_refer(&o, a, b, bias, c, &want, &bound);
    return OK(tdm_matmul(queue, &o, &a->t, &b->t, &c->t)) && ARRAY_CHECK(c, want, bound) &&
           ARRAY_SAME(a) && ARRAY_SAME(b);
}

bool check_linear(const array *x, const array *w, const array *bias, tdm_activation activation,
                  const array *y) {
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    double *want, *bound;
    o.transpose_b = true;
    o.activation = activation;
    product_refer(&o, x, w, bias, y, &want, &bound);
    return ARRAY_CHECK(y, want, bound);
}
