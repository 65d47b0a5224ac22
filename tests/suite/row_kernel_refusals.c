/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels over rows: texts, structs and arguments that are refused, and the messages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(row_kernel_refusals, .init = device_open, .fini = device_close);

#define TEXTS(...)                                                                                 \
    { sizeof(tdm_row_kernel), __VA_ARGS__ }

/* Texts for tensors x and y, and a number s. */
static const struct {
    tdm_row_kernel texts;
    const char *words;
} texts[] = {
    {TEXTS("", TDM_SUM, "r * s", NULL), "map, line 1, column 1|expected a value here"},
    {TEXTS("x * z", TDM_SUM, "r * s", NULL), "map, line 1, column 5|no name \"z\""},
    {TEXTS("x +\n s $", TDM_SUM, NULL, NULL), "map, line 2, column 4|'$' means nothing"},
    {TEXTS("x * s", TDM_SUM, "r +", NULL), "finish, line 1, column 4|expected a value here"},
    {TEXTS("x * s", TDM_SUM, "r + x", NULL), "finish, line 1, column 5|x is a tensor"},
    {TEXTS("x * s", TDM_SUM, "r\n+ index", NULL), "finish, line 2, column 1|should end here"},
    {TEXTS("x * s", TDM_SUM, "row + r", NULL), "finish, line 1, column 1|row is of an element"},
    {TEXTS("x * r", TDM_SUM, "s", NULL), "map, line 1, column 5|r is known in finish and apply"},
    {TEXTS("x * s", TDM_SUM, "t = r; y = t", NULL), "finish, line 1, column 8|y is a parameter"},
    {TEXTS("y = x * s", TDM_SUM, NULL, NULL), "map, line 1, column 1|y is a parameter"},
    {TEXTS("n = 3; x * s", TDM_SUM, NULL, NULL), "map, line 1, column 1|n has a value already"},
    {TEXTS("t = x", TDM_SUM, "s", NULL), "map, line 1, column 6|expected a value here"},
    {TEXTS("x; s", TDM_SUM, NULL, NULL), "map, line 1, column 4|not go on with 's'"},
    {TEXTS("s", TDM_SUM, NULL, NULL), "map, line 1|map reads no tensor"},
    {TEXTS("x", TDM_SUM, NULL, NULL), "tdm_kernel_rows: the parameter s is not used"},
    {TEXTS("x * s * y", TDM_SUM, NULL, NULL), "the texts name each tensor"},
    {TEXTS("x * s", TDM_SUM, NULL, "x - z"), "apply, line 1, column 5|no name \"z\""},
    {TEXTS("x * s", TDM_SUM, NULL, "x * (r"), "apply, line 1, column 7|expected ')' here"},
    {TEXTS("t = x * s; t", TDM_SUM, "t", NULL), "finish, line 1, column 1|no name \"t\""},
};

static tdm_status make(const tdm_row_kernel *of, int dtype, tdm_kernel **kernel) {
    const tdm_parameter parameters[] = {TDM_TENSOR_OF("x", dtype), TDM_NUMBER("s"),
                                        TDM_TENSOR("y")};
    return tdm_kernel_rows(device, of, parameters, 3, kernel);
}

Test(row_kernel_refusals, texts) {
    tdm_kernel *kernel;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_case("%s, %s, %s", texts[i].texts.map,
                   texts[i].texts.finish ? texts[i].texts.finish : "-",
                   texts[i].texts.apply ? texts[i].texts.apply : "-");
        REFUSED(make(&texts[i].texts, TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE, texts[i].words);
        CHECK(!kernel, "there is a kernel all the same");
    }
}

