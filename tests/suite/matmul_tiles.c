/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products that a device with tensor cores computes there, by the kernel matmul_tiles where no library does: of f16, of
 * bf16, and of f32 with TF32. Sizes around its tiles and slices, whole and not. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tune.h>

#include "gemm_case.h"

TestSuite(matmul_tiles, .init = device_open, .fini = device_close, TAGS("lanes"));

static const tdm_dtype tensor_dtypes[] = {TDM_F16, TDM_BF16, TDM_F32};
enum { DTYPES = sizeof tensor_dtypes / sizeof *tensor_dtypes };

/* Which TF32 has, too: sums are exact. */
static const gemm_case of_integers = {
    .batch = 1, .alpha = 1, .math = TDM_MATH_TF32, .integers = 4, .rounded = true};

Test(matmul_tiles, shapes) {
    static const int64_t shapes[][3] = {{17, 65, 33},    {128, 128, 64}, {129, 257, 31},
                                        {136, 264, 104}, {20, 520, 8},   {300, 24, 200},
                                        {250, 140, 71},  {64, 64, 1},    {1100, 40, 16}};
    const int count = (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count * DTYPES * 4; i++) {
        if (!in_turn(i)) continue;
        const int64_t *const shape = shapes[i % count];
        static const int64_t pads[] = {0, 8, 3};
        gemm_case g = of_integers;
        g.dtype = tensor_dtypes[i / count % DTYPES];
        g.batch = i % 7 == 6 ? 3 : 1;
        g.m = shape[0], g.n = shape[1], g.k = shape[2];
        g.transpose_a = i / (count * DTYPES) & 1, g.transpose_b = i / (count * DTYPES) & 2;
        g.pad = pads[i % 3];
        g.alpha = i % 4 == 3 ? -0.5 : 1;
        g.beta = i % 5 == 4 ? 0.25 : 0;
        if (!run_case(&g)) return;
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
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        options.math = TDM_MATH_TF32;
        options.transpose_a = transpose_a;
        options.transpose_b = transpose_b;
        double *want, *bound;
        product_refer(&options, a, b, NULL, c, &want, &bound);
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

/* The driver of TDM_LIMITS_NVIDIA=loses: its device is lost by the trial, once. */
Test(matmul_tiles, lost_by_trial) {
    const char *words = getenv("TDM_TEST_TENSOR"), *driver = getenv("TDM_LIMITS_NVIDIA");
    if (!words || !driver || strcmp(driver, "loses") != 0) {
        check_skip("TDM_LIMITS_NVIDIA is not loses");
        return;
    }
    for (int opened = 1; opened <= 2; opened++) {
        array *a = array_2d(TDM_F16, 40, 32, 32), *b = array_2d(TDM_F16, 32, 48, 48);
        array *c = array_2d(TDM_F16, 40, 48, 48);
        char why[256];
        check_case("opened %d times", opened);
        array_uniform(a, -1, 1);
        array_uniform(b, -1, 1);
        const tdm_status status =
            tdm_matmul_explain(queue, NULL, &a->t, &b->t, &c->t, why, sizeof why);
        CHECK(status == TDM_OK && contains_words(why, words), "%s", why);
        if (opened == 1) {
            REFUSED(tdm_matmul(queue, NULL, &a->t, &b->t, &c->t), TDM_ERROR_DEVICE_LOST, "lost");
            array_free_all();
            device_close();
            device_open();
        } else {
            OK(tdm_matmul(queue, NULL, &a->t, &b->t, &c->t));
            array_free_all();
        }
    }
}

/* A device that has tensor cores tries them; TDM_TEST_TENSOR has words of the outcome there. */
Test(matmul_tiles, trial) {
    const char *words = getenv("TDM_TEST_TENSOR");
    for (int i = 0; i < DTYPES; i++) {
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
        gemm_case g = of_integers;
        g.dtype = tensor_dtypes[i];
        g.m = 40, g.n = 48, g.k = 32;
        if (!run_case(&g)) return;
    }
}
