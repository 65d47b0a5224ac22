/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels in the dialect: refusals before a compiler runs, and their messages. */
#include <criterion/criterion.h>
#include <string.h>

#include "suite/source_call.h"

TestSuite(source_refusals, .init = device_open, .fini = device_close, TAGS("compiler compiled"));

static const char text[] = "KERNEL(copy)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
                           "        FOR_LANES(j, 0, COLS)\n        {\n"
                           "            ROW(y, row)[j] = ROW(x, row)[j];\n        }\n    }\n}\n";

static const tdm_parameter good[] = {TDM_TENSOR("x"), TDM_OUTPUT("y"), TDM_NUMBER("s")};

Test(source_refusals, making) {
    tdm_kernel *kernel;
    static char long_text[70000];
    memset(long_text, ' ', sizeof long_text - 1);
    check_case("making");
#define REFUSED_SOURCE(status, words, device, text, file, entry, parameters, count)                \
    REFUSED(tdm_kernel_source(device, text, file, entry, parameters, count, &kernel), status,      \
            words);                                                                                \
    CHECK(!kernel, "there is a kernel all the same")
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    REFUSED_SOURCE(invalid, "device is NULL", NULL, text, "f", "copy", good, 3);
    REFUSED_SOURCE(invalid, "text is NULL", device, NULL, "f", "copy", good, 3);
    REFUSED_SOURCE(invalid, "file is NULL", device, text, NULL, "copy", good, 3);
    REFUSED_SOURCE(invalid, "entry is NULL", device, text, "f", NULL, good, 3);
    REFUSED_SOURCE(invalid, "there are no parameters", device, text, "f", "copy", NULL, 0);
    REFUSED_SOURCE(invalid, "name of file|1 to 127", device, text, "", "copy", good, 3);
    REFUSED_SOURCE(invalid, "quotation mark", device, text, "a\"b", "copy", good, 3);
    REFUSED_SOURCE(invalid, "control", device, text, "a\nb", "copy", good, 3);
    REFUSED_SOURCE(invalid, "entry is \"3d\"", device, text, "f", "3d", good, 3);
    REFUSED_SOURCE(TDM_ERROR_COMPILE, "f.cl has no KERNEL(kopy)", device, text, "f.cl", "kopy",
                   good, 3);
    REFUSED_SOURCE(TDM_ERROR_COMPILE, "no KERNEL(cop)", device, text, "f.cl", "cop", good, 3);
    REFUSED_SOURCE(TDM_ERROR_UNSUPPORTED, "longer than 65536", device, long_text, "f", "copy", good,
                   3);
    REFUSED(tdm_kernel_source(device, text, "f", "copy", good, 3, NULL), invalid, "kernel is NULL");
}

