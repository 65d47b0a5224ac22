/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* f64 on a device without f64 arithmetic: products and functions that make tensors refuse it, as operations do
 * (operations_refused.c); functions that only move or set bytes take it. Files: tensor_files.c, in every dtype.
 * On a device that has it there is nothing to refuse, and all other tests compute with it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Filled and copied bit by bit, as nothing is computed. */
static void fill_and_copy(const array *x, array *y) {
    double want[16];
    tdm_tensor t, turned;
    for (int i = 0; i < 16; i++)
        want[i] = 0.1;
    check_case("a fill");
    OK(tdm_fill(queue, 0.1, &y->t));
    ARRAY_CHECK(y, want, NULL);
    check_case("made full");
    if (OK(tdm_full(queue, 0.1, TDM_F64, TDM_SHAPE(4, 4), &t))) {
        double got[16];
        OK(tdm_to_host(queue, &t, got));
        CHECK(memcmp(got, want, sizeof got) == 0, "other values");
        tdm_tensor_release(&t);
    }
    check_case("a copy of a transposed view");
    OK(tdm_tensor_transpose(&x->t, 0, 1, &turned));
    OK(tdm_cast(queue, &turned, &y->t));
    for (int i = 0; i < 16; i++)
        want[i] = x->v[i % 4 * 4 + i / 4];
    ARRAY_CHECK(y, want, NULL);
}

/* The values that x was given, in the tensor t of any device. */
static void holds(tdm_queue *of, const tdm_tensor *t, const array *x) {
    double got[16];
    memset(got, 0xa5, sizeof got);
    OK(tdm_to_host(of, t, got));
    CHECK(t->dtype == TDM_F64 && memcmp(got, x->v, sizeof got) == 0, "other values");
}

static void move_to_all(const array *x) {
    size_t count = 0;
    OK(tdm_get_device_count(&count));
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info = NULL;
        tdm_device *other = NULL;
        tdm_queue *of = NULL;
        tdm_tensor there, back;
        if (!OK(tdm_get_listed_device(i, &info)) || !OK(tdm_device_open(info->id, &other)) ||
            !OK(tdm_queue_create(other, 0, &of)))
            return;
        check_case("to %s and back", info->id);
        if (OK(tdm_to(queue, &x->t, other, &there))) {
            holds(of, &there, x);
            if (OK(tdm_to(of, &there, device, &back))) holds(queue, &back, x);
            tdm_tensor_release(&there);
            tdm_tensor_release(&back);
        }
        tdm_queue_destroy(of);
        tdm_device_release(other);
    }
}

static void store_and_copy(const array *x, array *y) {
    const size_t size = sizeof(double);
    tdm_tensor t, turned;
    double turned_values[16];
    char text[512]; /* small numbers are printed with exponents */
    check_case("from the host, and to it");
    if (!OK(tdm_from_host(queue, x->v, TDM_F64, TDM_SHAPE(4, 4), &t))) return;
    holds(queue, &t, x);
    OK(tdm_tensor_transpose(&t, 0, 1, &turned));
    OK(tdm_to_host(queue, &turned, turned_values));
    for (int i = 0; i < 16; i++)
        CHECK(turned_values[i] == x->v[i % 4 * 4 + i / 4], "element %d of the transposed", i);
    check_case("as text");
    OK(tdm_format(queue, &t, text, sizeof text, NULL));
    CHECK(strstr(text, "dtype=f64"), "printed %s", text);
    check_case("a copy of the buffer");
    OK(tdm_buffer_copy(queue, t.buffer, 0, y->t.buffer, (size_t)y->t.offset * size, 16 * size));
    tdm_tensor_release(&t);
    ARRAY_CHECK(y, x->v, NULL);
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
    fill_and_copy(x, y);
    store_and_copy(x, y);
    move_to_all(x);
}
