/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels of random texts: each is refused with the place of the error, or runs. TDM_TEST_TEXTS is how
 * many are tried. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(expression_texts, .init = device_open, .fini = device_close);

enum { MOST_BYTES = 2048 };

static const char *const words[] = {
    "x",      "b",     "s",     "k",   "y",    "t",     "u",     "index",  "row",
    "column", "pi",    "inf",   "nan", "true", "false", "exp",   "log",    "min",
    "max",    "where", "clamp", "fma", "pow",  "gelu",  "isnan", "sqrt",   "bool",
    "i32",    "u32",   "i64",   "u64", "f32",  "f64",   "abs",   "sign",   "round",
    "0",      "1",     "2",     "0.5", "1e-3", "1e40",  "0x1F",  "7",      "1000000000000",
    "255",    ".5",    "3.",    "1e",  "0x",   "12ab",  "+",     "-",      "*",
    "/",      "%",     "~",     "!",   "<<",   ">>",    "<",     "<=",     ">",
    ">=",     "==",    "!=",    "&",   "^",    "|",     "&&",    "||",     "?",
    ":",      "(",     ")",     ",",   "=",    ";",     "\n",    "// s\n", "$",
    "\"",     "\xc3",  "\xff",  "\t",  "y = ", "t = ",  "z",     "xx"};

static const char *any_word(void) {
    return words[random_integer(0, (int64_t)(sizeof words / sizeof *words) - 1)];
}

static void append(char *text, const char *more) {
    const size_t used = strlen(text);
    snprintf(text + used, MOST_BYTES - used, "%s", more);
}

/* Right as far as grammar goes; not always in types. */
static void append_value(char *text, int depth) {
    static const char *const operands[] = {"x", "b",    "s",    "k",     "index",
                                           "2", "0.25", "true", "column"};
    static const char *const operators[] = {" + ",  " - ", " * ",  " / ",  " % ", " < ",
                                            " == ", " & ", " << ", " || ", " ^ "};
    static const char *const unary[] = {"-",   "!",   "~",    "exp", "i32",
                                        "f32", "abs", "sqrt", "u64", "relu"};
    const int64_t kind = depth <= 0 ? 0 : random_integer(0, 5);
    if (kind <= 1) {
        append(text, operands[random_integer(0, 8)]);
    } else if (kind <= 3) {
        append(text, "(");
        append_value(text, depth - 1);
        append(text, operators[random_integer(0, 10)]);
        append_value(text, depth - 1);
        append(text, ")");
    } else if (kind == 4) {
        append(text, unary[random_integer(0, 9)]);
        append(text, "(");
        append_value(text, depth - 1);
        append(text, ")");
    } else {
        append(text, "where(");
        append_value(text, depth - 1);
        append(text, ", ");
        append_value(text, depth - 1);
        append(text, ", ");
        append_value(text, depth - 1);
        append(text, ")");
    }
}

static void change(char *text) {
    const size_t length = strlen(text);
    const size_t at = (size_t)random_integer(0, (int64_t)length);
    const char *word = any_word();
    const size_t size = strlen(word);
    switch (random_integer(0, 3)) {
    case 0: /* a byte */
        if (at < length) text[at] = (char)random_integer(1, 255);
        break;
    case 1: /* cut out */
        if (at < length) {
            const size_t end = at + (size_t)random_integer(1, 8);
            const char *rest = text + (end < length ? end : length);
            memmove(text + at, rest, strlen(rest) + 1);
        }
        break;
    default: /* put in */
        if (length + size + 1 >= MOST_BYTES) break;
        memmove(text + at + size, text + at, length - at + 1);
        memcpy(text + at, word, size);
    }
}

static void random_text(char *text) {
    text[0] = '\0';
    if (random_integer(0, 4) == 0) {
        for (int64_t i = random_integer(0, 40); i > 0; i--) {
            append(text, any_word());
            if (random_bits() & 1) append(text, " ");
        }
        return;
    }
    append(text, "t = ");
    append_value(text, (int)random_integer(0, 5));
    append(text, "; y = t + x * s + b * k + ");
    append_value(text, (int)random_integer(0, 6));
    for (int64_t i = random_integer(0, 3) == 0 ? 0 : random_integer(0, 4); i > 0; i--)
        change(text);
}

typedef struct sample {
    array *x, *b, *y;
    tdm_parameter parameters[5];
    tdm_argument arguments[5];
} sample;

static sample make_sample(void) {
    static const tdm_dtype several[] = {TDM_F32,  TDM_I32, TDM_U8, TDM_U64,
                                        TDM_BOOL, TDM_F16, TDM_I64};
    const tdm_dtype x = several[random_integer(0, 6)], b = several[random_integer(0, 6)];
    sample made = {.x = array_1d(x, 37), .b = array_1d(b, 37)};
    made.y = array_1d(several[random_integer(0, 6)], 37);
    array_integers(made.x, 0, 1);
    array_integers(made.b, 0, 1);
    memcpy(made.parameters,
           (const tdm_parameter[]){TDM_TENSOR("x"), TDM_TENSOR("b"), TDM_NUMBER("s"),
                                   TDM_INTEGER("k"), TDM_TENSOR("y")},
           sizeof made.parameters);
    memcpy(made.arguments,
           (const tdm_argument[]){TDM_WITH_TENSOR("x", &made.x->t),
                                  TDM_WITH_TENSOR("b", &made.b->t), TDM_WITH_NUMBER("s", 0.5),
                                  TDM_WITH_INTEGER("k", 3), TDM_WITH_TENSOR("y", &made.y->t)},
           sizeof made.arguments);
    return made;
}

/* A refusal names a place. */
static bool is_refusal(tdm_status status) {
    return status == TDM_ERROR_COMPILE && strstr(tdm_last_error(), ": line ") &&
           strstr(tdm_last_error(), ", column ");
}

Test(expression_texts, random) {
    enum {
        FEW = 20000,
        AT_ONCE = 500,
        MOST_RUNS = 20000
    }; /* each run leaves a program with the device */
    const char *wanted = getenv("TDM_TEST_TEXTS");
    const bool compiles = tdm_device_get_info(device)->backend != TDM_CPU;
    const long count = wanted ? atol(wanted) : FEW;
    long made = 0, run = 0;
    char text[MOST_BYTES];
    sample with = {0};
    for (long i = 0; i < count; i++) {
        if (i % AT_ONCE == 0) {
            array_free_all();
            with = make_sample();
        }
        tdm_kernel *kernel;
        random_text(text);
        check_case("%s", text);
        tdm_status status = tdm_kernel_elementwise(device, text, with.parameters, 5, &kernel);
        CHECK(status == TDM_OK || is_refusal(status), "%s: %s", tdm_status_name(status),
              tdm_last_error());
        if (status != TDM_OK) continue;
        made++;
        /* a compiler takes its time, and the text has been read by now */
        if (!compiles && made < MOST_RUNS) {
            status = tdm_kernel_run(queue, kernel, with.arguments, 5);
            CHECK(status == TDM_OK || is_refusal(status), "%s: %s", tdm_status_name(status),
                  tdm_last_error());
            run += status == TDM_OK;
        }
        tdm_kernel_release(kernel);
    }
    printf("%ld texts, %ld kernels, %ld runs\n", count, made, run);
    CHECK(made > count / 20, "only %ld of %ld texts were kernels", made, count);
    array_free_all();
}
