/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest errors of the functions of one float, in units in the last place of the result (ulp), on each device that
 * TDM_TEST_DEVICE names (cpu,opencl:0): f32 at INPUTS numbers spread over all bit patterns, or at all 2^32 of them; f16
 * and bf16 at all 65,536. Exit status 1 where one is above its promise, or where a NaN, an infinity or the sign of a
 * zero is wrong. The reference is the C library in double, whose errors are below 1e-6 ulp of f32.
 *
 *     accuracy [--page] [INPUTS|all [FUNCTION …]] */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "function_list.h"

enum { PART = 1 << 20, MOST_DEVICES = 4 };

#define ROOT_2_OVER_PI 0.79788456080286535588

/* X(name, ulp, ulp on a GPU, value of x): the promises for f32. Where the two are equal the function is our own, on
 * every device, and so are those of elementary.h that divide or take a root, which OpenCL rounds within 2.5 and 3 ulp,
 * and silu and sigmoid, whose errors are larger on a GPU without FMA. The others are the device's library's, there as
 * the OpenCL specification bounds them. */
#define REFERENCES(X)                                                                              \
    X(neg, 0, 0, -x)                                                                               \
    X(abs, 0, 0, fabs(x))                                                                          \
    X(sign, 0, 0, x > 0 ? 1 : x < 0 ? -1 : x)                                                      \
    X(square, 0.5, 0.5, x *x)                                                                      \
    X(relu, 0, 0, x < 0 ? 0 : x)                                                                   \
    X(sqrt, 0.51, 3, sqrt(x))                                                                      \
    X(rsqrt, 1.5, 4, 1 / sqrt(x))                                                                  \
    X(reciprocal, 0.51, 2.5, 1 / x)                                                                \
    X(exp, 1, 1, exp(x))                                                                           \
    X(exp2, 0.8, 0.8, exp2(x))                                                                     \
    X(expm1, 1, 1, expm1(x))                                                                       \
    X(log, 0.85, 0.85, log(x))                                                                     \
    X(log2, 0.9, 0.9, log2(x))                                                                     \
    X(log10, 0.85, 0.85, log10(x))                                                                 \
    X(log1p, 1, 1, log1p(x))                                                                       \
    X(sin, 1, 4, sin(x))                                                                           \
    X(cos, 1, 4, cos(x))                                                                           \
    X(tan, 4, 5, tan(x))                                                                           \
    X(asin, 1.3, 4, asin(x))                                                                       \
    X(acos, 1, 4, acos(x))                                                                         \
    X(atan, 1.4, 4, atan(x))                                                                       \
    X(sinh, 1.4, 3, sinh(x))                                                                       \
    X(cosh, 1.3, 3, cosh(x))                                                                       \
    X(asinh, 2, 4, asinh(x))                                                                       \
    X(acosh, 2, 4, acosh(x))                                                                       \
    X(atanh, 2, 5, atanh(x))                                                                       \
    X(tanh, 6.2, 6.2, tanh(x))                                                                     \
    X(erf, 1, 1, erf(x))                                                                           \
    X(erfc, 2.6, 4, erfc(x))                                                                       \
    X(floor, 0, 0, floor(x))                                                                       \
    X(ceil, 0, 0, ceil(x))                                                                         \
    X(round, 0, 0, rint(x))                                                                        \
    X(trunc, 0, 0, trunc(x))                                                                       \
    X(gelu, INFINITY, INFINITY, isinf(x) ? fmax(x, 0) : x / 2 * erfc(-x * M_SQRT1_2))              \
    X(gelu_tanh, 160, 160, isinf(x) ? fmax(x, 0) : x / (1 + exp(-2 * tanh_argument(x))))           \
    X(silu, 1.5, 2.1, isinf(x) ? fmax(x, 0) : x / (1 + exp(-x)))                                   \
    X(sigmoid, 1.4, 1.7, 1 / (1 + exp(-x)))                                                        \
    X(isnan, 0, 0, x != x)                                                                         \
    X(isinf, 0, 0, isinf(x) != 0)                                                                  \
    X(isfinite, 0, 0, isfinite(x) != 0)                                                            \
    X(signbit, 0, 0, signbit(x) != 0)

static double tanh_argument(double x) { return ROOT_2_OVER_PI * (x + 0.044715 * x * x * x); }
#define REFERENCE(name, ulp, gpu, value)                                                           \
    static const double promise_##name[2] = {ulp, gpu};                                            \
    static double of_##name(double x) { return value; }
REFERENCES(REFERENCE)

