/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that have no common stride: the heads of attention as views of [batch, tokens, heads,
 * columns]. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/product.h"

TestSuite(matmul_heads, .init = device_open, .fini = device_close, TAGS("lanes"));

/* [batch, heads, tokens, cols], as a view of [batch, tokens, heads, cols] or contiguous. */
static array *heads_new(tdm_dtype dtype, const int64_t *shape, bool view) {
    const int64_t heads = shape[1], tokens = shape[2], cols = shape[3];
    const int64_t strides[] = {tokens * heads * cols, cols, heads * cols, 1};
    return array_new(dtype, 4, shape, view ? strides : NULL);
}

typedef struct heads_case {
    tdm_dtype dtype;
    int64_t batch, heads, m, n, k;
    bool view_a, view_b, view_c, one_b, bias;
    double alpha, beta;
} heads_case;

/* C = alpha A Bᵀ + beta C, each head against the reference. */
static bool run_case(const heads_case *h) {
    check_case("%s %lldx%lld heads of %lldx%lldx%lld, views %d %d %d, one b %d, bias %d, alpha %g, "
               "beta %g",
               tdm_dtype_name(h->dtype), (long long)h->batch, (long long)h->heads, (long long)h->m,
               (long long)h->n, (long long)h->k, h->view_a, h->view_b, h->view_c, h->one_b, h->bias,
               h->alpha, h->beta);
    const int64_t a_shape[] = {h->batch, h->heads, h->m, h->k};
    const int64_t b_shape[] = {h->batch, h->heads, h->n, h->k};
    const int64_t c_shape[] = {h->batch, h->heads, h->m, h->n};
    array *a = heads_new(h->dtype, a_shape, h->view_a);
    array *b =
        h->one_b ? array_2d(h->dtype, h->n, h->k, h->k) : heads_new(h->dtype, b_shape, h->view_b);
    array *c = heads_new(h->dtype, c_shape, h->view_c);
    array *bias = h->bias ? array_1d(h->dtype, h->n) : NULL;
    array_uniform(a, -1.0, 1.0);
    array_uniform(b, -1.0, 1.0);
    array_uniform(c, -1.0, 1.0);
    if (bias) array_uniform(bias, -1.0, 1.0);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    options.alpha = h->alpha;
    options.beta = h->beta;
    options.activation = bias ? TDM_ACTIVATION_RELU : TDM_ACTIVATION_NONE;
    const bool right = product_check(&options, a, b, bias, c);
    array_free_all();
    return right;
}

/* Every tensor as a view or not, one matrix for all heads, bias, alpha 0 and beta. */
Test(matmul_heads, views) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 8 : 48); i++) {
            const heads_case h = {.dtype = float_dtypes[d],
                                  .batch = 1 + i % 3,
                                  .heads = random_integer(1, 4),
                                  .m = random_integer(1, 20),
                                  .n = random_integer(1, 30),
                                  .k = random_integer(1, 40),
                                  .view_a = i & 1,
                                  .view_b = i & 2,
                                  .view_c = i & 4,
                                  .one_b = i % 5 == 4,
                                  .bias = i % 7 == 3,
                                  .alpha = i % 11 == 10 ? 0.0 : 0.5,
                                  .beta = i % 4 == 3 ? 0.25 : 0.0};
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
    const int64_t shape[] = {2, 3, 4, 5}, other[] = {3, 3, 4, 5}, c_shape[] = {2, 3, 4, 4};
    array *a = heads_new(TDM_F32, shape, true), *b = heads_new(TDM_F32, other, true);
    array *c = heads_new(TDM_F32, c_shape, true), *flat = array_2d(TDM_F32, 4, 4, 4);
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
