/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels of expressions: every function and operator, dtypes, layouts, several outputs. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/bounds.h"
#include "suite/expression_call.h"
#include "support/array.h"

TestSuite(expressions, .init = device_open, .fini = device_close, TAGS("texts"));

/* ---- functions ---- */

typedef struct function {
    const char *text; /* of A and B, for Y */
    long double (*value)(long double a, long double b);
    double low, high; /* of a and b */
    double ulp;       /* the largest error; 0: that of the function, by function_errors.h */
} function;

#define UNARY(name, value)                                                                         \
    static long double name(long double a, long double b) {                                        \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
#define BINARY(name, value)                                                                        \
    static long double name(long double a, long double b) { return value; }
UNARY(ref_sqrt, sqrtl(a))
UNARY(ref_rsqrt, 1 / sqrtl(a))
UNARY(ref_exp, expl(a))
UNARY(ref_exp2, exp2l(a))
UNARY(ref_expm1, expm1l(a))
UNARY(ref_log, logl(a))
UNARY(ref_log2, log2l(a))
UNARY(ref_log10, log10l(a))
UNARY(ref_log1p, log1pl(a))
UNARY(ref_sin, sinl(a))
UNARY(ref_cos, cosl(a))
UNARY(ref_tan, tanl(a))
UNARY(ref_asin, asinl(a))
UNARY(ref_acos, acosl(a))
UNARY(ref_atan, atanl(a))
UNARY(ref_sinh, sinhl(a))
UNARY(ref_cosh, coshl(a))
UNARY(ref_tanh, tanhl(a))
UNARY(ref_erf, erfl(a))
UNARY(ref_erfc, erfcl(a))
UNARY(ref_floor, floorl(a))
UNARY(ref_ceil, ceill(a))
UNARY(ref_round, rintl(a))
UNARY(ref_trunc, truncl(a))
UNARY(ref_abs, fabsl(a))
UNARY(ref_sign, (a > 0) - (a < 0))
UNARY(ref_relu, a > 0 ? a : 0)
UNARY(ref_sigmoid, 1 / (1 + expl(-a)))
UNARY(ref_silu, a / (1 + expl(-a)))
UNARY(ref_square, a *a)
BINARY(ref_add, a + b)
BINARY(ref_sub, a - b)
BINARY(ref_mul, a *b)
BINARY(ref_div, a / b)
BINARY(ref_rem, fmodl(a, b))
BINARY(ref_pow, powl(a, b))
BINARY(ref_atan2, atan2l(a, b))
BINARY(ref_min, a < b ? a : b)
BINARY(ref_max, a > b ? a : b)
BINARY(ref_fma, a *b + a)
BINARY(ref_clamp, a<-1 ? -1 : a> b *b ? b *b : a)
BINARY(ref_less, a < b)
BINARY(ref_choice, a < b ? a : b * 2)

static const function functions[] = {
    {"Y = sqrt(A)", ref_sqrt, 0, 1e6, 0},
    {"Y = rsqrt(A)", ref_rsqrt, 1e-3, 1e6, 0},
    {"Y = exp(A)", ref_exp, -85, 88, 0},
    {"Y = exp2(A)", ref_exp2, -120, 120, 0},
    {"Y = expm1(A)", ref_expm1, -5, 5, 0},
    {"Y = log(A)", ref_log, 1e-30, 2, 0},
    {"Y = log(A)", ref_log, 0.9, 1.1, 0},
    {"Y = log2(A)", ref_log2, 1e-30, 1e5, 0},
    {"Y = log10(A)", ref_log10, 1e-30, 1e5, 0},
    {"Y = log1p(A)", ref_log1p, -0.9, 10, 0},
    {"Y = sin(A)", ref_sin, -100, 100, 0},
    {"Y = cos(A)", ref_cos, -100, 100, 0},
    {"Y = tan(A)", ref_tan, -1.5, 1.5, 0},
    {"Y = asin(A)", ref_asin, -1, 1, 0},
    {"Y = acos(A)", ref_acos, -1, 1, 0},
    {"Y = atan(A)", ref_atan, -50, 50, 0},
    {"Y = sinh(A)", ref_sinh, -20, 20, 0},
    {"Y = cosh(A)", ref_cosh, -20, 20, 0},
    {"Y = tanh(A)", ref_tanh, -10, 10, 0},
    {"Y = erf(A)", ref_erf, -4, 4, 0},
    {"Y = erfc(A)", ref_erfc, -3, 3, 0},
    {"Y = floor(A)", ref_floor, -1000, 1000, 0},
    {"Y = ceil(A)", ref_ceil, -1000, 1000, 0},
    {"Y = round(A)", ref_round, -1000, 1000, 0},
    {"Y = trunc(A)", ref_trunc, -1000, 1000, 0},
    {"Y = abs(A)", ref_abs, -10, 10, 0},
    {"Y = sign(A)", ref_sign, -10, 10, 0},
    {"Y = relu(A)", ref_relu, -10, 10, 0},
    {"Y = sigmoid(A)", ref_sigmoid, -5, 20, 0},
    {"Y = silu(A)", ref_silu, -5, 20, 0},
    {"Y = pow(A, 2)", ref_square, -10, 10, 1},
    {"Y = A + B", ref_add, -10, 10, 1},
    {"Y = A - B", ref_sub, -10, 10, 1},
    {"Y = A * B", ref_mul, -10, 10, 1},
    {"Y = A / B", ref_div, 1, 10, 3},
    {"Y = A % B", ref_rem, 1, 10, 1},
    {"Y = pow(A, B)", ref_pow, 0.1, 5, 0},
    {"Y = atan2(A, B)", ref_atan2, -5, 5, 0},
    {"Y = min(A, B)", ref_min, -5, 5, 0},
    {"Y = max(A, B)", ref_max, -5, 5, 0},
    {"Y = fma(A, B, A)", ref_fma, 0.5, 5, 1},
    {"Y = clamp(A, -1, B * B)", ref_clamp, -5, 5, 1},
    {"Y = A < B", ref_less, -5, 5, 0},
    {"Y = A < B ? A : B * 2", ref_choice, -5, 5, 1},
};

enum { N = 1777, TOGETHER = 4 };

static array *random_array(tdm_dtype dtype, const function *tested) {
    array *made = array_1d(dtype, N);
    array_uniform(made, tested->low, tested->high);
    return made;
}

static void find_wanted(const function *tested, tdm_dtype dtype, array *const *arrays, double *want,
                        double *bound) {
    const double eps = dtype == TDM_F64 ? 0x1p-52 : 0x1p-23;
    const double ulp =
        tested->ulp > 0 ? tested->ulp : function_error(tested->text + strlen("Y = "));
    for (int i = 0; i < N; i++) {
        want[i] = (double)tested->value(arrays[0]->v[i], arrays[1]->v[i]);
        bound[i] = fabs(want[i]) * ulp * eps;
        if (dtype == TDM_F16 || dtype == TDM_BF16) bound[i] += half_ulp(dtype, want[i]) * 1.001;
        /* near its zeros a function's error is that of its argument's reduction */
        if (tested->value == ref_sin || tested->value == ref_cos) bound[i] += eps;
    }
}

/* Several of them in one kernel, as a compiler takes its time for each. */
static void check_functions(const function *const *tested, int count, tdm_dtype dtype) {
    static const char letters[] = "abcdefghijkl";
    array *arrays[3 * TOGETHER] = {NULL};
    double *want[TOGETHER], *bound[TOGETHER];
    char text[512] = "", names[3 * TOGETHER + 1] = "";
    size_t used = 0;
    for (int f = 0; f < count; f++) {
        array **own = arrays + 3 * f;
        own[0] = random_array(dtype, tested[f]);
        own[1] = random_array(dtype, tested[f]);
        own[2] = array_1d(dtype, N);
        for (const char *c = tested[f]->text; *c; c++) {
            const char *place = strchr("ABY", *c);
            text[used++] = place ? letters[3 * f + (place - "ABY")] : *c;
        }
        /* each parameter is used */
        used += (size_t)sprintf(text + used, "\nu%d = %c\n", f, letters[3 * f + 1]);
        memcpy(names + 3 * f, letters + 3 * f, 4);
        names[3 * f + 3] = '\0';
        want[f] = numbers(N);
        bound[f] = numbers(N);
        find_wanted(tested[f], dtype, own, want[f], bound[f]);
    }
    check_case("%s", text);
    const bool done = run(text, arrays, names, NO_NUMBER, 0);
    for (int f = 0; f < count && done; f++) {
        check_case("%s in %s", tested[f]->text, tdm_dtype_name(dtype));
        array *y = arrays[3 * f + 2];
        ARRAY_CHECK(y, want[f], bound[f]);
    }
    array_free_all();
}

/* Each function in f32 and f64, and some in 16 bits, where the result is rounded once more. */
Test(expressions, functions, TAGS("lanes")) {
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const bool narrow = dtype == TDM_F16 || dtype == TDM_BF16;
        const function *tested[TOGETHER];
        int count = 0;
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            if (compiles() && f % (dtype != TDM_F32 ? 4 : small ? 2 : 1) != 0) continue;
            if (narrow && (f % 4 != 0 || functions[f].high > 1000 || functions[f].low < -10))
                continue;
            tested[count++] = &functions[f];
            if (count < TOGETHER) continue;
            check_functions(tested, count, dtype);
            count = 0;
        }
        if (count > 0) check_functions(tested, count, dtype);
    }
}