/* Those of function_list.h, so that none is left out. */
static const struct {
    const char *name;
    tdm_status (*call)(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
    double (*value)(double x);
    const double *promise; /* on the cpu backend, and elsewhere */
} functions[] = {
#define ROW(name) {#name, tdm_##name, of_##name, promise_##name},
#define NO_ROW(name)
#define ROW_1_FLOAT ROW
#define ROW_1_NUMBER ROW
#define ROW_1_BITS NO_ROW
#define ROW_1_ANY NO_ROW
#define ROW_2_NUMBER NO_ROW
#define ROW_2_BITS NO_ROW
#define ROW_2_INTEGER NO_ROW
#define ROW_2_ANY NO_ROW
#define ROW_2_FLOAT NO_ROW
#define ROW_3_ANY NO_ROW
#define ROW_3_FLOAT NO_ROW
#define FUNCTION(NAME, name, arity, class, result) ROW_##arity##_##class(name)
    TDM_FUNCTION_LIST(FUNCTION)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const struct {
    const char *name;
    tdm_dtype dtype;
    int digits, least; /* binary digits; the exponent of the least normal number */
    int bits;
} types[] = {
    {"f32", TDM_F32, 24, -126, 32}, {"f16", TDM_F16, 11, -14, 16}, {"bf16", TDM_BF16, 8, -126, 16}};
enum { F32, F16, TYPES = sizeof types / sizeof *types };

static double value_of(int type, const void *data, size_t i) {
    uint32_t bits;
    if (type == F32) {
        memcpy(&bits, (const uint32_t *)data + i, sizeof bits);
    } else {
        const uint16_t narrow = ((const uint16_t *)data)[i];
        if (type == F16) {
            const int power = narrow >> 10 & 31, part = narrow & 1023;
            const double size = power == 31 ? (part ? (double)NAN : (double)INFINITY)
                                : power     ? ldexp(1024 + part, power - 25)
                                            : ldexp(part, -24);
            return narrow & 0x8000 ? -size : size;
        }
        bits = (uint32_t)narrow << 16;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

typedef struct findings {
    double ulp, at;             /* the largest error */
    double subnormal;           /* among subnormal results */
    const char *wrong;          /* a special value that is wrong, or NULL */
    double wrong_at, got, want; /* the first such */
    bool is_measured;
} findings;

/* of an error that is not one in ulps */
static const char *wrong(double got, double want) {
    if (isnan(want) != isnan(got)) return "NaN";
    if (isnan(want)) return NULL;
    if ((want == 0 || got == 0) && signbit(want) != signbit(got)) return "sign of 0";
    if (isinf(want) && !isinf(got)) return "infinity";
    return NULL;
}

static void compare(int type, double x, double got, double want, findings *f) {
    const char *what = wrong(got, want);
    /* the limit at -Inf is 0 of either sign */
    if (what && !(isinf(x) && want == 0 && got == 0)) {
        if (!f->wrong) f->wrong = what, f->wrong_at = x, f->got = got, f->want = want;
        return;
    }
    if (isnan(want) || isinf(want) || got == want) return;
    const double limit = type == F16 ? 0x1p16 : 0x1p128; /* for which infinity stands */
    if (isinf(got)) got = copysign(limit, got);
    if (fabs(want) > limit) want = copysign(limit, want);
    int power = types[type].least;
    if (fabs(want) >= ldexp(1, power)) power = ilogb(want);
    const double ulp = fabs(got - want) / ldexp(1, power - types[type].digits + 1);
    if (ulp > f->ulp) f->ulp = ulp, f->at = x;
    if (fabs(want) < ldexp(1, types[type].least) && ulp > f->subnormal) f->subnormal = ulp;
}

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "accuracy: %s\n", tdm_last_error());
    exit(2);
}

static void measure(tdm_queue *queue, int type, int function, uint64_t inputs, findings *f) {
    static uint32_t x_data[PART], y_data[PART];
    const uint64_t all = (uint64_t)1 << types[type].bits, count = inputs < all ? inputs : all;
    /* odd, so that no pattern of the low bits is left out */
    const uint32_t stride = count == all ? 1 : (uint32_t)(all / count) | 1;
    const uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x3f800000,
                                0xbf800000, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
                                0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001};
    *f = (findings){.is_measured = true};
    for (uint64_t start = 0; start < count; start += PART) {
        const size_t n = count - start < PART ? (size_t)(count - start) : PART;
        for (size_t i = 0; i < n; i++) {
            const uint32_t bits = (uint32_t)(start + i) * stride + (count == all ? 0 : 0x9e3779b9u);
            if (type == F32)
                x_data[i] = bits;
            else
                ((uint16_t *)x_data)[i] = (uint16_t)bits;
        }
        if (start == 0 && count < all) memcpy(x_data, special, sizeof special);
        tdm_tensor x, y;
        check(tdm_from_host(queue, x_data, types[type].dtype, TDM_SHAPE((int64_t)n), &x));
        check(tdm_empty(queue, types[type].dtype, TDM_SHAPE((int64_t)n), &y));
        check(functions[function].call(queue, &x, &y));
        check(tdm_to_host(queue, &y, y_data));
        for (size_t i = 0; i < n; i++) {
            const double value = value_of(type, x_data, i);
            compare(type, value, value_of(type, y_data, i), functions[function].value(value), f);
        }
        tdm_tensor_release(&x);
        tdm_tensor_release(&y);
    }
}

/* What a result of 16 bits is rounded by comes on top of f32's error, which is next to nothing there. */
static bool is_kept(const findings *f, int type, double promise) {
    return isinf(promise) ||
           (!f->wrong && f->ulp <= (type == F32 || promise == 0 ? promise : 0.5 + promise / 8192));
}

static int report(const char *device, int function, const findings *f, double promise) {
    int failures = 0;
    printf("%-9s %-9s", device, functions[function].name);
    for (int t = 0; t < TYPES; t++)
        printf("  %s %8.3g at %-13.8g", types[t].name, f[t].ulp, f[t].at);
    if (f[F32].subnormal > 0) printf("  subnormals %.3g", f[F32].subnormal);
    for (int t = 0; t < TYPES; t++) {
        if (f[t].wrong)
            printf("\n    %s: wrong %s at %.9g: %.9g for %.9g", types[t].name, f[t].wrong,
                   f[t].wrong_at, f[t].got, f[t].want);
        if (is_kept(&f[t], t, promise)) continue;
        printf("\n    %s: FAILED, the promise is %g ulp", types[t].name, promise);
        failures++;
    }
    printf("\n");
    fflush(stdout);
    return failures;
}

static findings found[MOST_DEVICES][FUNCTIONS][TYPES];

/* "–": none. */
static void print_number(const char *format, double number) {
    if (isinf(number))
        printf(" – |");
    else
        printf(format, number);
}

static void print_page(char *const *devices, int count, uint64_t inputs) {
    printf("# Accuracy\n"
           "\n"
           "The largest errors of the functions of one float in units in the last place of the "
           "result (ulp), as `accuracy --page`\n"
           "(tests/accuracy) found them, which wrote this page: of f32 at %" PRIu64
           " numbers spread over all bit patterns, of f16\n"
           "and bf16 at all 65,536. The reference is the C library in double. cpu was built for "
           "the baseline of x86-64, which has\n"
           "no FMA; opencl:0 is pocl with the kernels of a GPU, on a processor with FMA. The test "
           "`accuracy:cpu` fails above the\n"
           "promise for f32. Other devices have another promise where the function is their "
           "library's; that of silu and sigmoid is\n"
           "of GPUs without FMA. gelu has an absolute error (`tandem/ops.h`). A result of 16 bits "
           "is the f32 result rounded: half\n"
           "an ulp. The last column names special results that are wrong.\n",
           inputs);
    for (int d = 0; d < count; d++) {
        printf("\n## %s\n\n| function | promised | f32 | at | f16 | bf16 | wrong |\n"
               "| --- | --- | --- | --- | --- | --- | --- |\n",
               devices[d]);
        for (int i = 0; i < FUNCTIONS; i++) {
            const findings *f = found[d][i];
            if (!f->is_measured) continue;
            printf("| `%s` |", functions[i].name);
            print_number(" %g |", functions[i].promise[strncmp(devices[d], "cpu", 3) != 0]);
            printf(" %.2f | %.8g | %.2f | %.2f |", f[F32].ulp, f[F32].at, f[F16].ulp,
                   f[TYPES - 1].ulp);
            for (int t = 0; t < TYPES; t++)
                if (f[t].wrong)
                    printf(" %s of %s at %.8g", f[t].wrong, types[t].name, f[t].wrong_at);
            printf(" |\n");
        }
    }
}

static bool is_asked(const char *name, int count, char *const *names) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return count == 0;
}

