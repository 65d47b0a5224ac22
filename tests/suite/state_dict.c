/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* State dicts in memory: names, order, references, metadata. Their files: tensor_files.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(state_dict, .init = device_open, .fini = device_close, TAGS("device"));

/* Does the dict have this tensor, value by value, under this name? */
static bool holds(const tdm_state_dict *dict, const char *name, const tdm_tensor *want) {
    tdm_tensor got;
    memset(&got, 0xa5, sizeof got);
    return OK(tdm_state_dict_get(dict, name, &got)) && got.buffer == want->buffer &&
           got.dtype == want->dtype && got.ndim == want->ndim && got.offset == want->offset &&
           memcmp(got.shape, want->shape, (size_t)got.ndim * sizeof *got.shape) == 0 &&
           memcmp(got.strides, want->strides, (size_t)got.ndim * sizeof *got.strides) == 0;
}

static bool item_is(const tdm_state_dict *dict, size_t index, const char *name,
                    const tdm_buffer *buffer) {
    const char *got = NULL;
    tdm_tensor tensor;
    return OK(tdm_state_dict_get_item(dict, index, &got, &tensor)) && got &&
           strcmp(got, name) == 0 && tensor.buffer == buffer;
}

/* Set, get, replace; the order; the references. */
Test(state_dict, tensors) {
    tdm_buffer *buffers[3] = {NULL};
    for (int i = 0; i < 3; i++)
        if (!OK(tdm_buffer_create(device, 96, &buffers[i]))) return;
    uint64_t held = memory_now(device).in_use;
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_state_dict_create(&dict))) return;
    CHECK(tdm_state_dict_get_count(dict) == 0, "a new dict is not empty");
    tdm_tensor a = tdm_tensor_2d(buffers[0], TDM_F32, 4, 6), b, c;
    OK(tdm_tensor_transpose(&a, 0, 1, &b));
    b.buffer = buffers[1];
    c = tdm_tensor_1d(buffers[2], TDM_U8, 5);
    c.offset = 7;
    char name[] = "fc.weight";
    OK(tdm_state_dict_set(dict, name, &a));
    name[0] = 'X'; /* the name was copied */
    OK(tdm_state_dict_set(dict, "b \xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", &b));
    OK(tdm_state_dict_set(dict, "a", &c));
    CHECK(tdm_state_dict_get_count(dict) == 3, "not three tensors");
    CHECK(holds(dict, "fc.weight", &a), "fc.weight");
    CHECK(holds(dict, "b \xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", &b), "b");
    CHECK(holds(dict, "a", &c), "a");
    CHECK(item_is(dict, 0, "fc.weight", buffers[0]) && item_is(dict, 2, "a", buffers[2]),
          "not in the order of insertion");

    check_case("references");
    for (int i = 0; i < 3; i++)
        tdm_buffer_release(buffers[i]);
    CHECK(memory_now(device).in_use == held, "the dict let a buffer go");
    OK(tdm_state_dict_set(dict, "fc.weight", &c));
    CHECK(memory_now(device).in_use == held - 96, "the replaced tensor is still held");
    CHECK(tdm_state_dict_get_count(dict) == 3 && item_is(dict, 0, "fc.weight", buffers[2]),
          "a replaced tensor changed its place");
    OK(tdm_state_dict_get(dict, "a", &c));
    OK(tdm_state_dict_set(dict, "a", &c)); /* by itself */
    CHECK(holds(dict, "a", &c), "replaced by itself");
    tdm_state_dict_destroy(dict);
    CHECK(memory_now(device).in_use == held - 3 * 96,
          "destroying the dict did not free its buffers");
    tdm_state_dict_destroy(NULL);
    CHECK(tdm_state_dict_get_count(NULL) == 0, "NULL counts");
}

/* Floats are converted as tdm_cast does; integers, and what has the dtype, stay where they are. */
Test(state_dict, cast) {
    static const float numbers[] = {1.00390625F, -2, 65536, 0.1F};
    tdm_state_dict *dict = NULL;
    tdm_tensor f, i, got;
    float back[4];
    OK(tdm_state_dict_create(&dict));
    OK(tdm_from_host(queue, numbers, TDM_F32, 2, (const int64_t[]){2, 2}, &f));
    OK(tdm_full(queue, 7, TDM_I32, 1, (const int64_t[]){3}, &i));
    OK(tdm_state_dict_set(dict, "f", &f));
    OK(tdm_state_dict_set(dict, "i", &i));
    REFUSED(tdm_state_dict_cast(queue, TDM_I32, dict), TDM_ERROR_INVALID_DTYPE, "dtype is i32");
    REFUSED(tdm_state_dict_cast(NULL, TDM_F16, dict), TDM_ERROR_INVALID_ARGUMENT, "queue");
    REFUSED(tdm_state_dict_cast(queue, TDM_F16, NULL), TDM_ERROR_INVALID_ARGUMENT, "dict");
    OK(tdm_state_dict_cast(queue, TDM_F32, dict));
    CHECK(holds(dict, "f", &f) && holds(dict, "i", &i), "something was converted");
    OK(tdm_state_dict_cast(queue, TDM_BF16, dict));
    OK(tdm_state_dict_get(dict, "f", &got));
    CHECK(got.dtype == TDM_BF16 && got.ndim == 2 && holds(dict, "i", &i), "other tensors");
    OK(tdm_state_dict_cast(queue, TDM_F32, dict));
    OK(tdm_state_dict_get(dict, "f", &got));
    OK(tdm_to_host(queue, &got, back));
    CHECK(back[0] == 1.0F && back[1] == -2.0F && back[2] == 65536.0F && back[3] == 0.10009765625F,
          "%g %g %g %.12g", (double)back[0], (double)back[1], (double)back[2], (double)back[3]);
    tdm_tensor_release(&f);
    tdm_tensor_release(&i);
    tdm_state_dict_destroy(dict);
}

