/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The provider of a matmul: named, explained and measured; and errors of single libraries. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/blas_list.h"
#include "support/product.h"

TestSuite(matmul_choice, .init = device_open, .fini = device_close, TAGS("device lanes"));

/* A batch of equal matrices A, with a gap between them, and one B gives equal matrices C, also where a library takes
 * B as it lies in its buffer: CLBlast's batches, large and with nothing to pad, read past it. */
Test(matmul_choice, batch_of_a_shared_matrix) {
    array *a = array_2d(TDM_F32, 2, 2, 2), *c = array_2d(TDM_F32, 2, 2, 2);
    const char *provider = NULL;
    if (!OK(tdm_matmul_provider(queue, NULL, &a->t, &a->t, &c->t, &provider))) return;
    array_free_all();
    const int64_t n = strcmp(provider, "clblast") == 0 && !simulator ? 1024 : 64;
    const size_t count = (size_t)(n * n);
    tdm_generator generator = {.seed = (uint64_t)random_integer(0, 1 << 20)};
    tdm_tensor one, held, both, b, product;
    float *got = malloc(2 * count * sizeof *got);
    check_case("2*%lldx%lldx%lld by %s", (long long)n, (long long)n, (long long)n, provider);
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(1, n, n), &one));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(2, n + 1, n), &held));
    OK(tdm_tensor_slice(&held, 1, 0, n, 1, &both));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(n, n), &b));
    OK(tdm_full(queue, (double)NAN, TDM_F32, TDM_SHAPE(2, n, n), &product));
    OK(tdm_fill_uniform(queue, &generator, -1.0, 1.0, &one));
    OK(tdm_fill_uniform(queue, &generator, -1.0, 1.0, &b));
    OK(tdm_add(queue, &one, &one, &both));
    OK(tdm_matmul(queue, NULL, &both, &b, &product));
    OK(tdm_to_host(queue, &product, got));
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += !(got[i] == got[count + i]);
    CHECK(wrong == 0, "%zu elements of the second matrix differ", wrong);
    free(got);
    tdm_tensor_release(&one);
    tdm_tensor_release(&held);
    tdm_tensor_release(&b);
    tdm_tensor_release(&product);
}

/* A provider is named for every dtype: the forced one where that can run it. CLBlast sums 16-bit
 * products in 16 bits, and oneDNN has no f64. */
Test(matmul_choice, provider) {
#define NAME(name) #name,
#define CBLAS_NAME(name) " " #name
    static const char *const names[] = {TDMI_BLAS_LIST(NAME) "builtin"};
    static const char cblas[] = TDMI_CBLAS_LIST(CBLAS_NAME);
    const char *forced = getenv("TANDEM_BLAS");
    for (int d = 0; d < float_dtype_count; d++) {
        array *a = array_2d(float_dtypes[d], 8, 8, 8), *c = array_2d(float_dtypes[d], 8, 8, 8);
        const char *provider = NULL;
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        if (!OK(tdm_matmul_provider(queue, NULL, &a->t, &a->t, &c->t, &provider))) return;
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            known = known || strcmp(provider, names[i]) == 0;
        CHECK(known, "provider '%s'", provider);
        const bool wide = float_dtypes[d] == TDM_F32 || float_dtypes[d] == TDM_F64;
        const bool lacking =
            (strcmp(forced ? forced : "", "onednn") == 0 && float_dtypes[d] == TDM_F64) ||
            (strcmp(forced ? forced : "", "clblast") == 0 && !wide);
        if (forced && !lacking) {
            const bool right = strcmp(forced, "cblas") == 0 ? (bool)strstr(cblas, provider)
                                                            : strcmp(provider, forced) == 0;
            CHECK(right, "TANDEM_BLAS=%s, but '%s' runs it", forced, provider);
        }
        CHECK(wide || strcmp(provider, "clblast") != 0,
              "'%s' has no such products with sums in f32", provider);
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        options.alpha = 0;
        if (OK(tdm_matmul_provider(queue, &options, &a->t, &a->t, &c->t, &provider)))
            CHECK(strcmp(provider, "builtin") == 0, "with alpha 0 '%s' has nothing to do",
                  provider);
        ARRAY_SAME(c);
        REFUSED(tdm_matmul_provider(queue, NULL, &a->t, &a->t, &c->t, NULL),
                TDM_ERROR_INVALID_ARGUMENT, "provider");
        array_free_all();
    }
}

