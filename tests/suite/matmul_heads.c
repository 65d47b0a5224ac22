/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that have no common stride: the heads of attention as views of [batch, tokens, heads,
 * columns]. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "gemm_case.h"

TestSuite(matmul_heads, .init = device_open, .fini = device_close, TAGS("lanes"));

/* Every tensor as a view or not, one matrix for all heads, bias, alpha 0 and beta. */
Test(matmul_heads, views) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 8 : 48); i++) {
            gemm_case h = plain;
            h.dtype = float_dtypes[d];
            h.batch = 1 + i % 3;
            h.heads = random_integer(1, 4);
            h.m = random_integer(1, 20);
            h.n = random_integer(1, 30);
            h.k = random_integer(1, 40);
            h.transpose_b = true;
            h.view_a = i & 1, h.view_b = i & 2, h.view_c = i & 4;
            h.one_b = i % 5 == 4;
            h.bias = i % 7 == 3;
            if (h.bias) h.activation = TDM_ACTIVATION_RELU;
            h.alpha = i % 11 == 10 ? 0.0 : 0.5;
            h.beta = i % 4 == 3 ? 0.25 : 0.0;
            if (!run_case(&h)) return;
        }
}

/* An extent of 1 is repeated, in A and in B, in whichever batch dimension. */
Test(matmul_heads, repeated) {
    for (int i = 0; i < (small ? 12 : 64); i++) {
        const tdm_dtype dtype = float_dtypes[i % float_dtype_count];
        const int64_t c_shape[] = {3, 2, 4, 5};
        const int64_t a_shape[] = {i & 1 ? 1 : 3, i & 2 ? 1 : 2, 4, 6};
        const int64_t b_shape[] = {i & 4 ? 1 : 3, i & 8 ? 1 : 2, 6, 5};
        const int lacking = i & 16 && i & 4 ? 1 : 0; /* B's first dimension is left out */
        array *a = array_new(dtype, 4, a_shape, NULL);
        array *b = array_new(dtype, 4 - lacking, b_shape + lacking, NULL);
        array *c = array_new(dtype, 4, c_shape, NULL);
        array_uniform(a, -1, 1);
        array_uniform(b, -1, 1);
        check_case("%s, %d", tdm_dtype_name(dtype), i);
        product_check(NULL, a, b, NULL, c);
        array_free_all();
    }
}

static int seen; /* lines of the log that have the words */

static void see(tdm_log_level level, const char *line, void *words) {
    (void)level;
    if (strstr(line, words)) seen++;
}

/* Matrices by one B are one product of all their rows, unless these have no common distance; rows alone, too. */
Test(matmul_heads, one_product) {
    enum { M = 3, K = 29, MATRICES = 5 };
    static const struct {
        int64_t shape[3], strides[3];
        bool one;
    } cases[] = {{{MATRICES, M, K}, {M * K, K, 1}, true},
                 {{MATRICES, M, K}, {M * 36, 36, 1}, true},
                 {{MATRICES, M, K}, {M * 36 + 1, 36, 1}, false},
                 {{MATRICES * M, 1, K}, {31, 400, 1}, true}};
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < 4; i++) {
            const int64_t *const shape = cases[i].shape, n = 31 + 4 * d + i; /* none comes twice */
            const tdm_dtype dtype = float_dtypes[d];
            array *const a = array_new(dtype, 3, shape, cases[i].strides);
            array *const b = array_2d(dtype, K, n, n);
            array *const c = array_new(dtype, 3, (const int64_t[]){shape[0], shape[1], n}, NULL);
            char words[48];
            array_uniform(a, -1, 1);
            array_uniform(b, -1, 1);
            snprintf(words, sizeof words, "products of %s %s%dx%lldx%d are", tdm_dtype_name(dtype),
                     cases[i].one ? "" : "5*", cases[i].one ? MATRICES * M : M, (long long)n, K);
            check_case("%s, %d", words, i);
            seen = 0;
            tdm_set_log(TDM_LOG_DEBUG, see, words);
            product_check(NULL, a, b, NULL, c);
            tdm_set_log(TDM_LOG_OFF, NULL, NULL);
            CHECK(seen == 1, "%d products", seen);
            array_free_all();
        }
}

/* Batch dimensions must fit where the products are apart, too; and strides must, in each matrix. */
Test(matmul_heads, refusals) {
    const gemm_case two = {.dtype = TDM_F32, .batch = 2, .heads = 3};
    const gemm_case three = {.dtype = TDM_F32, .batch = 3, .heads = 3};
    array *a = matrix(&two, false, 4, 5, true, 0), *b = matrix(&three, false, 4, 5, true, 0);
    array *c = matrix(&two, false, 4, 4, true, 0), *flat = array_2d(TDM_F32, 4, 4, 4);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    array_uniform(a, -1, 1);
    array_uniform(b, -1, 1);
    REFUSED(tdm_matmul(queue, &options, &a->t, &b->t, &c->t), TDM_ERROR_INVALID_SHAPE, "b|batch");
    REFUSED(tdm_matmul(queue, &options, &a->t, &a->t, &flat->t), TDM_ERROR_INVALID_SHAPE,
            "a|batch");
    REFUSED(tdm_matmul(queue, &options, &a->t, &a->t, &a->t), TDM_ERROR_OVERLAP, "c|a");
    ARRAY_SAME(c);
    ARRAY_SAME(flat);
    array_free_all();
}
