/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels of expressions: texts and arguments that are refused, and the messages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(expression_refusals, .init = device_open, .fini = device_close);

/* Texts for tensors x, b and y, and a number s. */
static const struct {
    const char *text, *words;
} texts[] = {
    {"", "line 1, column 1|no statement gives a tensor a value"},
    {"y = x +", "line 1, column 8|expected a value here"},
    {"y = x + * b", "line 1, column 9|not '*'"},
    {"y = (x + b", "line 1, column 11|expected ')' here|the end of the text"},
    {"y = x) + b", "line 1, column 6|the statement should end here"},
    {"\n\n  y = x $ b", "line 3, column 9|'$' means nothing"},
    {"y = \xc3\xa9", "line 1, column 5|means nothing"},
    {"t = x // \xc3\xa9\xc3\xa9\ny = z", "line 2, column 5|no name \"z\""},
    {"y = gleu(x)", "column 5|no function \"gleu\"|did you mean \"gelu\""},
    {"y = bb + x", "column 5|no name \"bb\"|did you mean \"b\""},
    {"y = x(2)", "no function \"x\""},
    {"y = exp", "column 5|exp is a function: its arguments go in parentheses"},
    {"y = x + clamp b", "column 9|clamp is a function"},
    {"y = f32 x", "column 5|f32 is a function"},
    {"y = exp(x, b)", "exp takes 1 argument, not 2"},
    {"y = min(x)", "min takes 2 arguments, not 1"},
    {"y = clamp(x, 1)", "clamp takes 3 arguments, not 2"},
    {"y = f16(x)", "no function \"f16\""},
    {"x", "expected '=' here"},
    {"3 = x", "begins with the name that it gives a value, not with '3'"},
    {"exp = x; y = exp", "exp is a name of the language's own"},
    {"s = x; y = x", "s is a scalar"},
    {"y = x; y = b", "column 8|y has a value already"},
    {"y = 12three", "this is not a number"},
    {"y = x * 1e-5f", "column 9|this is not a number, as numbers have no suffix"},
    {"y = x ** 2", "expected a value here, not '*'; for x ** y write pow(x, y)"},
    {"y += x", "expected '=' here, not '+'; for y += x write y = y + x"},
    {"y = sum(x)", "no function \"sum\"|tdm_kernel_rows"},
    {"y = softplus(x)", "no function \"softplus\": write max(x, 0) + log1p(exp(-abs(x)))"},
    {"y = 0x", "this is not a number"},
    {"y = 1.2.3", "this is not a number"},
    {"y = 1e999 * x", "too large for f64"},
    {"y = 9223372036854775808", "the number is too large"},
    {"y = x + b", "the parameter s is not used"},
    {"y = x ? b", "expected ':' here"},
    {"y = x y", "the statement should end here, not go on with 'y'"},
    {"t = x + b * s", "no statement gives a tensor a value"},
};

static tdm_status make(const char *text, int dtype, tdm_kernel **kernel) {
    const tdm_parameter parameters[] = {TDM_TENSOR_OF("x", dtype), TDM_TENSOR("b"), TDM_NUMBER("s"),
                                        TDM_TENSOR("y")};
    return tdm_kernel_elementwise(device, text, parameters, 4, kernel);
}

Test(expression_refusals, texts) {
    tdm_kernel *kernel;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_case("%s", texts[i].text);
        REFUSED(make(texts[i].text, TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE, texts[i].words);
        CHECK(!kernel, "there is a kernel all the same");
    }
}

/* Errors that depend on dtypes are reported at once where they are known, else as soon as they are. */
Test(expression_refusals, types) {
    static const char text[] = "y = (x & 1) + b * s";
    tdm_kernel *kernel;
    check_case("%s", text);
    REFUSED(make(text, TDM_F32, &kernel), TDM_ERROR_COMPILE, "column 8|& does not take f32");
    REFUSED(make("y = x ^ 2.0", TDM_F32, &kernel), TDM_ERROR_COMPILE,
            "^ does not take f32; a power is pow(x, y)");
    REFUSED(make("y = x / b << 1 ^ s", TDM_F32, &kernel), TDM_ERROR_COMPILE,
            "<< does not take f32");
    REFUSED(make("y = (x & 1) + b * s + c", TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE,
            "no name \"c\"");
    REFUSED(make("y = (x & 1) * s + u64(b) * i64(b)", TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE,
            "u64 and i64 have no common type");
    if (!OK(make(text, TDM_ANY_DTYPE, &kernel))) return;
    array *x = array_1d(TDM_F32, 8), *b = array_1d(TDM_F32, 8), *y = array_1d(TDM_F32, 8);
    tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("b", &b->t),
                                TDM_WITH_NUMBER("s", 1), TDM_WITH_TENSOR("y", &y->t)};
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 4), TDM_ERROR_COMPILE,
            "tdm_kernel_run: line 1, column 8|& does not take f32");
    tdm_kernel_release(kernel);
    REFUSED(make("y = x + b + (u64(s) - i64(s))", TDM_F32, &kernel), TDM_ERROR_COMPILE,
            "column 21|u64 and i64 have no common type");
    array_free_all();
}

