/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest errors of the functions of floats, in units in the last place of the result (ulp), on each device that
 * TDM_TEST_DEVICE names (cpu,opencl:0; NAME=LIBRARY is cpu of another build of Tandem): f32 at INPUTS numbers spread
 * over all bit patterns, or at all 2^32 of them; f16 and bf16 at all 65,536; of two and three floats as several.c has
 * them, 10^9 at most. Exit status 1 where one is above its promise, or where a NaN, an infinity or the sign of a zero
 * is wrong. The reference is the C library in double, whose errors are below 1e-6 ulp of f32.
 *
 *     accuracy [--page] [INPUTS|all [FUNCTION …]] */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy.h"
#include "function_errors.h"
#include "function_list.h"

enum { MOST_DEVICES = 8 };

#define ROOT_2_OVER_PI 0.79788456080286535588

/* X(name, value of x) */
#define REFERENCES(X)                                                                              \
    X(neg, -x)                                                                                     \
    X(abs, fabs(x))                                                                                \
    X(sign, x > 0 ? 1 : x < 0 ? -1 : x)                                                            \
    X(square, x *x)                                                                                \
    X(relu, x < 0 ? 0 : x)                                                                         \
    X(sqrt, sqrt(x))                                                                               \
    X(rsqrt, 1 / sqrt(x))                                                                          \
    X(reciprocal, 1 / x)                                                                           \
    X(exp, exp(x))                                                                                 \
    X(exp2, exp2(x))                                                                               \
    X(expm1, expm1(x))                                                                             \
    X(log, log(x))                                                                                 \
    X(log2, log2(x))                                                                               \
    X(log10, log10(x))                                                                             \
    X(log1p, log1p(x))                                                                             \
    X(sin, sin(x))                                                                                 \
    X(cos, cos(x))                                                                                 \
    X(tan, tan(x))                                                                                 \
    X(asin, asin(x))                                                                               \
    X(acos, acos(x))                                                                               \
    X(atan, atan(x))                                                                               \
    X(sinh, sinh(x))                                                                               \
    X(cosh, cosh(x))                                                                               \
    X(asinh, asinh(x))                                                                             \
    X(acosh, acosh(x))                                                                             \
    X(atanh, atanh(x))                                                                             \
    X(tanh, tanh(x))                                                                               \
    X(erf, erf(x))                                                                                 \
    X(erfc, erfc(x))                                                                               \
    X(floor, floor(x))                                                                             \
    X(ceil, ceil(x))                                                                               \
    X(round, rint(x))                                                                              \
    X(trunc, trunc(x))                                                                             \
    X(gelu, isinf(x) ? fmax(x, 0) : x / 2 * erfc(-x * M_SQRT1_2))                                  \
    X(gelu_tanh, isinf(x) ? fmax(x, 0) : x / (1 + exp(-2 * tanh_argument(x))))                     \
    X(silu, isinf(x) ? fmax(x, 0) : x / (1 + exp(-x)))                                             \
    X(sigmoid, 1 / (1 + exp(-x)))                                                                  \
    X(isnan, x != x)                                                                               \
    X(isinf, isinf(x) != 0)                                                                        \
    X(isfinite, isfinite(x) != 0)                                                                  \
    X(signbit, signbit(x) != 0)

static double tanh_argument(double x) { return ROOT_2_OVER_PI * (x + 0.044715 * x * x * x); }
#define REFERENCE(name, value)                                                                     \
    static double of_##name(double x) { return value; }
REFERENCES(REFERENCE)

/* Those of function_list.h, so that none is left out. */
static const struct {
    const char *name;
    tdm_status (*call)(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
    double (*value)(double x);
} functions[] = {
#define ROW(name) {#name, tdm_##name, of_##name},
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

/* of an error that is not one in ulps */
static const char *wrong(double got, double want) {
    if (isnan(want) != isnan(got)) return "NaN";
    if (isnan(want)) return NULL;
    if ((want == 0 || got == 0) && signbit(want) != signbit(got)) return "sign of 0";
    if (isinf(want) && !isinf(got)) return "infinity";
    return NULL;
}

void compare(int type, const double *operands, double got, double want, double least, findings *f) {
    uint64_t bits = 0x7ff8000000000000;
    if (!isnan(got)) memcpy(&bits, &got, sizeof bits);
    f->bits = (f->bits ^ bits) * 0x100000001b3u + (bits >> 29);
    const char *what = wrong(got, want);
    if (least > 0 && want != 0 && got == 0) what = NULL; /* a zero by cancellation has no sign */
    /* the limit at -Inf is 0 of either sign */
    if (what && !(isinf(operands[0]) && want == 0 && got == 0)) {
        if (!f->wrong) {
            f->wrong = what, f->got = got, f->want = want;
            memcpy(f->wrong_at, operands, sizeof f->wrong_at);
        }
        return;
    }
    if (isnan(want) || isinf(want) || got == want) return;
    const double limit = type == F16 ? 0x1p16 : 0x1p128; /* for which infinity stands */
    if (isinf(got)) got = copysign(limit, got);
    if (fabs(want) > limit) want = copysign(limit, want);
    const double size = fmax(fabs(want), least);
    int power = types[type].least;
    if (size >= ldexp(1, power)) power = ilogb(size);
    const double ulp = fabs(got - want) / ldexp(1, power - types[type].digits + 1);
    if (ulp > f->ulp) {
        f->ulp = ulp;
        memcpy(f->at, operands, sizeof f->at);
    }
    if (size < ldexp(1, types[type].least) && ulp > f->subnormal) f->subnormal = ulp;
}

void check(tdm_status status) {
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
            const double value[OPERANDS] = {value_of(type, x_data, i)};
            compare(type, value, value_of(type, y_data, i), functions[function].value(value[0]), 0,
                    f);
        }
        tdm_tensor_release(&x);
        tdm_tensor_release(&y);
    }
}