/* The kernel for narrow products is fast as C alone: OpenCL devices give them to a library that they give others. */
Test(matmul_choice, narrow) {
    enum { N = 2048 };
    array *a = array_2d(TDM_F32, N, N, N), *b = array_2d(TDM_F32, N, 64, 64);
    array *c = array_2d(TDM_F32, N, 64, 64);
    const char *of_many, *of_few;
    tdm_tensor few_b, few_c;
    if (strncmp(tdm_device_get_info(device)->id, "opencl", 6) != 0) return;
    OK(tdm_matmul_provider(queue, NULL, &a->t, &b->t, &c->t, &of_many));
    for (int64_t cols = 1; cols <= 16; cols *= 4) {
        OK(tdm_tensor_slice(&b->t, 1, 0, cols, 1, &few_b));
        OK(tdm_tensor_slice(&c->t, 1, 0, cols, 1, &few_c));
        OK(tdm_matmul_provider(queue, NULL, &a->t, &few_b, &few_c, &of_few));
        CHECK(strcmp(of_few, of_many) == 0, "%d columns: %s, but 64: %s", (int)cols, of_few,
              of_many);
    }
}

/* Measured on every way there is: C holds the product, whatever was in it, and the words agree. */
Test(matmul_choice, tune) {
    enum { M = 9, N = 10, K = 11 };
    for (int d = 0; d < float_dtype_count; d++) {
        array *a = array_2d(float_dtypes[d], K, M, M), *b = array_2d(float_dtypes[d], K, N, N);
        array *c = array_2d(float_dtypes[d], M, N, N), *bias = array_1d(float_dtypes[d], N);
        array *const inputs[] = {a, b, bias};
        for (int i = 0; i < 3; i++)
            array_uniform(inputs[i], -1.0, 1.0);
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        options.transpose_a = true;
        options.bias = &bias->t;
        options.activation = TDM_ACTIVATION_RELU;
        tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
        double *want, *bound;
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        product_refer(&options, a, b, bias, c, &want, &bound);
        options.beta = 3.0; /* which does not count */
        if (!OK(tdm_matmul_tune(queue, &options, &a->t, &b->t, &c->t, 0.0, &tuning))) return;
        CHECK(tuning.candidates > 0 && tuning.wrong == 0, "%u of %u failed", tuning.wrong,
              tuning.candidates);
        CHECK(tuning.provider && tuning.usual && tuning.seconds > 0.0 && tuning.usual_seconds > 0.0,
              "%s %g, %s %g", tuning.provider, tuning.seconds, tuning.usual, tuning.usual_seconds);
        ARRAY_CHECK(c, want, bound);
        ARRAY_SAME(a);
        ARRAY_SAME(b);
        char why[256], cut[4];
        const char *provider = NULL;
        OK(tdm_matmul_provider(queue, &options, &a->t, &b->t, &c->t, &provider));
        OK(tdm_matmul_explain(queue, &options, &a->t, &b->t, &c->t, why, sizeof why));
        CHECK(provider && strncmp(why, provider, strlen(provider)) == 0, "'%s' of %s", why,
              provider);
        OK(tdm_matmul_explain(queue, &options, &a->t, &b->t, &c->t, cut, sizeof cut));
        CHECK(strncmp(cut, why, 3) == 0 && cut[3] == '\0', "'%.4s'", cut);
        array_free_all();
    }
}