Test(row_kernel_refusals, structs) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_parameter three[] = {TDM_TENSOR("x"), TDM_TENSOR("y"), TDM_TENSOR("z")};
    const tdm_parameter named[] = {TDM_TENSOR("x"), TDM_TENSOR("n")};
    const tdm_row_kernel whole = TDM_ROW_KERNEL(.map = "x");
    tdm_row_kernel wrong = whole, made;
    tdm_parameter many[12];
    char names[12][8];
    tdm_kernel *kernel;
    check_case("structs");
    REFUSED(tdm_kernel_rows(NULL, &whole, parameters, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "tdm_kernel_rows: device is NULL");
    REFUSED(tdm_kernel_rows(device, &whole, parameters, 2, NULL), TDM_ERROR_INVALID_ARGUMENT,
            "kernel is NULL");
    REFUSED(tdm_kernel_rows(device, NULL, parameters, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "texts is NULL");
    wrong.size = 0;
    REFUSED(tdm_kernel_rows(device, &wrong, parameters, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "texts->size is 0|TDM_ROW_KERNEL_DEFAULTS");
    wrong = whole;
    wrong.map = NULL;
    REFUSED(tdm_kernel_rows(device, &wrong, parameters, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "map is NULL");
    wrong = whole;
    wrong.combine = (tdm_combine)9;
    REFUSED(tdm_kernel_rows(device, &wrong, parameters, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "combine is 9|TDM_SUM, TDM_PRODUCT, TDM_MAX and TDM_MIN");
    REFUSED(tdm_kernel_rows(device, &whole, three, 3, &kernel), TDM_ERROR_COMPILE,
            "no text names y and z");
    REFUSED(tdm_kernel_rows(device, &whole, named, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "\"n\" is what kernels over rows call");
    for (int i = 0; i < 12; i++) {
        sprintf(names[i], "p%d", i);
        many[i] = (tdm_parameter)TDM_TENSOR(names[i]);
    }
    REFUSED(tdm_kernel_rows(device, &whole, many, 12, &kernel), TDM_ERROR_UNSUPPORTED,
            "12 are tensors|a kernel over rows has at most 11 tensors");
    tdm_row_kernel_init(&made, sizeof made);
    CHECK(made.size == sizeof made && !made.map && made.combine == TDM_SUM && !made.finish &&
              !made.apply,
          "what tdm_row_kernel_init gives differs from TDM_ROW_KERNEL_DEFAULTS");
    char *text = malloc(70000);
    if (!text) abort();
    memset(text, ' ', 69999);
    text[69999] = '\0';
    wrong = whole;
    wrong.finish = text;
    REFUSED(tdm_kernel_rows(device, &wrong, parameters, 2, &kernel), TDM_ERROR_UNSUPPORTED,
            "finish is longer than 65536 bytes");
    free(text);
}

/* Errors that depend on dtypes are reported at once where they are known, else as soon as they are. */
Test(row_kernel_refusals, types) {
    const tdm_row_kernel of = TDM_ROW_KERNEL(.map = "x", .finish = "(r & 1) * s");
    tdm_kernel *kernel;
    check_case("r & 1");
    REFUSED(make(&of, TDM_F32, &kernel), TDM_ERROR_COMPILE,
            "finish, line 1, column 4|& does not take");
    if (!OK(make(&of, TDM_ANY_DTYPE, &kernel))) return;
    array *x = array_2d(TDM_F32, 2, 3, 3), *y = array_1d(TDM_F32, 2);
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_NUMBER("s", 1),
                                      TDM_WITH_TENSOR("y", &y->t)};
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 3), TDM_ERROR_COMPILE,
            "tdm_kernel_run: finish, line 1, column 4|& does not take f32");
    tdm_kernel_release(kernel);
    array_free_all();
}

Test(row_kernel_refusals, arguments) {
    const tdm_parameter parameters[] = {TDM_TENSOR_OF("x", TDM_F32), TDM_TENSOR("b"),
                                        TDM_TENSOR("y")};
    const tdm_row_kernel of = TDM_ROW_KERNEL(.map = "x * b"),
                         applied = TDM_ROW_KERNEL(.map = "x * b", .apply = "x / r");
    tdm_kernel *kernel;
    if (!OK(tdm_kernel_rows(device, &of, parameters, 3, &kernel))) return;
    array *x = array_2d(TDM_F32, 4, 6, 6), *b = array_1d(TDM_F32, 6), *y = array_1d(TDM_F32, 4);
    array *odd = array_1d(TDM_F32, 5), *wide = array_2d(TDM_I32, 4, 6, 6);
    array *three = array_1d(TDM_F32, 3), *whole = array_2d(TDM_F32, 4, 6, 6);
    tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("b", &b->t),
                                TDM_WITH_TENSOR("y", &y->t)};
    array_uniform(x, -1, 1);
    array_uniform(b, -1, 1);
    array_uniform(y, -1, 1);
    check_case("arguments");
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 2), TDM_ERROR_INVALID_ARGUMENT,
            "no argument for y");
#define REFUSED_WITH(which, other, wanted, words)                                                  \
    do {                                                                                           \
        const tdm_tensor *const kept = arguments[which].tensor;                                    \
        arguments[which].tensor = &(other);                                                        \
        REFUSED(tdm_kernel_run(queue, kernel, arguments, 3), wanted, words);                       \
        arguments[which].tensor = kept;                                                            \
    } while (0)
    REFUSED_WITH(0, wide->t, TDM_ERROR_INVALID_DTYPE, "dtype of x is i32|made for f32");
    REFUSED_WITH(1, odd->t, TDM_ERROR_INVALID_SHAPE,
                 "the shapes of x and b, [4, 6] and [5], do not broadcast");
    REFUSED_WITH(2, three->t, TDM_ERROR_INVALID_SHAPE,
                 "shape of y is [3]|the rows' is [4, 6]|without the last dimension");
    REFUSED_WITH(2, whole->t, TDM_ERROR_INVALID_SHAPE, "shape of y is [4, 6]");
    tdm_tensor view = x->t;
    view.ndim = 1;
    view.shape[0] = 4;
    view.strides[0] = 6;
    REFUSED_WITH(2, view, TDM_ERROR_OVERLAP, "y overlaps x");
    view = y->t;
    view.strides[0] = 0;
    REFUSED_WITH(2, view, TDM_ERROR_OVERLAP, "strides of y");
    view = x->t; /* y is b, which every row reads */
    view.shape[1] = 4;
    arguments[0].tensor = &view;
    REFUSED_WITH(1, y->t, TDM_ERROR_OVERLAP, "y overlaps b; allowed is no overlap");
    arguments[0].tensor = &x->t;
    tdm_kernel_release(kernel);
    if (!OK(tdm_kernel_rows(device, &applied, parameters, 3, &kernel))) return;
    REFUSED_WITH(2, y->t, TDM_ERROR_INVALID_SHAPE,
                 "shape of x is [4, 6]|broadcast to that of y, [4]");
    ARRAY_SAME(x);
    ARRAY_SAME(y);
    tdm_buffer_freeze(y->t.buffer);
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 3), TDM_ERROR_READ_ONLY, "y");
    tdm_kernel_release(kernel);
    array_free_all();
}