Test(expression_refusals, deep_and_long) {
    enum { DEEP = 100000 };
    tdm_kernel *kernel;
    char *text = malloc(2 * DEEP + 64);
    if (!text) abort();
    check_case("100000 parentheses");
    strcpy(text, "y = x + b * s + ");
    memset(text + strlen(text), '(', DEEP / 2);
    text[16 + DEEP / 2] = '\0';
    REFUSED(make(text, TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE, "nested too deep");
    check_case("100000 signs");
    memset(text + 16, '-', DEEP / 2);
    REFUSED(make(text, TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE, "nested too deep");
    check_case("a text of 200000 bytes");
    memset(text, ' ', 2 * DEEP);
    text[2 * DEEP] = '\0';
    REFUSED(make(text, TDM_ANY_DTYPE, &kernel), TDM_ERROR_UNSUPPORTED, "longer than 65536 bytes");
    check_case("many operations");
    strcpy(text, "y = b * s + x");
    for (int i = 0; i < 600; i++)
        sprintf(text + strlen(text), " + x / %d", i + 2);
    REFUSED(make(text, TDM_ANY_DTYPE, &kernel), TDM_ERROR_COMPILE, "more than 512 operations");
    free(text);
}

Test(expression_refusals, parameters) {
    tdm_kernel *kernel;
    const tdm_parameter good[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    tdm_parameter many[30];
    char names[30][8];
    check_case("parameters");
#define REFUSED_PARAMETERS(wanted, words, ...)                                                     \
    REFUSED(                                                                                       \
        tdm_kernel_elementwise(device, "y = x", (const tdm_parameter[]){__VA_ARGS__}, 2, &kernel), \
        wanted, words)
    REFUSED(tdm_kernel_elementwise(NULL, "y = x", good, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "device is NULL");
    REFUSED(tdm_kernel_elementwise(device, NULL, good, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "text is NULL");
    REFUSED(tdm_kernel_elementwise(device, "y = x", good, 2, NULL), TDM_ERROR_INVALID_ARGUMENT,
            "kernel is NULL");
    REFUSED(tdm_kernel_elementwise(device, "y = x", NULL, 2, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "no parameters");
    REFUSED(tdm_kernel_elementwise(device, "y = x", good, 0, &kernel), TDM_ERROR_INVALID_ARGUMENT,
            "no parameters");
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_ARGUMENT, "name of parameters[1] is NULL", good[0],
                       TDM_TENSOR(NULL));
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_ARGUMENT, "both named x", good[0], good[0]);
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_ARGUMENT, "\"2x\" is not a name", good[1],
                       TDM_TENSOR("2x"));
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_ARGUMENT, "\"exp\" is a name of the language's own",
                       good[1], TDM_TENSOR("exp"));
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_DTYPE, "dtype of x is 99", good[1],
                       TDM_TENSOR_OF("x", 99));
    REFUSED_PARAMETERS(TDM_ERROR_INVALID_ARGUMENT, "kind of x is 7", good[1],
                       {"x", (tdm_parameter_kind)7, 0});
    for (int i = 0; i < 30; i++) {
        sprintf(names[i], "p%d", i);
        many[i] = (tdm_parameter)TDM_TENSOR(names[i]);
    }
    REFUSED(tdm_kernel_elementwise(device, "p0 = p1", many, 13, &kernel), TDM_ERROR_UNSUPPORTED,
            "13 are tensors|at most 12 tensors");
    REFUSED(tdm_kernel_elementwise(device, "p0 = p1", many, 30, &kernel), TDM_ERROR_UNSUPPORTED,
            "there are 30 parameters");
}

Test(expression_refusals, arguments) {
    tdm_kernel *kernel;
    if (!OK(make("y = x * s + b", TDM_F32, &kernel))) return;
    array *x = array_2d(TDM_F32, 4, 6, 6), *b = array_1d(TDM_F32, 6),
          *y = array_2d(TDM_F32, 4, 6, 6);
    array *odd = array_1d(TDM_F32, 5), *wide = array_2d(TDM_I32, 4, 6, 6);
    tdm_argument arguments[5] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("b", &b->t),
                                 TDM_WITH_NUMBER("s", 1), TDM_WITH_TENSOR("y", &y->t),
                                 TDM_WITH_NUMBER("s", 1)};
    array_uniform(x, -1, 1);
    array_uniform(b, -1, 1);
    array_uniform(y, -1, 1);
    check_case("arguments");
    REFUSED(tdm_kernel_run(NULL, kernel, arguments, 4), TDM_ERROR_INVALID_ARGUMENT,
            "queue is NULL");
    REFUSED(tdm_kernel_run(queue, NULL, arguments, 4), TDM_ERROR_INVALID_ARGUMENT,
            "kernel is NULL");
    REFUSED(tdm_kernel_run(queue, kernel, NULL, 4), TDM_ERROR_INVALID_ARGUMENT,
            "arguments is NULL");
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 3), TDM_ERROR_INVALID_ARGUMENT,
            "no argument for y");
    REFUSED(tdm_kernel_run(queue, kernel, arguments + 1, 4), TDM_ERROR_INVALID_ARGUMENT,
            "two arguments named s");
