/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products that a device with tensor cores computes there, by the kernel matmul_tiles where no library does: of f16, of
 * bf16, and of f32 with TF32. Sizes around its tiles and slices, whole and not. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tune.h>

#include "operations/formulas.h"
#include "support/array.h"

TestSuite(matmul_tiles, .init = device_open, .fini = device_close, TAGS("lanes"));

static const tdm_dtype tensor_dtypes[] = {TDM_F16, TDM_BF16, TDM_F32};
enum { DTYPES = sizeof tensor_dtypes / sizeof *tensor_dtypes };

typedef struct product {
    tdm_dtype dtype;
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    int64_t pad; /* of rows */
    double alpha, beta;
} product;

static array *matrices(const product *p, int64_t rows, int64_t cols) {
    const int64_t ld = cols + p->pad, shape[3] = {p->batch, rows, cols};
    array *made = array_new(p->dtype, 3, shape, (int64_t[]){rows * ld, ld, 1});
    array_integers(made, -4, 4); /* which TF32 has, too: sums are exact */
    return made;
}

static bool run_product(const product *p) {
    check_case("%s %lld*%lldx%lldx%lld T%d%d pad %lld alpha %g beta %g", tdm_dtype_name(p->dtype),
               (long long)p->batch, (long long)p->m, (long long)p->n, (long long)p->k,
               p->transpose_a, p->transpose_b, (long long)p->pad, p->alpha, p->beta);
    array *a = p->transpose_a ? matrices(p, p->k, p->m) : matrices(p, p->m, p->k);
    array *b = p->transpose_b ? matrices(p, p->n, p->k) : matrices(p, p->k, p->n);
    array *c = matrices(p, p->m, p->n);
    double *want = numbers(c->count), *bound = numbers(c->count);
    for (int64_t i = 0; i < p->batch; i++) {
        const int64_t at = i * p->m * p->n;
        const ref_gemm r = {p->dtype,
                            p->m,
                            p->n,
                            p->k,
                            p->transpose_a,
                            p->transpose_b,
                            p->alpha,
                            p->beta,
                            a->v + i * p->m * p->k,
                            b->v + i * p->k * p->n,
                            c->v + at,
                            NULL,
                            TDM_ACTIVATION_NONE};
        ref_matmul(&r, want + at, bound + at);
    }
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.math = TDM_MATH_TF32;
    options.transpose_a = p->transpose_a;
    options.transpose_b = p->transpose_b;
    options.alpha = p->alpha;
    options.beta = p->beta;
    const bool right = OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t)) &&
                       ARRAY_CHECK(c, want, bound) && ARRAY_SAME(a) && ARRAY_SAME(b);
    array_free_all();
    return right;
}

Test(matmul_tiles, shapes) {
    static const int64_t shapes[][3] = {{17, 65, 33},    {128, 128, 64}, {129, 257, 31},
                                        {136, 264, 104}, {20, 520, 8},   {300, 24, 200},
                                        {250, 140, 71},  {64, 64, 1},    {1100, 40, 16}};
    const int count = (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count * DTYPES * 4; i++) {
        if (!in_turn(i)) continue;
        const int64_t *const shape = shapes[i % count];
        static const int64_t pads[] = {0, 8, 3};
        product p = {.dtype = tensor_dtypes[i / count % DTYPES],
                     .batch = i % 7 == 6 ? 3 : 1,
                     .m = shape[0],
                     .n = shape[1],
                     .k = shape[2],
                     .transpose_a = i / (count * DTYPES) & 1,
                     .transpose_b = i / (count * DTYPES) & 2,
                     .pad = pads[i % 3],
                     .alpha = i % 4 == 3 ? -0.5 : 1,
                     .beta = i % 5 == 4 ? 0.25 : 0};
        if (!run_product(&p)) return;
    }
}

/* All ways to cut a product give one result; more tiles than groups at once, too. */
Test(matmul_tiles, forms) {
    enum { M = 150, N = 280, K = 90 };
    for (int i = 0; i < DTYPES * 4; i++) {
        if (!in_turn(i)) continue;
        const bool transpose_a = i & 1, transpose_b = i & 2;
        array *a = transpose_a ? array_2d(tensor_dtypes[i / 4], K, M, M)
                               : array_2d(tensor_dtypes[i / 4], M, K, K);
        array *b = transpose_b ? array_2d(tensor_dtypes[i / 4], N, K, K)
                               : array_2d(tensor_dtypes[i / 4], K, N, N);
        array *c = array_2d(tensor_dtypes[i / 4], M, N, N);
        check_case("%s T%d%d", tdm_dtype_name(tensor_dtypes[i / 4]), transpose_a, transpose_b);
        array_integers(a, -4, 4);
        array_integers(b, -4, 4);
        double *want = numbers(c->count), *bound = numbers(c->count);
        const ref_gemm r = {
            tensor_dtypes[i / 4], M, N, K, transpose_a, transpose_b, 1, 0, a->v, b->v, c->v, NULL,
            TDM_ACTIVATION_NONE};
        ref_matmul(&r, want, bound);
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        options.math = TDM_MATH_TF32;
        options.transpose_a = transpose_a;
        options.transpose_b = transpose_b;
        tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
        OK(tdm_matmul_tune(queue, &options, &a->t, &b->t, &c->t, 0.0, &tuning));
        CHECK(tuning.wrong == 0, "%u of %u failed", tuning.wrong, tuning.candidates);
        char why[256];
        OK(tdm_matmul_explain(queue, &options, &a->t, &b->t, &c->t, why, sizeof why));
        if (strstr(why, "it uses the tensor cores"))
            CHECK(tuning.candidates >= 4, "only %u forms", tuning.candidates);
        ARRAY_CHECK(c, want, bound);
        array_free_all();
    }
}

/* A device that has tensor cores tries them; TDM_TEST_TENSOR has words of the outcome there. */
Test(matmul_tiles, trial) {
    const char *words = getenv("TDM_TEST_TENSOR");
    for (int i = 0; i < DTYPES; i++) {
        const product p = {tensor_dtypes[i], 1, 40, 48, 32, false, false, 0, 1, 0};
        array *a = array_2d(tensor_dtypes[i], 40, 32, 32),
              *b = array_2d(tensor_dtypes[i], 32, 48, 48);
        array *c = array_2d(tensor_dtypes[i], 40, 48, 48);
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        char why[256];
        check_case("%s", tdm_dtype_name(tensor_dtypes[i]));
        options.math = TDM_MATH_IEEE;
        OK(tdm_matmul_explain(queue, &options, &a->t, &b->t, &c->t, why, sizeof why));
        if (tensor_dtypes[i] == TDM_F32) CHECK(!strstr(why, "tensor"), "%s", why);
        options.math = TDM_MATH_TF32;
        OK(tdm_matmul_explain(queue, &options, &a->t, &b->t, &c->t, why, sizeof why));
        const bool of_library = tensor_dtypes[i] == TDM_F32 && !strstr(why, "builtin");
        if (words) CHECK(of_library || contains_words(why, words), "%s", why);
        if (words && strstr(words, "it uses")) CHECK(!of_library, "%s", why);
        array_free_all();
        if (!run_product(&p)) return;
    }
}
