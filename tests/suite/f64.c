/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* f64 on a device without f64 arithmetic: products and functions that make tensors refuse it, as operations do
 * (operations_refused.c). Functions that only move or set bytes take it: cast/fill, create/host_arrays,
 * along/roll, move/there_and_back and others have cases in f64. On a device that has it there is nothing to
 * refuse, and all other tests compute with it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/array.h"

TestSuite(f64, .init = device_open, .fini = device_close);

static const char *no_f64(void) {
    static char words[96];
    snprintf(words, sizeof words, "%s has no f64", tdm_device_get_info(device)->id);
    return words;
}

/* The call refuses its argument `name` and says on which device. */
#define NO_F64(function, name, ...)                                                                \
    do {                                                                                           \
        char words[192];                                                                           \
        snprintf(words, sizeof words, "%s: %s is f64|%s", #function, name, no_f64());              \
        check_case("%s of %s", #function, name);                                                   \
        REFUSED(function(__VA_ARGS__), TDM_ERROR_UNSUPPORTED, words);                              \
    } while (0)

static void refuse_products(const tdm_tensor *x, const tdm_tensor *w, tdm_tensor *y) {
    const char *provider = NULL;
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    NO_F64(tdm_matmul, "a", queue, NULL, x, x, y);
    check_case("the provider of a product");
    REFUSED(tdm_matmul_provider(queue, NULL, x, x, y, &provider), TDM_ERROR_UNSUPPORTED, no_f64());
    options.alpha = 0.0;
    options.bias = w;
    options.activation = TDM_ACTIVATION_GELU;
    NO_F64(tdm_matmul, "a", queue, &options, x, x, y);
    NO_F64(tdm_linear, "x", queue, x, x, w, TDM_ACTIVATION_NONE, y);
}

/* Functions that make a tensor leave none; generators stay where they are. */
static void refuse_to_make(tdm_tensor *y) {
    tdm_generator g = {1, 5};
    tdm_state_dict *dict = NULL;
    tdm_tensor t;
    const tdm_dtype dtypes_to_warm[] = {TDM_F32, TDM_F64};
#define MAKES_NONE(function, ...)                                                                  \
    do {                                                                                           \
        memset(&t, 1, sizeof t);                                                                   \
        NO_F64(function, "dtype", __VA_ARGS__, &t);                                                \
        CHECK(!t.buffer && t.ndim == 0, "a tensor is left after a failure");                       \
    } while (0)
    MAKES_NONE(tdm_arange, queue, 0.0, 4.0, 1.0, TDM_F64);
    MAKES_NONE(tdm_rand, queue, &g, TDM_F64, TDM_SHAPE(4));
    MAKES_NONE(tdm_randn, queue, &g, TDM_F64, TDM_SHAPE(4));
#undef MAKES_NONE
    NO_F64(tdm_fill_uniform, "y", queue, &g, 0.0, 1.0, y);
    NO_F64(tdm_fill_normal, "y", queue, &g, 0.0, 1.0, y);
    if (!OK(tdm_state_dict_create(&dict))) return;
    NO_F64(tdm_linear_create, "dtype", queue, &g, "fc.", 3, 2, true, TDM_F64, dict);
    CHECK(tdm_state_dict_get_count(dict) == 0, "parameters of a refused layer");
    CHECK(g.next == 5, "a refused call moved the generator");
    tdm_state_dict_destroy(dict);
    NO_F64(tdm_device_warm, "dtypes[1]", device, dtypes_to_warm, 2, NULL);
}

Test(f64, where_the_device_has_none) {
    if (computes_with(TDM_F64)) {
        check_skip("the device computes with f64");
        return;
    }
    array *x = array_2d(TDM_F64, 4, 4, 4), *w = array_1d(TDM_F64, 4);
    array *y = array_2d(TDM_F64, 4, 4, 4), *narrow = array_2d(TDM_F32, 4, 4, 4);
    array_uniform(x, -2.0, 2.0);
    array_uniform(w, -2.0, 2.0);
    array_uniform(y, -2.0, 2.0);
    NO_F64(tdm_fill_range, "y", queue, 0.0, 1.0, &y->t);
    NO_F64(tdm_cast, "y", queue, &narrow->t, &y->t);
    const array *integers = array_2d(TDM_I64, 4, 4, 4);
    NO_F64(tdm_cast, "y", queue, &integers->t, &y->t);
    refuse_products(&x->t, &w->t, &y->t);
    refuse_to_make(&y->t);
    check_case("after all that was refused");
    OK(tdm_queue_finish(queue));
    ARRAY_SAME(x);
    ARRAY_SAME(w);
    ARRAY_SAME(y);
    ARRAY_SAME(narrow);
}