/* ---- rows: the functions of one float, then the others ---- */

enum { MOST_ROWS = FUNCTIONS + 32 };

static findings found[MOST_DEVICES][MOST_ROWS][TYPES];

static int row_count(void) { return FUNCTIONS + several_count; }

static const char *row_name(int row) {
    return row < FUNCTIONS ? functions[row].name : several_name(row - FUNCTIONS);
}

static int row_operands(int row) { return row < FUNCTIONS ? 1 : several_operands(row - FUNCTIONS); }

/* The promise of f32, which is 0 where nothing is rounded. */
static double promise_of(int row, const char *device) {
    static const struct {
        const char *name;
        double cpu, other;
    } errors[] = {
#define ERROR(NAME, name, cpu, other, any, number) {#name, cpu, other},
        TDM_FUNCTION_ERRORS(ERROR)};
    const bool is_cpu = strncmp(device, "opencl", 6) != 0 && strncmp(device, "cuda", 4) != 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, row_name(row)) == 0)
            return is_cpu ? errors[i].cpu : errors[i].other;
    return 0;
}

/* The rounding of a result of 16 bits comes on top of f32's error, which is next to nothing there. */
static bool is_kept(const findings *f, int type, double promise) {
    return !f->wrong && f->ulp <= (type == F32 || promise == 0 ? promise : 0.5 + promise / 8192);
}

static void print_operands(const double *at, int count) {
    for (int o = 0; o < count; o++)
        printf("%s%.9g", o ? ", " : "", at[o]);
}

static int report(const char *device, int row, const findings *f) {
    const double promise = promise_of(row, device);
    int failures = 0;
    printf("%-9s %-12s", device, row_name(row));
    for (int t = 0; t < TYPES && f[t].is_measured; t++) {
        printf("  %s %8.3g at ", types[t].name, f[t].ulp);
        print_operands(f[t].at, row_operands(row));
    }
    if (f[F32].subnormal > 0) printf("  subnormals %.3g", f[F32].subnormal);
    for (int t = 0; t < TYPES && f[t].is_measured; t++) {
        if (f[t].wrong) {
            printf("\n    %s: wrong %s at ", types[t].name, f[t].wrong);
            print_operands(f[t].wrong_at, row_operands(row));
            printf(": %.9g for %.9g", f[t].got, f[t].want);
        }
        if (is_kept(&f[t], t, promise)) continue;
        printf("\n    %s: FAILED, the promise is %g ulp", types[t].name, promise);
        failures++;
    }
    printf("\n");
    fflush(stdout);
    return failures;
}

/* "–": none. */
static void print_number(const char *format, double number) {
    if (isinf(number))
        printf(" – |");
    else
        printf(format, number);
}

static void print_table(const char *device, const findings (*f)[TYPES]) {
    printf("\n## %s\n\n| function | promised | f32 | at | f16 | bf16 | wrong |\n"
           "| --- | --- | --- | --- | --- | --- | --- |\n",
           device);
    for (int i = 0; i < row_count(); i++) {
        if (!f[i][F32].is_measured) continue;
        printf("| `%s` |", row_name(i));
        print_number(" %g |", promise_of(i, device));
        printf(" %.2f | ", f[i][F32].ulp);
        print_operands(f[i][F32].at, row_operands(i));
        for (int t = F16; t < TYPES; t++)
            if (f[i][t].is_measured)
                printf(" | %.2f", f[i][t].ulp);
            else
                printf(" | –");
        printf(" |");
        for (int t = 0; t < TYPES; t++) {
            if (!f[i][t].wrong) continue;
            printf(" %s of %s at ", f[i][t].wrong, types[t].name);
            print_operands(f[i][t].wrong_at, row_operands(i));
        }
        printf(" |\n");
    }
}

