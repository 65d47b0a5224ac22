/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of tandem/functions.h at some numbers, next to what C gives.
 *
 *     cc -std=c11 functions.c $(pkg-config --cflags --libs tandem) -lm -o functions */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 4 };

static tdm_device *device;
static tdm_queue *queue;
static int wrong;

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "functions: %s\n", tdm_last_error());
    exit(1);
}

static bool is_near(double y, double exact) {
    if (isnan(exact)) return isnan(y);
    return isinf(exact) ? y == exact : fabs(y - exact) <= 2e-6 * (1 + fabs(exact));
}

/* A line of results; `exact` are C's. */
static void show(const char *name, tdm_tensor *y, const double *exact) {
    float result[COUNT];
    bool right = true;
    check(tdm_to_host(queue, y, result));
    printf("%-14s", name);
    for (int i = 0; i < COUNT; i++) {
        printf(" %12.6g", (double)result[i]);
        right = right && is_near((double)result[i], exact[i]);
    }
    printf("  %s\n", right ? "as in C" : "not as in C");
    wrong += !right;
}

/* --- functions of one number --------------------------------------------------------------------- */

typedef tdm_status unary(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);

static double negative(double x) { return -x; }
static double sign(double x) { return (x > 0) - (x < 0); }
static double square(double x) { return x * x; }
static double reciprocal(double x) { return 1 / x; }
static double relu(double x) { return x > 0 ? x : 0; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double gelu(double x) { return x / 2 * erfc(-x / sqrt(2.0)); }
static double gelu_tanh(double x) {
    return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double is_nan(double x) { return isnan(x) != 0; }
static double is_inf(double x) { return isinf(x) != 0; }
static double is_finite(double x) { return isfinite(x) != 0; }
static double sign_bit(double x) { return signbit(x) != 0; }

static const struct {
    const char *name;
    unary *function;
    double (*exact)(double);
} unaries[] = {
    {"neg", tdm_neg, negative},
    {"abs", tdm_abs, fabs},
    {"sign", tdm_sign, sign},
    {"square", tdm_square, square},
    {"reciprocal", tdm_reciprocal, reciprocal},
    {"relu", tdm_relu, relu},
    {"sqrt", tdm_sqrt, sqrt},
    {"rsqrt", tdm_rsqrt, rsqrt},
    {"exp", tdm_exp, exp},
    {"exp2", tdm_exp2, exp2},
    {"expm1", tdm_expm1, expm1},
    {"log", tdm_log, log},
    {"log2", tdm_log2, log2},
    {"log10", tdm_log10, log10},
    {"log1p", tdm_log1p, log1p},
    {"sin", tdm_sin, sin},
    {"cos", tdm_cos, cos},
    {"tan", tdm_tan, tan},
    {"asin", tdm_asin, asin},
    {"acos", tdm_acos, acos},
    {"atan", tdm_atan, atan},
    {"sinh", tdm_sinh, sinh},
    {"cosh", tdm_cosh, cosh},
    {"tanh", tdm_tanh, tanh},
    {"asinh", tdm_asinh, asinh},
    {"acosh", tdm_acosh, acosh},
    {"atanh", tdm_atanh, atanh},
    {"erf", tdm_erf, erf},
    {"erfc", tdm_erfc, erfc},
    {"floor", tdm_floor, floor},
    {"ceil", tdm_ceil, ceil},
    {"round", tdm_round, rint},
    {"trunc", tdm_trunc, trunc},
    {"gelu", tdm_gelu, gelu},
    {"gelu_tanh", tdm_gelu_tanh, gelu_tanh},
    {"silu", tdm_silu, silu},
    {"sigmoid", tdm_sigmoid, sigmoid},
    {"isnan", tdm_isnan, is_nan},
    {"isinf", tdm_isinf, is_inf},
    {"isfinite", tdm_isfinite, is_finite},
    {"signbit", tdm_signbit, sign_bit},
};

/* --- functions of two ------------------------------------------------------------------------------ */

typedef tdm_status binary(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                          tdm_tensor *y);

static double quotient(double a, double b) { return a / b; }
static double floored(double a, double b) { return floor(a / b); }
static double modulo(double a, double b) { return a - b * floor(a / b); }
static double add_logs(double a, double b) { return log(exp(a) + exp(b)); }
static double equal(double a, double b) { return a == b; }
static double not_equal(double a, double b) { return a != b; }
static double less(double a, double b) { return a < b; }
static double less_equal(double a, double b) { return a <= b; }
static double greater(double a, double b) { return a > b; }
static double greater_equal(double a, double b) { return a >= b; }
static double bitwise_and(double a, double b) { return (int)a & (int)b; }
static double bitwise_or(double a, double b) { return (int)a | (int)b; }
static double bitwise_xor(double a, double b) { return (int)a ^ (int)b; }
static double shift_left(double a, double b) { return (int)a << (int)b; }
static double shift_right(double a, double b) { return (int)a >> (int)b; }

static const struct {
    const char *name;
    binary *function;
    double (*exact)(double, double);
    bool of_integers;
} binaries[] = {
    {"div", tdm_div, quotient, false},
    {"rem", tdm_rem, fmod, false},
    {"floor_divide", tdm_floor_divide, floored, false},
    {"remainder", tdm_remainder, modulo, false},
    {"pow", tdm_pow, pow, false},
    {"hypot", tdm_hypot, hypot, false},
    {"logaddexp", tdm_logaddexp, add_logs, false},
    {"copysign", tdm_copysign, copysign, false},
    {"nextafter", tdm_nextafter, nextafter, false},
    {"atan2", tdm_atan2, atan2, false},
    {"minimum", tdm_minimum, fmin, false},
    {"maximum", tdm_maximum, fmax, false},
    {"equal", tdm_equal, equal, false},
    {"not_equal", tdm_not_equal, not_equal, false},
    {"less", tdm_less, less, false},
    {"less_equal", tdm_less_equal, less_equal, false},
    {"greater", tdm_greater, greater, false},
    {"greater_equal", tdm_greater_equal, greater_equal, false},
    {"bitwise_and", tdm_bitwise_and, bitwise_and, true},
    {"bitwise_or", tdm_bitwise_or, bitwise_or, true},
    {"bitwise_xor", tdm_bitwise_xor, bitwise_xor, true},
    {"shift_left", tdm_shift_left, shift_left, true},
    {"shift_right", tdm_shift_right, shift_right, true},
};

int main(void) {
    const float numbers[COUNT] = {0.125f, 0.5f, 0.75f, 1}, others[COUNT] = {2, 0.5f, 0.3f, 3};
    const int32_t bits[COUNT] = {1, 6, 12, 100}, shifts[COUNT] = {1, 2, 3, 4};
    double exact[COUNT];
    tdm_tensor x, z, i, k, y;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(COUNT), &x));
    check(tdm_from_host(queue, others, TDM_F32, TDM_SHAPE(COUNT), &z));
    check(tdm_from_host(queue, bits, TDM_I32, TDM_SHAPE(COUNT), &i));
    check(tdm_from_host(queue, shifts, TDM_I32, TDM_SHAPE(COUNT), &k));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(COUNT), &y));
    for (size_t f = 0; f < sizeof unaries / sizeof *unaries; f++) {
        check(unaries[f].function(queue, &x, &y));
        for (int n = 0; n < COUNT; n++)
            exact[n] = unaries[f].exact((double)numbers[n]);
        show(unaries[f].name, &y, exact);
    }
    for (size_t f = 0; f < sizeof binaries / sizeof *binaries; f++) {
        const bool integers = binaries[f].of_integers;
        check(binaries[f].function(queue, integers ? &i : &x, integers ? &k : &z, &y));
        for (int n = 0; n < COUNT; n++)
            exact[n] = integers ? binaries[f].exact(bits[n], shifts[n])
                                : binaries[f].exact((double)numbers[n], (double)others[n]);
        show(binaries[f].name, &y, exact);
    }

    /* and those with other arguments */
    check(tdm_bitwise_not(queue, &i, &y));
    for (int n = 0; n < COUNT; n++)
        exact[n] = ~bits[n];
    show("bitwise_not", &y, exact);
    check(tdm_fma(queue, &x, &z, &x, &y));
    for (int n = 0; n < COUNT; n++)
        exact[n] = (double)numbers[n] * (double)others[n] + (double)numbers[n];
    show("fma", &y, exact);
    check(tdm_clamp(queue, &x, 0.25, 0.75, &y));
    for (int n = 0; n < COUNT; n++)
        exact[n] = fmax(0.25, fmin((double)numbers[n], 0.75));
    show("clamp", &y, exact);
    check(tdm_less(queue, &x, &z, &y));
    check(tdm_where(queue, &y, &x, &z, &y));
    for (int n = 0; n < COUNT; n++)
        exact[n] = fmin((double)numbers[n], (double)others[n]);
    show("where", &y, exact);

    tdm_tensor *const tensors[] = {&x, &z, &i, &k, &y};
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++)
        tdm_tensor_release(tensors[t]);
    tdm_queue_destroy(queue);
    printf("functions that differ from C's on %s: %d\n", tdm_device_get_info(device)->id, wrong);
    tdm_device_release(device);
    return wrong ? 1 : 0;
}