/* Many names, in no order: each is found, and stays where it was put. */
Test(state_dict, many) {
    enum { MANY = 3000 };
    tdm_buffer *buffer = NULL;
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_buffer_create(device, MANY, &buffer)) || !OK(tdm_state_dict_create(&dict))) return;
    char name[64];
    tdm_tensor t = tdm_tensor_1d(buffer, TDM_U8, 1), got;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "layer.%d.weight", i * 7919 % MANY);
        t.offset = i;
        OK(tdm_state_dict_set(dict, name, &t));
    }
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        const char *listed = NULL;
        snprintf(name, sizeof name, "layer.%d.weight", i * 7919 % MANY);
        wrong += tdm_state_dict_get(dict, name, &got) != TDM_OK || got.offset != i;
        wrong += tdm_state_dict_get_item(dict, (size_t)i, &listed, &got) != TDM_OK ||
                 got.offset != i || strcmp(listed, name) != 0;
    }
    CHECK(wrong == 0 && tdm_state_dict_get_count(dict) == MANY, "%d of %d are wrong", wrong, MANY);
    tdm_state_dict_destroy(dict);
    tdm_buffer_release(buffer);
}

/* Metadata set and removed in any order: each key is found while it is there, and none after it. */
Test(state_dict, removed_in_any_order) {
    enum { KEYS = 300, STEPS = 20000 };
    bool present[KEYS] = {false};
    size_t count = 0;
    int wrong = 0;
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_state_dict_create(&dict))) return;
    for (int step = 0; step < STEPS; step++) {
        const int i = (int)(random_bits() % KEYS), j = (int)(random_bits() % KEYS);
        char key[16], other[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(other, sizeof other, "k%d", j);
        OK(tdm_state_dict_set_metadata(dict, key, present[i] ? NULL : key));
        count = present[i] ? count - 1 : count + 1;
        present[i] = !present[i];
        const char *const found = tdm_state_dict_get_metadata(dict, other);
        wrong += present[j] ? !found || strcmp(found, other) != 0 : !!found;
    }
    CHECK(wrong == 0 && tdm_state_dict_get_metadata_count(dict) == count, "%d of %d are wrong",
          wrong, STEPS);
    tdm_state_dict_destroy(dict);
}

/* Metadata: set, replaced, removed. */
Test(state_dict, metadata) {
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_state_dict_create(&dict))) return;
    const char *key = NULL, *value = NULL;
    CHECK(!tdm_state_dict_get_metadata(dict, "format") &&
              tdm_state_dict_get_metadata_count(dict) == 0,
          "a new dict has metadata");
    OK(tdm_state_dict_set_metadata(dict, "format", "pt"));
    OK(tdm_state_dict_set_metadata(dict, "\xc3\xa9", "\xe2\x82\xac\n\"\\"));
    OK(tdm_state_dict_set_metadata(dict, "", ""));
    OK(tdm_state_dict_set_metadata(dict, "format", "np"));
    CHECK(strcmp(tdm_state_dict_get_metadata(dict, "format"), "np") == 0, "not replaced");
    CHECK(strcmp(tdm_state_dict_get_metadata(dict, "\xc3\xa9"), "\xe2\x82\xac\n\"\\") == 0, "e");
    CHECK(tdm_state_dict_get_metadata_count(dict) == 3, "not three");
    OK(tdm_state_dict_get_metadata_item(dict, 1, &key, &value));
    CHECK(key && strcmp(key, "\xc3\xa9") == 0 && value[0] == '\xe2', "the second one");
    OK(tdm_state_dict_set_metadata(dict, "\xc3\xa9", NULL));
    OK(tdm_state_dict_set_metadata(dict, "never there", NULL));
    OK(tdm_state_dict_get_metadata_item(dict, 1, &key, &value));
    CHECK(key && !*key && value && !*value && tdm_state_dict_get_metadata_count(dict) == 2,
          "not removed");
    CHECK(!tdm_state_dict_get_metadata(dict, "\xc3\xa9"), "still there");
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    REFUSED(tdm_state_dict_get_metadata_item(dict, 2, &key, &value), TDM_ERROR_OUT_OF_RANGE, "2");
    CHECK(!key && !value, "outputs of a refused call");
    REFUSED(tdm_state_dict_set_metadata(dict, "k", "\xff"), invalid, "value|UTF-8|byte 0");
    REFUSED(tdm_state_dict_set_metadata(dict, "ab\xc3", "v"), invalid, "key|UTF-8|byte 2");
    REFUSED(tdm_state_dict_set_metadata(dict, NULL, "v"), invalid, "key");
    REFUSED(tdm_state_dict_set_metadata(NULL, "k", "v"), invalid, "dict");
    REFUSED(tdm_state_dict_get_metadata_item(dict, 0, NULL, &value), invalid, "key");
    REFUSED(tdm_state_dict_get_metadata_item(dict, 0, &key, NULL), invalid, "value");
    CHECK(!tdm_state_dict_get_metadata(NULL, "k") && !tdm_state_dict_get_metadata(dict, NULL),
          "NULL");
    tdm_state_dict_destroy(dict);
}

