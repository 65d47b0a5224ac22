/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of functions.h: of one operand or two, with the error in units of the last place. */
#include <math.h>

#include "operations/list.h"
#include "reference/values.h"

enum { A, B, Y };

typedef tdm_status of_one(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
typedef tdm_status of_two(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                          tdm_tensor *y);

/* X(name, low, high, ulp, value of a; or of a and b): operands are in that range, where errors are not those of an
 * argument's reduction. */
#define ONE(X)                                                                                     \
    X(neg, -10, 10, 0, -a)                                                                         \
    X(abs, -10, 10, 0, fabsl(a))                                                                   \
    X(sign, -10, 10, 0, (a > 0) - (a < 0))                                                         \
    X(square, -10, 10, 1, a *a)                                                                    \
    X(relu, -10, 10, 0, a > 0 ? a : 0)                                                             \
    X(sqrt, 0, 1e4, 1, sqrtl(a))                                                                   \
    X(rsqrt, 1e-3, 1e4, 3, 1 / sqrtl(a))                                                           \
    X(reciprocal, 1e-3, 1e4, 3, 1 / a)                                                             \
    X(exp, -10, 11, 3, expl(a))                                                                    \
    X(exp2, -10, 12, 4, exp2l(a))                                                                  \
    X(expm1, -5, 5, 4, expm1l(a))                                                                  \
    X(log, 1e-4, 2, 3, logl(a))                                                                    \
    X(log2, 1e-4, 1e4, 4, log2l(a))                                                                \
    X(log10, 1e-4, 1e4, 4, log10l(a))                                                              \
    X(log1p, -0.9, 10, 4, log1pl(a))                                                               \
    X(sin, 0.1, 3, 5, sinl(a))                                                                     \
    X(cos, -1.5, 1.5, 5, cosl(a))                                                                  \
    X(tan, -1.5, 1.5, 6, tanl(a))                                                                  \
    X(asin, -1, 1, 5, asinl(a))                                                                    \
    X(acos, -1, 1, 5, acosl(a))                                                                    \
    X(atan, -50, 50, 6, atanl(a))                                                                  \
    X(sinh, -8, 8, 5, sinhl(a))                                                                    \
    X(cosh, -8, 8, 5, coshl(a))                                                                    \
    X(asinh, -50, 50, 5, asinhl(a))                                                                \
    X(acosh, 1, 50, 5, acoshl(a))                                                                  \
    X(atanh, -0.99, 0.99, 6, atanhl(a))                                                            \
    X(tanh, -10, 10, 7, tanhl(a))                                                                  \
    X(erf, -4, 4, 17, erfl(a))                                                                     \
    X(erfc, -3, 2, 17, erfcl(a))                                                                   \
    X(floor, -100, 100, 0, floorl(a))                                                              \
    X(ceil, -100, 100, 0, ceill(a))                                                                \
    X(round, -100, 100, 0, rintl(a))                                                               \
    X(trunc, -100, 100, 0, truncl(a))                                                              \
    X(gelu, 0, 8, 8, a / 2 * erfcl(-a * M_SQRT1_2))                                                \
    X(gelu_tanh, 0, 8, 8, a / 2 * (1 + tanhl(ROOT_2_OVER_PI * (a + 0.044715L * a * a * a))))       \
    X(silu, -5, 20, 7, a / (1 + expl(-a)))                                                         \
    X(sigmoid, -5, 20, 6, 1 / (1 + expl(-a)))                                                      \
    X(isnan, -1, 1, 0, a != a)                                                                     \
    X(isinf, -1, 1, 0, isinf(a) != 0)                                                              \
    X(isfinite, -1, 1, 0, isfinite(a) != 0)                                                        \
    X(signbit, -1, 1, 0, signbit(a) != 0)
#define TWO(X)                                                                                     \
    X(div, 1, 10, 3, a / b)                                                                        \
    X(rem, 1, 10, 1, fmodl(a, b))                                                                  \
    X(remainder, 1, 10, 1, fmodl(a, b))                                                            \
    X(floor_divide, 1, 10, 0, floorl(a / b))                                                       \
    X(pow, 0.1, 5, 17, powl(a, b))                                                                 \
    X(atan2, -5, 5, 7, atan2l(a, b))                                                               \
    X(hypot, -5, 5, 5, hypotl(a, b))                                                               \
    X(logaddexp, 0, 5, 8, logl(expl(a) + expl(b)))                                                 \
    X(copysign, -5, 5, 0, copysignl(a, b))                                                         \
    X(minimum, -5, 5, 0, a < b ? a : b)                                                            \
    X(maximum, -5, 5, 0, a > b ? a : b)
/* of whole numbers, so that some are equal */
#define COMPARISONS(X)                                                                             \
    X(equal, -3, 3, 0, a == b)                                                                     \
    X(not_equal, -3, 3, 0, a != b)                                                                 \
    X(less, -3, 3, 0, a < b)                                                                       \
    X(less_equal, -3, 3, 0, a <= b)                                                                \
    X(greater, -3, 3, 0, a > b)                                                                    \
    X(greater_equal, -3, 3, 0, a >= b)

#define ROOT_2_OVER_PI 0.797884560802865355879892L

#define VALUE_OF_ONE(name, low, high, ulp, value)                                                  \
    static long double of_##name(long double a, long double b) {                                   \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
#define VALUE_OF_TWO(name, low, high, ulp, value)                                                  \
    static long double of_##name(long double a, long double b) { return value; }
ONE(VALUE_OF_ONE)
TWO(VALUE_OF_TWO)
COMPARISONS(VALUE_OF_TWO)

/* In the order of the pages: `variant` is the place here. */
static const struct {
    of_one *one;
    of_two *two;
    long double (*value)(long double a, long double b);
    double ulp;
} functions[] = {
#define ROW_OF_ONE(name, low, high, ulp, value) {tdm_##name, 0, of_##name, ulp},
#define ROW_OF_TWO(name, low, high, ulp, value) {0, tdm_##name, of_##name, ulp},
    ONE(ROW_OF_ONE) TWO(ROW_OF_TWO) COMPARISONS(ROW_OF_TWO)};

enum {
#define NUMBER(name, low, high, ulp, value) NUMBER_##name,
    ONE(NUMBER) TWO(NUMBER) COMPARISONS(NUMBER)
};

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    const int f = c->op->variant;
    return functions[f].one ? functions[f].one(queue, t[A], t[Y])
                            : functions[f].two(queue, t[A], t[B], t[Y]);
}

