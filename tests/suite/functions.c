/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of expressions as named operations: integers, special values, rules. Each by itself is in
 * operations.c; the compiler checks that each has a name (lib/ops/functions.c). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/expression_call.h"
#include "support/array.h"

TestSuite(functions, .init = device_open, .fini = device_close);

enum { N = 1777 };

typedef tdm_status binary_function(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                   tdm_tensor *y);

/* ---- integers, and bits ---- */

Test(functions, of_integers) {
    enum { FEW = 4 };
    static const struct {
        const char *name;
        binary_function *function;
        double want[FEW];
    } cases[] = {{"add", tdm_add, {10, -5, 5, 101}},
                 {"sub", tdm_sub, {4, -9, 5, 99}},
                 {"mul", tdm_mul, {21, -14, 0, 100}},
                 {"div", tdm_div, {2, -3, 0, 100}},
                 {"rem", tdm_rem, {1, -1, 0, 0}},
                 {"floor_divide", tdm_floor_divide, {2, -4, 0, 100}},
                 {"remainder", tdm_remainder, {1, 1, 0, 0}},
                 {"bitwise_and", tdm_bitwise_and, {3, 0, 0, 0}},
                 {"bitwise_or", tdm_bitwise_or, {7, -5, 5, 101}},
                 {"bitwise_xor", tdm_bitwise_xor, {4, -5, 5, 101}},
                 {"shift_left", tdm_shift_left, {56, -28, 5, 200}},
                 {"shift_right", tdm_shift_right, {0, -2, 5, 50}},
                 {"maximum", tdm_maximum, {7, 2, 5, 100}}};
    const double a_values[FEW] = {7, -7, 5, 100}, b_values[FEW] = {3, 2, 0, 1};
    static const tdm_dtype several[] = {TDM_I32, TDM_I8, TDM_I64, TDM_I16};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tdm_dtype dtype = several[c % 4];
        array *a = array_1d(dtype, FEW), *b = array_1d(TDM_I32, FEW), *y = array_1d(TDM_I32, FEW);
        array_set(a, a_values);
        array_set(b, b_values);
        check_case("%s of %s", cases[c].name, tdm_dtype_name(dtype));
        if (OK(cases[c].function(queue, &a->t, &b->t, &y->t))) ARRAY_CHECK(y, cases[c].want, NULL);
        array_free_all();
    }
    array *x = array_1d(TDM_I32, FEW), *y = array_1d(TDM_I64, FEW);
    const double inverted[FEW] = {-8, 6, -6, -101};
    array_set(x, a_values);
    check_case("bitwise_not");
    if (OK(tdm_bitwise_not(queue, &x->t, &y->t))) ARRAY_CHECK(y, inverted, NULL);
    const double squares[FEW] = {49, 49, 25, 10000};
    check_case("square");
    if (OK(tdm_square(queue, &x->t, &y->t))) ARRAY_CHECK(y, squares, NULL);
    array_free_all();
}

/* Sums, differences and products of floats of several dtypes meet in the wider one; what is broadcast, too. */
Test(functions, of_several_floats) {
    static const tdm_dtype kinds[][3] = {{TDM_F16, TDM_BF16, TDM_F32},
                                         {TDM_F32, TDM_I32, TDM_F32},
                                         {TDM_F32, TDM_F64, TDM_F64},
                                         {TDM_BOOL, TDM_F16, TDM_F16}};
    enum { ROWS = 3, COLS = 5 };
    for (size_t d = 0; d < sizeof kinds / sizeof *kinds; d++) {
        if (!computes_with(kinds[d][2])) continue;
        array *a = array_2d(kinds[d][0], ROWS, COLS, COLS), *b = array_1d(kinds[d][1], COLS);
        array *y = array_2d(kinds[d][2], ROWS, COLS, COLS + 1);
        double want[3][ROWS * COLS];
        array_integers(a, 0, 1);
        array_integers(b, -9, 9);
        for (int i = 0; i < ROWS * COLS; i++) {
            want[0][i] = a->v[i] + b->v[i % COLS];
            want[1][i] = a->v[i] - b->v[i % COLS];
            want[2][i] = a->v[i] * b->v[i % COLS];
        }
        binary_function *const three[] = {tdm_add, tdm_sub, tdm_mul};
        for (int f = 0; f < 3; f++) {
            check_case("%s of %s and %s",
                       f == 0   ? "sum"
                       : f == 1 ? "difference"
                                : "product",
                       tdm_dtype_name(kinds[d][0]), tdm_dtype_name(kinds[d][1]));
            if (OK(three[f](queue, &a->t, &b->t, &y->t))) ARRAY_CHECK(y, want[f], NULL);
        }
        array_free_all();
    }
}