#define REFUSED_WITH(which, wanted, words, ...)                                                    \
    do {                                                                                           \
        const tdm_argument kept = arguments[which];                                                \
        arguments[which] = (tdm_argument)__VA_ARGS__;                                              \
        REFUSED(tdm_kernel_run(queue, kernel, arguments, 4), wanted, words);                       \
        arguments[which] = kept;                                                                   \
    } while (0)
    REFUSED_WITH(1, TDM_ERROR_INVALID_ARGUMENT, "no parameter \"c\"", TDM_WITH_TENSOR("c", &b->t));
    REFUSED_WITH(1, TDM_ERROR_INVALID_ARGUMENT, "arguments[1] has no name",
                 TDM_WITH_TENSOR(NULL, &b->t));
    REFUSED_WITH(1, TDM_ERROR_INVALID_ARGUMENT, "b is a tensor of the kernel",
                 TDM_WITH_NUMBER("b", 1));
    REFUSED_WITH(2, TDM_ERROR_INVALID_ARGUMENT, "s is a number of the kernel",
                 TDM_WITH_TENSOR("s", &b->t));
    REFUSED_WITH(2, TDM_ERROR_INVALID_ARGUMENT,
                 "s is a number of the kernel, but its argument is an integer",
                 TDM_WITH_INTEGER("s", 3));
    REFUSED_WITH(0, TDM_ERROR_INVALID_DTYPE, "dtype of x is i32|made for f32",
                 TDM_WITH_TENSOR("x", &wide->t));
    REFUSED_WITH(1, TDM_ERROR_INVALID_SHAPE, "shape of b is [5]|broadcast to that of y, [4, 6]",
                 TDM_WITH_TENSOR("b", &odd->t));
    tdm_tensor view = y->t;
    view.shape[0] = 3;
    view.offset += 6;
    REFUSED_WITH(0, TDM_ERROR_OVERLAP, "y overlaps x|only exactly the same view",
                 TDM_WITH_TENSOR("x", &view));
    view = y->t;
    view.strides[0] = 0;
    REFUSED_WITH(3, TDM_ERROR_OVERLAP, "strides of y", TDM_WITH_TENSOR("y", &view));
    tdm_tensor outside = x->t;
    outside.shape[0] = 1000;
    REFUSED_WITH(0, TDM_ERROR_OUT_OF_RANGE, "x [1000, 6] reaches", TDM_WITH_TENSOR("x", &outside));
    ARRAY_SAME(x);
    ARRAY_SAME(y);
    tdm_buffer_freeze(y->t.buffer);
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 4), TDM_ERROR_READ_ONLY, "y");
    tdm_kernel_release(kernel);
    array_free_all();
}

/* A zero has no kind. */
Test(expression_refusals, integers) {
    const tdm_parameter parameters[] = {TDM_INTEGER("k"), TDM_NUMBER("s"), TDM_TENSOR("y")};
    tdm_kernel *kernel;
    array *y = array_1d(TDM_F32, 8);
    array_constant(y, 7);
    check_case("integers");
    if (!OK(tdm_kernel_elementwise(device, "y = k + s", parameters, 3, &kernel))) return;
    tdm_argument arguments[] = {TDM_WITH_NUMBER("k", 0.5), TDM_WITH_NUMBER("s", 0),
                                TDM_WITH_TENSOR("y", &y->t)};
    REFUSED(tdm_kernel_run(queue, kernel, arguments, 3), TDM_ERROR_INVALID_ARGUMENT,
            "k is an integer of the kernel, but its argument is a number");
    ARRAY_SAME(y);
    arguments[0] = (tdm_argument)TDM_WITH_NUMBER("k", 0);
    arguments[1] = (tdm_argument)TDM_WITH_INTEGER("s", 0);
    if (OK(tdm_kernel_run(queue, kernel, arguments, 3))) ARRAY_CHECK(y, ((double[8]){0}), NULL);
    tdm_kernel_release(kernel);
    array_free_all();
}