/* Heads of C that lie between each other, with no common stride: C holds all their products. */
Test(matmul_choice, tune_heads) {
    enum { BATCH = 2, HEADS = 3, M = 8, COUNT = BATCH * HEADS * M * M };
    tdm_generator generator = {.seed = (uint64_t)random_integer(0, 1 << 20)};
    tdm_tensor a, b, held, c, want;
    float got[COUNT], right[COUNT];
    OK(tdm_rand(queue, &generator, TDM_F32, TDM_SHAPE(BATCH, HEADS, M, M), &a));
    OK(tdm_rand(queue, &generator, TDM_F32, TDM_SHAPE(BATCH, HEADS, M, M), &b));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(BATCH, M, HEADS, M), &held));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(BATCH, HEADS, M, M), &want));
    OK(tdm_tensor_transpose(&held, 1, 2, &c));
    tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
    OK(tdm_matmul_tune(queue, NULL, &a, &b, &c, 0.0, &tuning));
    OK(tdm_matmul(queue, NULL, &a, &b, &want));
    OK(tdm_to_host(queue, &c, got));
    OK(tdm_to_host(queue, &want, right));
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += !(fabsf(got[i] - right[i]) <= 1e-5f);
    CHECK(wrong == 0, "%d of %d elements are wrong", wrong, COUNT);
    tdm_tensor *const made[] = {&a, &b, &held, &want};
    for (int i = 0; i < 4; i++)
        tdm_tensor_release(made[i]);
}

/* Calls that are refused leave C and the result as they were. */
Test(matmul_choice, tune_refuses) {
    array *a = array_2d(TDM_F32, 8, 8, 8), *c = array_2d(TDM_F32, 8, 8, 8);
    array *none = array_2d(TDM_F32, 8, 0, 1);
    tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS, zero = {0};
    const char *name = NULL;
    char text[8];
    array_uniform(a, -1.0, 1.0);
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &a->t, &c->t, -1.0, &tuning),
            TDM_ERROR_INVALID_ARGUMENT, "seconds is -1, allowed are 0 to 86400");
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &a->t, &c->t, (double)NAN, &tuning),
            TDM_ERROR_INVALID_ARGUMENT, "seconds");
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &a->t, &c->t, 0.0, NULL),
            TDM_ERROR_INVALID_ARGUMENT, "tuning is NULL");
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &a->t, &c->t, 0.0, &zero),
            TDM_ERROR_INVALID_ARGUMENT, "TDM_MATMUL_TUNING_DEFAULTS");
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, NULL, &c->t, 0.0, &tuning),
            TDM_ERROR_INVALID_ARGUMENT, "tdm_matmul_tune: b is NULL");
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &none->t, &none->t, 0.0, &tuning),
            TDM_ERROR_INVALID_SHAPE, "nothing is multiplied");
    array *zeros = array_2d(TDM_F32, 8, 8, 8), *product = array_2d(TDM_F32, 8, 8, 8);
    array_integers(zeros, 0, 0);
    REFUSED(tdm_matmul_tune(queue, NULL, &a->t, &zeros->t, &product->t, 0.0, &tuning),
            TDM_ERROR_INVALID_ARGUMENT, "no number but 0");
    REFUSED(tdm_matmul_explain(queue, NULL, &a->t, &none->t, &c->t, text, 8),
            TDM_ERROR_INVALID_SHAPE, "tdm_matmul_explain: a [");
    REFUSED(tdm_matmul_provider(queue, NULL, NULL, &a->t, &c->t, &name), TDM_ERROR_INVALID_ARGUMENT,
            "tdm_matmul_provider: a is NULL");
    REFUSED(tdm_matmul_explain(queue, NULL, &a->t, &a->t, &c->t, NULL, 8),
            TDM_ERROR_INVALID_ARGUMENT, "text is NULL");
    REFUSED(tdm_matmul_explain(queue, NULL, &a->t, &a->t, &c->t, text, 0),
            TDM_ERROR_INVALID_ARGUMENT, "size is 0");
    ARRAY_SAME(c);
    CHECK(!tuning.provider && tuning.candidates == 0, "a refused call wrote its result");
    array_free_all();
}