/* Zeros have the sign of those that are wanted. */
static void check_signs(const array *y, const double *want) {
    const double *const got = array_values(y);
    for (int64_t i = 0; i < y->count; i++)
        CHECK(got[i] != 0 || signbit(got[i]) == signbit(want[i]), "element %lld is %g, not %g",
              (long long)i, got[i], want[i]);
}

/* Signs of operands and of zeros, infinities and NaN, as the Python array API standard has them. */
Test(functions, special_values_of_two) {
    static const struct {
        const char *name;
        binary_function *function;
        double a, b, want;
    } cases[] = {{"remainder", tdm_remainder, 7, -3, -2},
                 {"remainder", tdm_remainder, -7, 3, 2},
                 {"remainder", tdm_remainder, -7, -3, -1},
                 {"remainder", tdm_remainder, 6, -3, -0.0},
                 {"remainder", tdm_remainder, -6, 3, 0},
                 {"remainder", tdm_remainder, -0.0, 3, 0},
                 {"remainder", tdm_remainder, 5, 0, NAN},
                 {"remainder", tdm_remainder, INFINITY, 3, NAN},
                 {"remainder", tdm_remainder, 5, INFINITY, 5},
                 {"remainder", tdm_remainder, 5, -INFINITY, -INFINITY},
                 {"remainder", tdm_remainder, NAN, -1, NAN},
                 {"floor_divide", tdm_floor_divide, 7, -3, -3},
                 {"floor_divide", tdm_floor_divide, -7, 3, -3},
                 {"floor_divide", tdm_floor_divide, -7, -3, 2},
                 {"floor_divide", tdm_floor_divide, 6, -3, -2},
                 {"floor_divide", tdm_floor_divide, 1, 0.1, 9}, /* 0.1 is above it in f32 and f64 */
                 {"floor_divide", tdm_floor_divide, -0.0, 3, -0.0},
                 {"floor_divide", tdm_floor_divide, 2, 3, 0},
                 {"floor_divide", tdm_floor_divide, -5, 0, -INFINITY},
                 {"floor_divide", tdm_floor_divide, 0, -0.0, NAN},
                 {"floor_divide", tdm_floor_divide, -INFINITY, 3, -INFINITY},
                 {"floor_divide", tdm_floor_divide, 5, -INFINITY, -0.0},
                 {"floor_divide", tdm_floor_divide, INFINITY, INFINITY, NAN},
                 {"floor_divide", tdm_floor_divide, 1, NAN, NAN},
                 {"hypot", tdm_hypot, INFINITY, 1, INFINITY},
                 {"hypot", tdm_hypot, NAN, -INFINITY, INFINITY},
                 {"hypot", tdm_hypot, NAN, 1, NAN},
                 {"hypot", tdm_hypot, -0.0, -0.0, 0},
                 {"logaddexp", tdm_logaddexp, INFINITY, -INFINITY, INFINITY},
                 {"logaddexp", tdm_logaddexp, -INFINITY, -INFINITY, -INFINITY},
                 {"logaddexp", tdm_logaddexp, INFINITY, INFINITY, INFINITY},
                 {"logaddexp", tdm_logaddexp, -INFINITY, -3, -3},
                 {"logaddexp", tdm_logaddexp, NAN, 1, NAN},
                 {"logaddexp", tdm_logaddexp, 1, NAN, NAN},
                 {"copysign", tdm_copysign, 0, -1, -0.0},
                 {"copysign", tdm_copysign, -INFINITY, 0, INFINITY},
                 {"copysign", tdm_copysign, 3, -0.0, -3},
                 {"copysign", tdm_copysign, NAN, 1, NAN}};
    enum { CASES = sizeof cases / sizeof *cases };
    for (int d = 0; d < float_dtype_count; d++)
        for (size_t c = 0, next; c < CASES; c = next) {
            double a_values[CASES], b_values[CASES], want[CASES];
            int n = 0;
            const bool is_turn = !compiles() || float_dtypes[d] == TDM_F32 || (int)c % 4 == d;
            for (next = c; next < CASES && cases[next].function == cases[c].function; next++) {
                /* 0.1 is below it in f16 */
                const bool narrow = dtype_size(float_dtypes[d]) == 2 && cases[next].b == 0.1;
                a_values[n] = cases[next].a;
                b_values[n] = cases[next].b;
                want[n] = narrow ? floor(1 / rounded(float_dtypes[d], 0.1)) : cases[next].want;
                n++;
            }
            if (!is_turn) continue;
            array *a = array_1d(float_dtypes[d], n), *b = array_1d(float_dtypes[d], n);
            array *y = array_1d(float_dtypes[d], n);
            array_set(a, a_values);
            array_set(b, b_values);
            check_case("%s of special %s", cases[c].name, tdm_dtype_name(float_dtypes[d]));
            if (OK(cases[c].function(queue, &a->t, &b->t, &y->t)) && ARRAY_CHECK(y, want, NULL))
                check_signs(y, want);
            array_free_all();
        }
}