/* NaN, infinities and zeros, and the functions that detect them. */
Test(expressions, special_values, TAGS("compiled")) {
    enum { FEW = 5 };
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double given[FEW] = {nan, inf, -inf, 0.0, 1.0};
    static const struct {
        const char *text;
        double want[FEW];
    } cases[] = {{"y = exp(a)", {NAN, INFINITY, 0, 1, M_E}},
                 {"y = log(a)", {NAN, INFINITY, NAN, -INFINITY, 0}},
                 {"y = max(a, 0)", {NAN, INFINITY, 0, 0, 1}},
                 {"y = min(0, a)", {NAN, 0, -INFINITY, 0, 0}},
                 {"y = clamp(a, 0, 0.5)", {NAN, 0.5, 0, 0, 0.5}},
                 {"y = relu(a)", {NAN, INFINITY, 0, 0, 1}},
                 {"y = tanh(a)", {NAN, 1, -1, 0, 0.76159415595576488812}},
                 {"y = isnan(a)", {1, 0, 0, 0, 0}},
                 {"y = isinf(a)", {0, 1, 1, 0, 0}},
                 {"y = isfinite(a)", {0, 0, 0, 1, 1}},
                 {"y = !a", {0, 0, 0, 1, 0}},
                 {"y = a == a && a < inf || isnan(a)", {1, 0, 1, 1, 1}},
                 {"y = i32(a)", {0, 2147483647, -2147483648.0, 0, 1}},
                 {"y = u32(a)", {0, 4294967295.0, 0, 0, 1}},
                 {"y = bool(a) ? nan : -a", {NAN, NAN, NAN, 0, NAN}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int d = 0; d < float_dtype_count; d++) {
            const tdm_dtype dtype = float_dtypes[d];
            if (dtype == TDM_F16 || dtype == TDM_BF16) continue;
            if (compiles() && c % (dtype == TDM_F64 ? 5 : small ? 2 : 1) != 0) continue;
            array *a = array_1d(dtype, FEW), *y = array_1d(dtype, FEW);
            array_set(a, given);
            double bound[FEW], want[FEW];
            for (int i = 0; i < FEW; i++) {
                want[i] = cases[c].want[i];
                /* 2^31 - 1 is no f32 */
                bound[i] = fabs(want[i]) < 1e300 ? fabs(want[i]) * 1e-6 : 0;
            }
            check_case("%s of special values in %s", cases[c].text, tdm_dtype_name(dtype));
            array *const arrays[] = {a, y};
            if (run(cases[c].text, arrays, "ay", NO_NUMBER, 0)) ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* NaNs to whose bits nothing can be added, among numbers. */
Test(expressions, nans_of_many_bits) {
    enum { MANY = 70 };
    const tdm_dtype narrow[] = {TDM_BF16, TDM_F16};
    double given[MANY], want[MANY];
    for (int i = 0; i < MANY; i++) {
        given[i] = i % 2 ? (double)i : copysign(__builtin_nan("0xfffffffffffff"), i % 4 - 1);
        want[i] = -given[i];
    }
    for (int d = 0; d < 2; d++) {
        array *a = array_1d(TDM_F32, MANY), *y = array_1d(narrow[d], MANY);
        array_set(a, given);
        check_case("-a as %s", tdm_dtype_name(narrow[d]));
        array *const arrays[] = {a, y};
        if (run("y = -a", arrays, "ay", NO_NUMBER, 0)) ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}
