/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions of two and three floats: of any bits, of ordinary sizes, of operands whose result is hard to round or close
 * to a jump, and of special values, a quarter each. The reference is the C library in double, which is exact for
 * remainders and sums of products. */
#include <math.h>
#include <string.h>

#include "accuracy.h"
#include "function_list.h"

static double remainder_of(double a, double b) {
    const double rest = fmod(a, b);
    if (rest == 0) return copysign(rest, b);
    return (rest < 0) == (b < 0) ? rest : rest + b;
}

/* The quotient of what is left is whole, so that rounding finds it as far as double has whole numbers. */
static double floor_divide_of(double a, double b) {
    if (!isfinite(a) || !isfinite(b) || b == 0) return a / b;
    const double rest = fmod(a, b), whole = rint((a - rest) / b);
    const double down = rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
    return down == 0 ? copysign(0, a / b) : down;
}

static double logaddexp_of(double a, double b) {
    return a == b ? a + M_LN2 : fmax(a, b) + log1p(exp(-fabs(a - b)));
}

static double none(double a, double b) {
    (void)a;
    (void)b;
    return 0;
}

static double largest(double a, double b) { return fmax(fabs(a), fabs(b)); }

/* X(name, value, least): in units of the last place of which size at least the error counts. */
#define OF_TWO(X)                                                                                  \
    X(div, a / b, none)                                                                            \
    X(rem, fmod(a, b), none)                                                                       \
    X(remainder, remainder_of(a, b), none)                                                         \
    X(floor_divide, floor_divide_of(a, b), none)                                                   \
    X(hypot, hypot(a, b), none)                                                                    \
    X(pow, pow(a, b), none)                                                                        \
    X(atan2, atan2(a, b), none)                                                                    \
    X(logaddexp, isnan(a) || isnan(b) ? a + b : logaddexp_of(a, b), largest)                       \
    X(copysign, copysign(a, b), none)                                                              \
    X(nextafter, (double)nextafterf((float)a, (float)b), none)
#define VALUE(name, value, least)                                                                  \
    static double of_##name(double a, double b) { return value; }
OF_TWO(VALUE)

static const struct {
    const char *name;
    tdm_status (*of_two)(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y);
    double (*value)(double a, double b);
    double (*least)(double a, double b);
} functions[] = {
#define ROW(name, value, least) {#name, tdm_##name, of_##name, least},
    OF_TWO(ROW){"fma", NULL, NULL, none}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
const int several_count = FUNCTIONS;

/* one of two floats that is not here does not compile */
#define HAS(NAME, name, arity, class, result) HAS_##arity##_##class(name)
#define IS_HERE(name) (void)of_##name;
#define ELSEWHERE(name)
#define HAS_1_FLOAT ELSEWHERE
#define HAS_1_NUMBER ELSEWHERE
#define HAS_1_BITS ELSEWHERE
#define HAS_1_ANY ELSEWHERE
#define HAS_2_NUMBER ELSEWHERE
#define HAS_2_BITS ELSEWHERE
#define HAS_2_INTEGER ELSEWHERE
#define HAS_2_ANY ELSEWHERE
#define HAS_2_FLOAT IS_HERE
#define HAS_3_ANY ELSEWHERE
#define HAS_3_FLOAT ELSEWHERE

const char *several_name(int function) {
    TDM_FUNCTION_LIST(HAS)
    return functions[function].name;
}

int several_operands(int function) { return functions[function].of_two ? 2 : 3; }

static uint32_t mixed(uint64_t number) {
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(number >> 32);
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* of either sign, from 2^-8 to 2^8 */
static float ordinary(uint32_t bits) {
    return float_of((bits & 0x807fffffu) | (119 + (bits >> 23 & 15)) << 23);
}

static void choose(uint64_t i, float *x) {
    static const float special[] = {
        0.0F,  -0.0F, 1.0F, -1.0F, 0x1p-149F, -0x1p-149F, 0x1p-126F, 2.0F,
        -2.0F, 0.5F,  3.0F, -3.0F, INFINITY,  -INFINITY,  NAN,       0x1.fffffep127F};
    const uint32_t a = mixed(3 * i), b = mixed(3 * i + 1), c = mixed(3 * i + 2);
    switch (i & 3) {
    case 0:
        x[0] = float_of(a), x[1] = float_of(b), x[2] = float_of(c);
        break;
    case 1:
        x[0] = ordinary(a), x[1] = ordinary(b), x[2] = ordinary(c);
        break;
    case 2:
        x[1] = ordinary(b);
        x[2] = (float)(int)(c & 0xffff);
        x[0] = x[1] * x[2];
        x[2] = -x[0] * ordinary(a); /* a sum that cancels, as b is taken below */
        if (c & 0x10000) x[0] = nextafterf(x[0], c & 0x20000 ? INFINITY : -INFINITY);
        if (c & 0x40000) { /* a power of 2^(-150) to 2^128 */
            x[0] = ordinary(a & 0x7fffffff);
            x[1] = (float)((int)(b % 278) - 150 + (double)(c >> 8) * 0x1p-24) / log2f(x[0]);
        } else if (c & 0x80000) {
            x[0] = ordinary(a), x[1] = ordinary(b), x[2] = -x[0] * x[1];
        }
        break;
    default:
        x[0] = special[a & 15], x[1] = b & 16 ? special[b & 15] : ordinary(b),
        x[2] = special[c & 15];
        if (b & 32) x[0] = ordinary(a), x[1] = special[b & 15];
        if (b & 64) x[0] = -x[1];
    }
}

static tdm_status call(tdm_queue *queue, int function, const tdm_tensor *x, tdm_tensor *y) {
    return functions[function].of_two ? functions[function].of_two(queue, &x[0], &x[1], y)
                                      : tdm_fma(queue, &x[0], &x[1], &x[2], y);
}

void measure_several(tdm_queue *queue, int function, uint64_t inputs, findings *f) {
    static float x_data[OPERANDS][PART], y_data[PART];
    tdm_tensor x[OPERANDS], y;
    *f = (findings){.is_measured = true};
    for (uint64_t start = 0; start < inputs; start += PART) {
        const int64_t n = inputs - start < PART ? (int64_t)(inputs - start) : PART;
        for (int64_t i = 0; i < n; i++) {
            float chosen[OPERANDS];
            choose(start + (uint64_t)i, chosen);
            for (int o = 0; o < OPERANDS; o++)
                x_data[o][i] = chosen[o];
        }
        for (int o = 0; o < OPERANDS; o++)
            check(tdm_from_host(queue, x_data[o], TDM_F32, TDM_SHAPE(n), &x[o]));
        check(tdm_empty(queue, TDM_F32, TDM_SHAPE(n), &y));
        check(call(queue, function, x, &y));
        check(tdm_to_host(queue, &y, y_data));
        for (int64_t i = 0; i < n; i++) {
            const double at[OPERANDS] = {(double)x_data[0][i], (double)x_data[1][i],
                                         (double)x_data[2][i]};
            const double want = functions[function].of_two ? functions[function].value(at[0], at[1])
                                                           : fma(at[0], at[1], at[2]);
            compare(F32, at, (double)y_data[i], want, functions[function].least(at[0], at[1]), f);
        }
        for (int o = 0; o < OPERANDS; o++)
            tdm_tensor_release(&x[o]);
        tdm_tensor_release(&y);
    }
}