/* The next number of the dtype after a in the direction of b, by a's bits. */
static double next_of(tdm_dtype dtype, double a, double b) {
    const size_t size = dtype_size(dtype);
    const tdm_dtype whole = size == 2 ? TDM_U16 : size == 4 ? TDM_U32 : TDM_U64;
    uint64_t bytes;
    if (a == b || isnan(a) || isnan(b)) return isnan(a) ? a : b;
    encode(dtype, (long double)a, &bytes);
    const uint64_t bits = decode_integer(whole, &bytes);
    const bool rises = (a > 0) == (a < b); /* away from 0 */
    encode_integer(whole, a == 0 ? 1 : rises ? bits + 1 : bits - 1, &bytes);
    const double next = (double)decode(dtype, &bytes);
    return a == 0 ? copysign(next, b - a) : next;
}

/* Of every float: numbers of all sizes, zeros, the last ones before 0 and infinity, and these. */
Test(functions, nextafter) {
    const double inf = (double)INFINITY;
    for (int d = 0; d < float_dtype_count; d++) {
        enum { MANY = 90, ENDS = 8 };
        const tdm_dtype dtype = float_dtypes[d];
        const double most = dtype_max(dtype), least = next_of(dtype, 0, 1);
        const double ends[ENDS] = {0, -0.0, least, -least, most, -most, inf, -inf};
        double a_values[MANY], b_values[MANY], want[MANY];
        for (int i = 0; i < MANY; i++) {
            a_values[i] = i < 64 ? ends[i / 8] : ldexp(random_uniform(-1, 1), 2 * (78 - i));
            b_values[i] = i < 64 ? ends[i % 8] : i % 9 == 0 ? NAN : random_uniform(-1, 1);
            if (i == 70) a_values[i] = NAN;
            a_values[i] = rounded(dtype, a_values[i]);
            b_values[i] = rounded(dtype, b_values[i]);
            want[i] = next_of(dtype, a_values[i], b_values[i]);
        }
        array *a = array_1d(dtype, MANY), *b = array_1d(dtype, MANY), *y = array_1d(dtype, MANY);
        array_set(a, a_values);
        array_set(b, b_values);
        check_case("nextafter of %s", tdm_dtype_name(dtype));
        if (OK(tdm_nextafter(queue, &a->t, &b->t, &y->t)) && ARRAY_CHECK(y, want, NULL))
            check_signs(y, want);
        array_free_all();
    }
}

/* ---- angles ---- */