/* Which functions give other bits on two devices, of f32 or of a 16-bit dtype. */
static void print_differences(char *const *devices, int a, int b) {
    int different = 0;
    printf("| %s, %s |", devices[a], devices[b]);
    for (int i = 0; i < row_count(); i++) {
        bool differs = false;
        for (int t = 0; t < TYPES; t++)
            differs = differs || found[a][i][t].bits != found[b][i][t].bits;
        if (differs) printf("%s `%s`", different++ ? "," : "", row_name(i));
    }
    printf(" | %d of %d |\n", row_count() - different, row_count());
}

static void print_page(char *const *devices, int count, uint64_t inputs) {
    printf("# Accuracy\n"
           "\n"
           "The largest errors of the functions of floats in units in the last place of the result "
           "(ulp), as `accuracy --page`\n"
           "(tests/accuracy) found them, which wrote this page: of f32 at %" PRIu64
           " numbers spread over all bit patterns, of f16\n"
           "and bf16 at all 65,536; of two and three operands at as many pairs, half of them hard "
           "or special. The reference is\n"
           "the C library in double. cpu has a table for each instruction set: the baseline of "
           "x86-64 has no FMA, AVX2 has.\n"
           "opencl:0 is pocl, cuda:0 is CUDA's text compiled as C for a simulated machine. The "
           "test `accuracy:cpu` fails above\n"
           "the promise for f32; other devices have another promise where the function divides, "
           "takes a root or is their\n"
           "library's (kernels/function_errors.h). gelu has an absolute error (`tandem/ops.h`); "
           "that of logaddexp is in units of\n"
           "the larger operand where that is larger than the result. A result of 16 bits is the "
           "f32 result rounded: half an\n"
           "ulp. The last column names special results that are wrong.\n",
           inputs);
    for (int d = 0; d < count; d++)
        print_table(devices[d], (const findings(*)[TYPES])found[d]);
    if (count < 2) return;
    printf("\n## The same bits\n\nFor each two of these devices, the functions that gave other "
           "bits at any of the numbers above.\n\n| devices | other bits | the same |\n"
           "| --- | --- | --- |\n");
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            print_differences(devices, a, b);
}

/* ---- devices ---- */

static bool is_asked(const char *name, int count, char *const *names) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return count == 0;
}

static void on_device(const char *name, uint64_t inputs, int count, char *const *names,
                      findings (*f)[TYPES]) {
    const uint64_t most = 1000000000;
    tdm_device *device;
    tdm_queue *queue;
    check(tdm_device_open(name, &device));
    check(tdm_queue_create(device, 0, &queue));
    for (int i = 0; i < row_count(); i++) {
        if (!is_asked(row_name(i), count, names)) continue;
        if (i >= FUNCTIONS) {
            measure_several(queue, i - FUNCTIONS, inputs < most ? inputs : most, f[i]);
            continue;
        }
        for (int t = 0; t < TYPES; t++)
            measure(queue, t, i, inputs, &f[i][t]);
    }
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

/* cpu by another library, put before this one: in a program that this one starts, and that writes what it found. Texts
 * of it are not there any more. */
static void by_library(const char *library, char *const *argv, findings (*f)[TYPES]) {
    char command[1024];
    int used = snprintf(command, sizeof command, "LD_PRELOAD='%s' TDM_TEST_DEVICE=cpu '%s' --raw",
                        library, argv[0]);
    for (int i = 1; argv[i] && used < (int)sizeof command; i++)
        if (strcmp(argv[i], "--page") != 0)
            used += snprintf(command + used, sizeof command - (size_t)used, " '%s'", argv[i]);
    FILE *from = used < (int)sizeof command ? popen(command, "r") : NULL;
    const bool got = from && fread(f, sizeof found[0], 1, from) == 1;
    if (!from || pclose(from) != 0 || !got) {
        fprintf(stderr, "accuracy: %s failed\n", command);
        exit(2);
    }
    for (int i = 0; i < row_count(); i++)
        for (int t = 0; t < TYPES; t++)
            if (f[i][t].wrong) f[i][t].wrong = "a special value";
}

int main(int argc, char **argv) {
    const char *set = getenv("TDM_TEST_DEVICE");
    const bool page = argc > 1 && strcmp(argv[1], "--page") == 0;
    const bool raw = argc > 1 && strcmp(argv[1], "--raw") == 0;
    char **rest = argv + 1 + (page || raw), *devices[MOST_DEVICES] = {0}, list[1024];
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
    for (int d = 0; d < count; d++) {
        char *library = strchr(devices[d], '=');
        if (library) {
            *library++ = 0;
            by_library(library, argv, found[d]);
        } else {
            on_device(devices[d], inputs, (int)(argv + argc - rest), rest, found[d]);
        }
        if (raw && fwrite(found[d], sizeof found[d], 1, stdout) != 1) return 2;
        for (int i = 0; i < row_count() && !page && !raw; i++)
            if (found[d][i][F32].is_measured) failures += report(devices[d], i, found[d][i]);
    }
    if (page) print_page(devices, count, inputs);
    return failures > 0;
}
