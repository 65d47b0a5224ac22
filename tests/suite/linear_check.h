/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The result of a linear layer against the reference, for the tests of layers and of packed weights. */
#ifndef TEST_LINEAR_CHECK_H
#define TEST_LINEAR_CHECK_H

#include "operations/formulas.h"
#include "support/array.h"

/* y = activation(x w' + bias) for w of [out, in]; bias may be NULL. */
static inline bool check_linear(const array *x, const array *w, const array *bias,
                                tdm_activation activation, const array *y) {
    const int64_t out = w->t.shape[0];
    const ref_gemm gemm = {.dtype = x->t.dtype,
                           .m = y->count / out,
                           .n = out,
                           .k = w->t.shape[1],
                           .transpose_b = true,
                           .alpha = 1,
                           .a = x->v,
                           .b = w->v,
                           .bias = bias ? bias->v : NULL,
                           .activation = activation};
    double *want = numbers(y->count), *bound = numbers(y->count);
    ref_matmul(&gemm, want, bound);
    return ARRAY_CHECK(y, want, bound);
}

#endif