static void refer(const op_part *p) {
    const int f = p->c->op->variant;
    const double eps = compute_eps(p->c->dtype);
    /* near its zeros a function's error is that of its argument's reduction */
    const double least = f == NUMBER_sin || f == NUMBER_cos ? eps : 0.0;
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const long double b = p->x[B] ? (long double)p->x[B][i] : 0;
        const double y = (double)functions[f].value((long double)p->x[A][i], b);
        p->y[Y][i] = y;
        p->bound[Y][i] = fabs(y) * functions[f].ulp * eps + least;
        if (tdm_dtype_size(p->c->dtype) == 2) p->bound[Y][i] += half_ulp(p->c->dtype, y) * 1.001;
    }
}

#define FUNCTION(title, low, high, type, are_whole, is_of_two)                                     \
    {                                                                                              \
        .name = #title, .function = "tdm_" #title, .variant = NUMBER_##title,                      \
        .operand = {[A] = {(is_of_two) ? "a" : "x", OP_IN, OP_ALL, OP_SAME, low, high,             \
                           .whole = are_whole},                                                    \
                    [B] = {(is_of_two) ? "b" : 0, OP_IN, OP_ALL, OP_SAME, low, high,               \
                           .whole = are_whole},                                                    \
                    [Y] = {"y", OP_OUT, OP_ALL, type,                                              \
                           .over = (is_of_two) ? OP_BIT(A) | OP_BIT(B) : OP_BIT(A)}},              \
        .layout = OP_ANY_STRIDES, .unit = OP_BY_ELEMENT, .makes_kernel = true, .cost = 8,          \
        .call = call, .reference = refer                                                           \
    }
#define PAGE_OF_ONE(name, low, high, ulp, value) FUNCTION(name, low, high, OP_SAME, false, 0),
#define PAGE_OF_TWO(name, low, high, ulp, value) FUNCTION(name, low, high, OP_SAME, false, 1),
#define PAGE_OF_COMPARISON(name, low, high, ulp, value) FUNCTION(name, low, high, OP_BOOL, true, 1),
static const operation pages[] = {ONE(PAGE_OF_ONE) TWO(PAGE_OF_TWO)
                                      COMPARISONS(PAGE_OF_COMPARISON)};
const op_list op_functions = OP_LIST(pages);