static int on_device(const char *name, uint64_t inputs, int count, char *const *names, bool page,
                     findings (*f)[TYPES]) {
    tdm_device *device;
    tdm_queue *queue;
    int failures = 0;
    check(tdm_device_open(name, &device));
    check(tdm_queue_create(device, 0, &queue));
    for (int i = 0; i < FUNCTIONS; i++) {
        if (!is_asked(functions[i].name, count, names)) continue;
        for (int t = 0; t < TYPES; t++)
            measure(queue, t, i, inputs, &f[i][t]);
        const double promise = functions[i].promise[strncmp(name, "cpu", 3) != 0];
        if (!page) failures += report(name, i, f[i], promise);
    }
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return failures;
}

int main(int argc, char **argv) {
    const char *set = getenv("TDM_TEST_DEVICE");
    const bool page = argc > 1 && strcmp(argv[1], "--page") == 0;
    char **rest = argv + 1 + page, *devices[MOST_DEVICES] = {0}, list[256];
    uint64_t inputs = (uint64_t)1 << 20;
    int count = 0, failures = 0;
    if (*rest) {
        inputs = strcmp(*rest, "all") == 0 ? (uint64_t)1 << 32 : strtoull(*rest, NULL, 10);
        rest++;
    }
    if (inputs < 64 || inputs > (uint64_t)1 << 32)
        return fprintf(stderr, "usage: accuracy [--page] [INPUTS|all [FUNCTION ...]]\n"), 2;
    snprintf(list, sizeof list, "%s", set ? set : "cpu");
    for (char *at = strtok(list, ","); at && count < MOST_DEVICES; at = strtok(NULL, ","))
        devices[count++] = at;
    for (int d = 0; d < count; d++)
        failures += on_device(devices[d], inputs, (int)(argv + argc - rest), rest, page, found[d]);
    if (page) print_page(devices, count, inputs);
    return failures > 0;
}