Test(source_refusals, parameters) {
    tdm_kernel *kernel;
    static const struct {
        const char *name, *words;
    } names[] = {{"3x", "a letter or _"},      {"x y", "a letter or _"},
                 {"", "a letter or _"},        {"tdm_x", "the dialect's own"},
                 {"__x", "the dialect's own"}, {"half", "a word of the kernels' languages"},
                 {"float", "a word of"},       {"this", "a word of"},
                 {"args", "a word of"},        {"T", "a macro of the kernel dialect"},
                 {"LANES", "a macro"},         {"SUM_BLOCK", "a macro"},
                 {"ROWS", "a macro"},          {"FOR_LANES", "a macro"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tdm_parameter parameters[] = {TDM_TENSOR(names[i].name), TDM_OUTPUT("y")};
        check_case("a parameter named \"%s\"", names[i].name);
        REFUSED_SOURCE(TDM_ERROR_INVALID_ARGUMENT, names[i].words, device, text, "f", "copy",
                       parameters, 2);
    }
    const tdm_parameter twins[] = {TDM_TENSOR("x"), TDM_OUTPUT("x")};
    const tdm_parameter inputs[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_parameter odd[] = {{"x", (tdm_parameter_kind)77, TDM_ANY_DTYPE}, TDM_OUTPUT("y")};
    const tdm_parameter untyped[] = {TDM_TENSOR("x"), TDM_OUTPUT_OF("y", 99)};
    const tdm_parameter many[] = {TDM_TENSOR("a"), TDM_TENSOR("b"), TDM_TENSOR("c"),
                                  TDM_TENSOR("d"), TDM_TENSOR("e"), TDM_TENSOR("f"),
                                  TDM_TENSOR("g"), TDM_TENSOR("h"), TDM_TENSOR("i"),
                                  TDM_TENSOR("j"), TDM_OUTPUT("k")};
    check_case("parameters");
    REFUSED_SOURCE(TDM_ERROR_INVALID_ARGUMENT, "both named x", device, text, "f", "copy", twins, 2);
    REFUSED_SOURCE(TDM_ERROR_INVALID_ARGUMENT, "none of the parameters is an output", device, text,
                   "f", "copy", inputs, 2);
    REFUSED_SOURCE(TDM_ERROR_INVALID_ARGUMENT, "the kind of x is 77", device, text, "f", "copy",
                   odd, 2);
    REFUSED_SOURCE(TDM_ERROR_INVALID_DTYPE, "the dtype of y is 99", device, text, "f", "copy",
                   untyped, 2);
    REFUSED_SOURCE(TDM_ERROR_UNSUPPORTED, "11 are tensors|at most 10 tensors", device, text, "f",
                   "copy", many, 11);
    if (OK(tdm_kernel_source(device, text, "f", "copy", many + 1, 10, &kernel)))
        tdm_kernel_release(kernel);
    const tdm_parameter wide[] = {
        TDM_TENSOR("a"), TDM_TENSOR("b"), TDM_TENSOR("c"), TDM_TENSOR("d"), TDM_TENSOR("e"),
        TDM_TENSOR("f"), TDM_TENSOR("g"), TDM_TENSOR("h"), TDM_TENSOR("i"), TDM_OUTPUT("k"),
        TDM_NUMBER("l"), TDM_NUMBER("m"), TDM_NUMBER("n"), TDM_NUMBER("o"), TDM_INTEGER("p")};
    REFUSED_SOURCE(TDM_ERROR_UNSUPPORTED, "904 bytes of arguments, allowed are 896", device, text,
                   "f", "copy", wide, 15);
    const tdm_parameter outputs[] = {TDM_TENSOR("x"), TDM_OUTPUT("y")};
    REFUSED(tdm_kernel_elementwise(device, "y = x", outputs, 2, &kernel),
            TDM_ERROR_INVALID_ARGUMENT, "TDM_PARAMETER_OUTPUT|TDM_TENSOR");
}

/* None of these needs the kernel to be compiled. */
Test(source_refusals, arguments) {
    array *x = array_2d(TDM_F32, 4, 6, 6), *y = array_2d(TDM_F32, 4, 6, 6);
    array *half = array_2d(TDM_F16, 4, 6, 6), *whole = array_2d(TDM_I32, 4, 6, 6);
    const given right[] = {IN("x", x), OUT("y", y), NUMBER("s", 1)};
    tdm_kernel *kernel;
    if (!OK(make_source(text, "copy", right, 3, &kernel))) return;
    tdm_tensor columns = x->t, apart, same = y->t, wide;
    columns.shape[0] = 6;
    columns.shape[1] = 4;
    columns.strides[0] = 1;
    columns.strides[1] = 6;
    apart = x->t;
    apart.ndim = 3;
    apart.shape[0] = apart.shape[1] = 2;
    apart.shape[2] = 3;
    apart.strides[0] = 6;
    apart.strides[1] = 18;
    apart.strides[2] = 1;
    wide = y->t;
    wide.strides[0] = 3;
    check_case("arguments");
#define REFUSED_RUN(status, words, ...)                                                            \
    REFUSED(tdm_kernel_run(queue, kernel, (const tdm_argument[]){__VA_ARGS__},                     \
                           sizeof((const tdm_argument[]){__VA_ARGS__}) / sizeof(tdm_argument)),    \
            status, words)
#define X TDM_WITH_TENSOR("x", &x->t)
#define Y TDM_WITH_TENSOR("y", &y->t)
#define S TDM_WITH_NUMBER("s", 1)
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT, "no argument for s", X, Y);
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT, "no parameter \"z\"", X, Y, TDM_WITH_NUMBER("z", 1));
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT, "two arguments named x", X, X, S);
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT, "s is a number of the kernel", X, Y,
                TDM_WITH_TENSOR("s", &x->t));
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT,
                "s is a number of the kernel, but its argument is an integer", X, Y,
                TDM_WITH_INTEGER("s", 1));
    REFUSED_RUN(TDM_ERROR_INVALID_ARGUMENT, "y is a tensor of the kernel", X,
                TDM_WITH_NUMBER("y", 1), S);
    REFUSED_RUN(TDM_ERROR_INVALID_DTYPE, "the dtype of y is f16, but that of x is f32", X,
                TDM_WITH_TENSOR("y", &half->t), S);
    REFUSED_RUN(TDM_ERROR_INVALID_DTYPE, "the dtype of x is i32", TDM_WITH_TENSOR("x", &whole->t),
                Y, S);
    REFUSED_RUN(TDM_ERROR_OVERLAP, "y overlaps x", X, TDM_WITH_TENSOR("y", &x->t), S);
    REFUSED_RUN(TDM_ERROR_OVERLAP, "y overlaps x", TDM_WITH_TENSOR("x", &same), Y, S);
    REFUSED_RUN(TDM_ERROR_OVERLAP, "strides of y", X, TDM_WITH_TENSOR("y", &wide), S);
    REFUSED_RUN(TDM_ERROR_UNSUPPORTED, "the rows of x have stride 6, it must be 1",
                TDM_WITH_TENSOR("x", &columns), Y, S);
    REFUSED_RUN(TDM_ERROR_UNSUPPORTED, "the rows of x have no common stride",
                TDM_WITH_TENSOR("x", &apart), Y, S);
    OK(tdm_queue_finish(queue));
    tdm_buffer_freeze(y->t.buffer);
    REFUSED_RUN(TDM_ERROR_READ_ONLY, "the buffer of y is read-only", X, Y, S);
    tdm_kernel_release(kernel);
    array_free_all();
}

/* A parameter's own dtype. */
Test(source_refusals, dtypes) {
    array *x = array_1d(TDM_F32, 4), *y = array_1d(TDM_I32, 4);
    const given right[] = {IN_OF("x", x), OUT_OF("y", y)};
    tdm_kernel *kernel;
    if (!OK(make_source(text, "copy", right, 2, &kernel))) return;
    check_case("a parameter's own dtype");
    REFUSED_RUN(TDM_ERROR_INVALID_DTYPE, "the dtype of x is i32, but the kernel was made for f32",
                TDM_WITH_TENSOR("x", &y->t), Y);
    tdm_kernel_release(kernel);
    array_free_all();
}
