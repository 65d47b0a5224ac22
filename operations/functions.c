/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of functions.h: of one operand or two. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/values.h"

enum { A, B, Y };

typedef tdm_status of_one(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
typedef tdm_status of_two(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                          tdm_tensor *y);

/* X(name, low, high, value of a; or of a and b): operands are in that range, where errors are not those of an
 * argument's reduction. */
#define ONE(X)                                                                                     \
    X(neg, -10, 10, -a)                                                                            \
    X(abs, -10, 10, fabsl(a))                                                                      \
    X(sign, -10, 10, (a > 0) - (a < 0))                                                            \
    X(square, -10, 10, a *a)                                                                       \
    X(relu, -10, 10, a > 0 ? a : 0)                                                                \
    X(sqrt, 0, 6e4, sqrtl(a))                                                                      \
    X(rsqrt, 1e-3, 6e4, 1 / sqrtl(a))                                                              \
    X(reciprocal, 1e-3, 1e4, 1 / a)                                                                \
    X(exp, -85, 11, expl(a))                                                                       \
    X(exp2, -120, 15, exp2l(a))                                                                    \
    X(expm1, -5, 5, expm1l(a))                                                                     \
    X(log, 1e-30, 2, logl(a))                                                                      \
    X(log2, 1e-30, 6e4, log2l(a))                                                                  \
    X(log10, 1e-30, 6e4, log10l(a))                                                                \
    X(log1p, -0.9, 10, log1pl(a))                                                                  \
    X(sin, -100, 100, sinl(a))                                                                     \
    X(cos, -100, 100, cosl(a))                                                                     \
    X(tan, -1.5, 1.5, tanl(a))                                                                     \
    X(asin, -1, 1, asinl(a))                                                                       \
    X(acos, -1, 1, acosl(a))                                                                       \
    X(atan, -50, 50, atanl(a))                                                                     \
    X(sinh, -11, 11, sinhl(a))                                                                     \
    X(cosh, -11, 11, coshl(a))                                                                     \
    X(asinh, -50, 50, asinhl(a))                                                                   \
    X(acosh, 1, 50, acoshl(a))                                                                     \
    X(atanh, -0.99, 0.99, atanhl(a))                                                               \
    X(tanh, -10, 10, tanhl(a))                                                                     \
    X(erf, -4, 4, erfl(a))                                                                         \
    X(erfc, -3, 9, erfcl(a))                                                                       \
    X(floor, -1000, 1000, floorl(a))                                                               \
    X(ceil, -1000, 1000, ceill(a))                                                                 \
    X(round, -1000, 1000, rintl(a))                                                                \
    X(trunc, -1000, 1000, truncl(a))                                                               \
    X(gelu, -8, 8, a / 2 * erfcl(-a * ROOT_HALF))                                                  \
    X(gelu_tanh, -8, 8, a / (1 + expl(-2 * ROOT_2_OVER_PI * (a + 0.044715L * a * a * a))))         \
    X(silu, -80, 20, a / (1 + expl(-a)))                                                           \
    X(sigmoid, -80, 20, 1 / (1 + expl(-a)))                                                        \
    X(isnan, -1, 1, a != a)                                                                        \
    X(isinf, -1, 1, isinf(a) != 0)                                                                 \
    X(isfinite, -1, 1, isfinite(a) != 0)                                                           \
    X(signbit, -1, 1, signbit(a) != 0)
#define TWO(X)                                                                                     \
    X(div, 1, 10, a / b)                                                                           \
    X(rem, 1, 10, fmodl(a, b))                                                                     \
    X(remainder, 1, 10, fmodl(a, b))                                                               \
    X(floor_divide, 1, 10, floorl(a / b))                                                          \
    X(pow, 0.1, 5, powl(a, b))                                                                     \
    X(atan2, -5, 5, atan2l(a, b))                                                                  \
    X(hypot, -5, 5, hypotl(a, b))                                                                  \
    X(logaddexp, -5, 5, logl(expl(a) + expl(b)))                                                   \
    X(copysign, -5, 5, copysignl(a, b))                                                            \
    X(minimum, -5, 5, a < b ? a : b)                                                               \
    X(maximum, -5, 5, a > b ? a : b)
/* of whole numbers, so that some are equal */
#define COMPARISONS(X)                                                                             \
    X(equal, -3, 3, a == b)                                                                        \
    X(not_equal, -3, 3, a != b)                                                                    \
    X(less, -3, 3, a < b)                                                                          \
    X(less_equal, -3, 3, a <= b)                                                                   \
    X(greater, -3, 3, a > b)                                                                       \
    X(greater_equal, -3, 3, a >= b)

#define ROOT_2_OVER_PI 0.797884560802865355879892L
#define ROOT_HALF 0.707106781186547524400844L

#define VALUE_OF_ONE(name, low, high, value)                                                       \
    static long double of_##name(long double a, long double b) {                                   \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
#define VALUE_OF_TWO(name, low, high, value)                                                       \
    static long double of_##name(long double a, long double b) { return value; }
ONE(VALUE_OF_ONE)
TWO(VALUE_OF_TWO)
COMPARISONS(VALUE_OF_TWO)

/* In the order of the pages: `variant` is the place here. */
static const struct {
    of_one *one;
    of_two *two;
    long double (*value)(long double a, long double b);
    const char *name;
} functions[] = {
#define ROW_OF_ONE(name, low, high, value) {tdm_##name, 0, of_##name, #name},
#define ROW_OF_TWO(name, low, high, value) {0, tdm_##name, of_##name, #name},
    ONE(ROW_OF_ONE) TWO(ROW_OF_TWO) COMPARISONS(ROW_OF_TWO)};

enum {
#define NUMBER(name, low, high, value) NUMBER_##name,
    ONE(NUMBER) TWO(NUMBER) COMPARISONS(NUMBER)
};

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    const int f = c->op->variant;
    return functions[f].one ? functions[f].one(queue, t[A], t[Y])
                            : functions[f].two(queue, t[A], t[B], t[Y]);
}

static void refer(const op_part *p) {
    const int f = p->c->op->variant;
    const tdm_dtype dtype = p->c->dtype;
    const double eps = compute_eps(dtype);
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const double a = p->x[A][i], b = p->x[B] ? p->x[B][i] : 0.0;
        const double y = (double)functions[f].value((long double)a, (long double)b);
        double error = function_error(functions[f].name, dtype, y);
        if (f == NUMBER_logaddexp) error = 4.0 * eps * (fabs(y) + fmax(fabs(a), fabs(b)));
        if (f == NUMBER_gelu || f == NUMBER_gelu_tanh)
            error = fmin(error, 4.0 * eps * (fabs(a) + fabs(y)));
        p->y[Y][i] = y;
        p->bound[Y][i] = error;
        if (tdm_dtype_size(dtype) == 2 && error > 0) p->bound[Y][i] += half_ulp(dtype, y) * 1.001;
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
#define PAGE_OF_ONE(name, low, high, value) FUNCTION(name, low, high, OP_SAME, false, 0),
#define PAGE_OF_TWO(name, low, high, value) FUNCTION(name, low, high, OP_SAME, false, 1),
#define PAGE_OF_COMPARISON(name, low, high, value) FUNCTION(name, low, high, OP_BOOL, true, 1),
static const operation pages[] = {ONE(PAGE_OF_ONE) TWO(PAGE_OF_TWO)
                                      COMPARISONS(PAGE_OF_COMPARISON)};
const op_list op_functions = OP_LIST(pages);