/* Names and tensors that may not be set or got. */
Test(state_dict, refused) {
    tdm_state_dict *dict = NULL;
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_state_dict_create(&dict)) || !OK(tdm_buffer_create(device, 40, &buffer))) return;
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    tdm_tensor t = tdm_tensor_1d(buffer, TDM_F32, 10), bad = t, got;
    const char *name = "x";
    REFUSED(tdm_state_dict_create(NULL), invalid, "dict");
    REFUSED(tdm_state_dict_get(dict, "a", &got), TDM_ERROR_NOT_FOUND, "'a'|empty");
    OK(tdm_state_dict_set(dict, "encoder.weight", &t));
    OK(tdm_state_dict_set(dict, "decoder.bias", &t));
    REFUSED(tdm_state_dict_get(dict, "encoder.wieght", &got), TDM_ERROR_NOT_FOUND,
            "encoder.wieght|'encoder.weight'");
    CHECK(!got.buffer && got.ndim == 0, "the output of a refused get");
    REFUSED(tdm_state_dict_get(dict, NULL, &got), invalid, "name");
    REFUSED(tdm_state_dict_get(dict, "a", NULL), invalid, "tensor");
    REFUSED(tdm_state_dict_get(NULL, "a", &got), invalid, "dict");
    REFUSED(tdm_state_dict_get_item(dict, 2, &name, &got), TDM_ERROR_OUT_OF_RANGE, "2");
    CHECK(!name, "the output of a refused item");
    REFUSED(tdm_state_dict_get_item(dict, 0, NULL, &got), invalid, "name");
    REFUSED(tdm_state_dict_get_item(dict, 0, &name, NULL), invalid, "tensor");
    REFUSED(tdm_state_dict_get_item(NULL, 0, &name, &got), invalid, "dict");
    REFUSED(tdm_state_dict_set(NULL, "a", &t), invalid, "dict");
    REFUSED(tdm_state_dict_set(dict, NULL, &t), invalid, "name");
    REFUSED(tdm_state_dict_set(dict, "", &t), invalid, "name");
    REFUSED(tdm_state_dict_set(dict, "__metadata__", &t), invalid, "__metadata__");
    REFUSED(tdm_state_dict_set(dict, "a", NULL), invalid, "tensor");
    bad.shape[0] = 11;
    REFUSED(tdm_state_dict_set(dict, "a", &bad), TDM_ERROR_OUT_OF_RANGE, "tensor");
    bad = t, bad.dtype = (tdm_dtype)50;
    REFUSED(tdm_state_dict_set(dict, "a", &bad), TDM_ERROR_INVALID_DTYPE, "tensor");
    check_case("names that are no UTF-8");
    static const char *const names[] = {"\x80",
                                        "a\xc0\xaf",
                                        "\xc1\xbf",
                                        "\xe0\x80\xaf",
                                        "\xed\xa0\x80",
                                        "\xf0\x80\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xc3",
                                        "\xe2\x82",
                                        "\xf0\x9f\x99",
                                        "\xff",
                                        "\xc3(",
                                        "\xe2\x82("};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        REFUSED(tdm_state_dict_set(dict, names[i], &t), invalid, "name|UTF-8|byte");
    static const char *const good[] = {"\xc2\x80",        "\xdf\xbf",     "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",    "\xef\xbf\xbf", "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        OK(tdm_state_dict_set(dict, good[i], &t));
    CHECK(tdm_state_dict_get_count(dict) == 2 + sizeof good / sizeof *good,
          "a refused name is there");
    tdm_state_dict_destroy(dict);
    tdm_buffer_release(buffer);
}