/* f32 of any size, next to quarters of a turn and to the largest ones; and an angle has the same bits whether far ones
 * are next to it or not. */
Test(functions, angles) {
    static const struct {
        const char *name;
        tdm_status (*function)(tdm_queue *, const tdm_tensor *, tdm_tensor *);
        double (*value)(double);
        double ulp;
    } cases[] = {{"sin", tdm_sin, sin, 1}, {"cos", tdm_cos, cos, 1}, {"tan", tdm_tan, tan, 4}};
    enum { FAR = 7 }; /* each seventh */
    double *const near = numbers(N), *const all = numbers(N);
    double *const want = numbers(N), *const bound = numbers(N);
    for (int i = 0; i < N; i++) {
        near[i] = i % 3 ? random_uniform(-3000, 3000)
                        : (double)random_integer(-1900, 1900) * 1.57079632679489662;
        near[i] = rounded(TDM_F32, i % 5 == 0 ? ldexp(near[i], -20) : near[i]);
        all[i] = i % FAR
                     ? near[i]
                     : rounded(TDM_F32, ldexp(random_uniform(-2, 2), (int)random_integer(12, 126)));
    }
    array *const x = array_1d(TDM_F32, N), *const y = array_1d(TDM_F32, N),
                 *const z = array_1d(TDM_F32, N);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_case("%s of f32", cases[c].name);
        array_set(x, near);
        OK(cases[c].function(queue, &x->t, &y->t));
        array_set(x, all);
        OK(cases[c].function(queue, &x->t, &z->t));
        for (int i = 0; i < N; i++) {
            want[i] = cases[c].value(all[i]);
            bound[i] = cases[c].ulp * 2 * half_ulp(TDM_F32, fabs(want[i]));
        }
        ARRAY_CHECK(z, want, bound);
        const double *const alone = array_values(y), *const mixed = array_values(z);
        for (int i = 0; i < N; i++)
            CHECK(i % FAR == 0 || alone[i] == mixed[i], "of %.9g: %.9g, next to far angles %.9g",
                  near[i], alone[i], mixed[i]);
    }
    const double ends[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0},
                 of_ends[] = {NAN, NAN, NAN, 0.0, -0.0};
    array *const e = array_1d(TDM_F32, 5), *const of_e = array_1d(TDM_F32, 5);
    array_set(e, ends);
    check_case("of special values");
    if (OK(tdm_sin(queue, &e->t, &of_e->t)) && ARRAY_CHECK(of_e, of_ends, NULL))
        check_signs(of_e, of_ends);
    if (OK(tdm_tan(queue, &e->t, &of_e->t)) && ARRAY_CHECK(of_e, of_ends, NULL))
        check_signs(of_e, of_ends);
    array_free_all();
}

/* ---- three ---- */

Test(functions, of_three_operands) {
    array *c = array_1d(TDM_BOOL, N), *a = array_1d(TDM_F32, N), *b = array_1d(TDM_F32, 1);
    array *y = array_1d(TDM_F32, N);
    double *want = numbers(N);
    array_integers(c, 0, 1);
    array_integers(a, -9, 9);
    array_constant(b, 5);
    for (int i = 0; i < N; i++)
        want[i] = c->v[i] != 0 ? a->v[i] : 5;
    check_case("where");
    if (OK(tdm_where(queue, &c->t, &a->t, &b->t, &y->t))) ARRAY_CHECK(y, want, NULL);
    for (int i = 0; i < N; i++)
        want[i] = a->v[i] * 5 + a->v[i];
    check_case("fma");
    if (OK(tdm_fma(queue, &a->t, &b->t, &a->t, &y->t))) ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

/* Limits of integers are integers, in their type. */
Test(functions, clamp) {
    enum { FEW = 5 };
    static const struct {
        tdm_dtype dtype;
        double low, high, x[FEW], want[FEW];
    } cases[] = {
        {TDM_F32, -1.5, 2, {-3, 3, NAN, 0, INFINITY}, {-1.5, 2, NAN, 0, 2}},
        {TDM_F16, -INFINITY, 2, {-3, 3, NAN, 0, -INFINITY}, {-3, 2, NAN, 0, -INFINITY}},
        {TDM_I32, -1.5, 2.5, {-3, 3, -2, 0, 2147483647}, {-1, 2, -1, 0, 2}},
        {TDM_I32, -1e12, 1e12, {-3, 3, -2, 0, 2147483647}, {-3, 3, -2, 0, 2147483647}},
        {TDM_U32, -5, 3e9, {0, 3, 4e9, 7, 3000000001.0}, {0, 3, 3e9, 7, 3e9}},
        {TDM_U64, -5, 1e30, {0, 3, 4e9, 7, 1e15}, {0, 3, 4e9, 7, 1e15}},
        {TDM_U64, 5, 1e19, {0x1p63, 3, 0x1.8p63, 7, 1e19}, {0x1p63, 5, 1e19, 7, 1e19}},
        {TDM_U64, 1e19, 1e30, {0x1p63, 3, 0x1.8p63, 0, 1e15}, {1e19, 1e19, 0x1.8p63, 1e19, 1e19}},
        {TDM_U8, 0.2, 0.8, {0, 3, 255, 1, 200}, {0, 0, 0, 0, 0}},
        {TDM_BOOL, -5, 1, {0, 1, 1, 0, 1}, {0, 1, 1, 0, 1}},
        {TDM_I64, -1e30, 9e9, {-1e15, 3, 9e9, 7, 1e15}, {-1e15, 3, 9e9, 7, 9e9}},
        {TDM_U8, 3, 200, {0, 3, 255, 7, 200}, {3, 3, 200, 7, 200}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        array *x = array_1d(cases[c].dtype, FEW), *y = array_1d(cases[c].dtype, FEW);
        array_set(x, cases[c].x);
        check_case("clamp(%s, %g, %g)", tdm_dtype_name(cases[c].dtype), cases[c].low,
                   cases[c].high);
        if (OK(tdm_clamp(queue, &x->t, cases[c].low, cases[c].high, &y->t)))
            ARRAY_CHECK(y, cases[c].want, NULL);
        array_free_all();
    }
}

/* ---- rules ---- */

/* In place, of strides, of other dtypes, and again in another queue; what is refused. */
Test(functions, rules) {
    array *x = array_2d(TDM_I16, 7, 30, 41), *y = array_2d(TDM_F32, 7, 30, 33);
    array *odd = array_1d(TDM_F32, 4);
    double want[210], bound[210];
    tdm_queue *other;
    array_integers(x, 0, 99);
    array_uniform(odd, 0, 1);
    for (int i = 0; i < 210; i++) {
        want[i] = sqrt(x->v[i]);
        bound[i] = want[i] * 0x1p-23;
    }
    check_case("sqrt of i16");
    if (OK(tdm_sqrt(queue, &x->t, &y->t))) ARRAY_CHECK(y, want, bound);
    check_case("abs, in place and in another queue");
    array_integers(y, -9, 9);
    for (int i = 0; i < 210; i++)
        want[i] = fabs(y->v[i]);
    OK(tdm_queue_finish(queue));
    OK(tdm_queue_create(device, 0, &other));
    OK(tdm_abs(other, &y->t, &y->t));
    OK(tdm_queue_finish(other));
    tdm_queue_destroy(other);
    ARRAY_CHECK(y, want, NULL);
    check_case("refusals");
    REFUSED(tdm_div(queue, &y->t, &odd->t, &y->t), TDM_ERROR_INVALID_SHAPE,
            "tdm_div: the shape of b is [4]|broadcast to that of y, [7, 30]");
    REFUSED(tdm_bitwise_and(queue, &y->t, &x->t, &y->t), TDM_ERROR_COMPILE,
            "tdm_bitwise_and|& does not take f32");
    REFUSED(tdm_clamp(queue, &y->t, (double)NAN, 1, &y->t), TDM_ERROR_INVALID_ARGUMENT,
            "tdm_clamp: low is NaN");
    ARRAY_CHECK(y, want, NULL);
    array_free_all();
}
