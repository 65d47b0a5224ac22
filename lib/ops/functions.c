/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of expressions as calls. A device keeps the kernel of each; which functions there are
 * says function_list.h: one that has no name here does not compile. */
#include <tandem/functions.h>

#include <math.h>

#include "elementwise.h"
#include "function_errors.h"
#include "verify.h"

static const struct {
    double factor, number; /* in e|y|, and in e */
} errors[TDMI_KEPT_KERNEL_COUNT] = {
#define ERROR(NAME, name, cpu, other, any, number) [TDM_FUNCTION_##NAME] = {any, number},
    TDM_FUNCTION_ERRORS(ERROR)};

/* exact of integers */
static bool is_of_numbers(int which) {
    return which == TDM_FUNCTION_DIV || which == TDM_FUNCTION_REM || which == TDM_FUNCTION_SQUARE ||
           which == TDM_FUNCTION_REMAINDER || which == TDM_FUNCTION_FLOOR_DIVIDE;
}

static tdm_status call(const char *function, tdm_queue *queue, int which, const char *text,
                       const tdm_argument *arguments, size_t count, unsigned scalars,
                       tdm_parameter_kind kind);

static tdm_status call_again(const tdmi_verification *v, const char *function, int which,
                             const char *text, const tdm_argument *arguments, size_t count,
                             unsigned scalars, tdm_parameter_kind kind) {
    tdm_argument again[4];
    for (size_t i = 0; i < count; i++) {
        again[i] = arguments[i];
        again[i].tensor = v->t[i];
    }
    return call(function, v->queue, which, text, again, count, scalars, kind);
}

static tdm_status call(const char *function, tdm_queue *queue, int which, const char *text,
                       const tdm_argument *arguments, size_t count, unsigned scalars,
                       tdm_parameter_kind kind) {
    if (queue && queue->verifies) {
        tdmi_arg args[4];
        bool floats = false;
        for (size_t i = 0; i < count; i++) {
            const tdm_tensor *const tensor = arguments[i].tensor;
            floats = floats || (tensor && tdm_dtype_is_float(tensor->dtype));
            args[i] =
                (tdmi_arg){arguments[i].name, tensor, i + 1 == count ? TDMI_ARG_OUTPUT : 0, 0};
        }
        const bool is_exact = errors[which].factor == 0 || (is_of_numbers(which) && !floats);
        TDMI_VERIFY(function, queue, args, (int)count,
                    call_again(v, function, which, text, arguments, count, scalars, kind),
                    .kind = is_exact ? TDMI_VERIFY_EXACT : TDMI_VERIFY_ULPS,
                    .factor = errors[which].factor, .number = errors[which].number)
    }
    return tdmi_call_texts(function, queue, which, &(tdmi_texts){.statements = text}, arguments,
                           count, scalars, kind);
}

static tdm_status call_of_two(const char *function, tdm_queue *queue, int which, const char *text,
                              const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y) {
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("a", a), TDM_WITH_TENSOR("b", b),
                                      TDM_WITH_TENSOR("y", y)};
    return call(function, queue, which, text, arguments, 3, 0, TDM_PARAMETER_TENSOR);
}

/* Are all of one dtype, a float? */
static bool are_alike(const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *y) {
    return a && b && y && a->dtype == y->dtype && b->dtype == y->dtype &&
           tdm_dtype_is_float(y->dtype);
}

#define DEFINE_1(name, NAME, text)                                                                 \
    tdm_status tdm_##name(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {                  \
        TDMI_UNCANCELLED();                                                                        \
        const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", x), TDM_WITH_TENSOR("y", y)};       \
        return call("tdm_" #name, queue, TDM_FUNCTION_##NAME, text, arguments, 2, 0,               \
                    TDM_PARAMETER_TENSOR);                                                         \
    }
#define DEFINE_2(name, NAME, text)                                                                 \
    tdm_status tdm_##name(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,              \
                          tdm_tensor *y) {                                                         \
        TDMI_UNCANCELLED();                                                                        \
        return call_of_two("tdm_" #name, queue, TDM_FUNCTION_##NAME, text, a, b, y);               \
    }
/* Of floats of one dtype by a kernel of the library. */
#define DEFINE_KERNEL(name, NAME, text)                                                            \
    tdm_status tdm_##name(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,              \
                          tdm_tensor *y) {                                                         \
        TDMI_UNCANCELLED();                                                                        \
        if (are_alike(a, b, y))                                                                    \
            return tdmi_combine_alike("tdm_" #name, queue, TDM_OP_##NAME, a, b, y);                \
        return call_of_two("tdm_" #name, queue, TDM_FUNCTION_##NAME, text, a, b, y);               \
    }
/* Texts compute with f32, whose next number is the same one in 16 bits; these are of the bits of one such dtype. */
#define NEXT_TEXT(infinity)                                                                        \
    "m = a & 32767; n = b & 32767; p = a > 32767 ? -m : m; q = b > 32767 ? -n : n\n"               \
    "next = p < q ? p + 1 : p - 1\n"                                                               \
    "y = m > " infinity " || n > " infinity                                                        \
    " ? 32767 : p == q ? b : next < 0 || next == 0 && p < 0 ? 32768 - next : next"
#define DEFINE_NEXT(name, NAME, text)                                                              \
    tdm_status tdm_##name(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,              \
                          tdm_tensor *y) {                                                         \
        TDMI_UNCANCELLED();                                                                        \
        const char *const function = "tdm_" #name;                                                 \
        if (!are_alike(a, b, y) || tdm_dtype_size(y->dtype) != 2)                                  \
            return call_of_two(function, queue, TDM_FUNCTION_##NAME, text, a, b, y);               \
        const bool is_f16 = y->dtype == TDM_F16;                                                   \
        tdm_tensor views[] = {*a, *b, *y};                                                         \
        views[0].dtype = views[1].dtype = views[2].dtype = TDM_U16;                                \
        return call_of_two(function, queue, is_f16 ? TDMI_NEXT_F16 : TDMI_NEXT_BF16,               \
                           is_f16 ? NEXT_TEXT("31744") : NEXT_TEXT("32640"), &views[0], &views[1], \
                           &views[2]);                                                             \
    }
#define DEFINE_OF_THREE(name, NAME, text, a, b, c)                                                 \
    tdm_status tdm_##name(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,              \
                          const tdm_tensor *c, tdm_tensor *y) {                                    \
        TDMI_UNCANCELLED();                                                                        \
        const tdm_argument arguments[] = {TDM_WITH_TENSOR(#a, a), TDM_WITH_TENSOR(#b, b),          \
                                          TDM_WITH_TENSOR(#c, c), TDM_WITH_TENSOR("y", y)};        \
        return call("tdm_" #name, queue, TDM_FUNCTION_##NAME, text, arguments, 4, 0,               \
                    TDM_PARAMETER_TENSOR);                                                         \
    }
#define DEFINE_3(name, NAME, text) DEFINE_OF_THREE(name, NAME, text, a, b, c)
#define DEFINE_WHERE(name, NAME, text) DEFINE_OF_THREE(name, NAME, text, c, a, b)

/* Those without are tdm_cast, or are no functions of texts. */
#define NAMED_ADD(DEFINE) DEFINE_KERNEL(add, ADD, "y = a + b")
#define NAMED_SUB(DEFINE) DEFINE_KERNEL(sub, SUB, "y = a - b")
#define NAMED_MUL(DEFINE) DEFINE_KERNEL(mul, MUL, "y = a * b")
#define NAMED_DIV(DEFINE) DEFINE_2(div, DIV, "y = a / b")
#define NAMED_REM(DEFINE) DEFINE_2(rem, REM, "y = a % b")
#define NAMED_NEG(DEFINE) DEFINE_1(neg, NEG, "y = -x")
#define NAMED_AND(DEFINE) DEFINE_2(bitwise_and, AND, "y = a & b")
#define NAMED_OR(DEFINE) DEFINE_2(bitwise_or, OR, "y = a | b")
#define NAMED_XOR(DEFINE) DEFINE_2(bitwise_xor, XOR, "y = a ^ b")
#define NAMED_NOT(DEFINE) DEFINE_1(bitwise_not, NOT, "y = ~x")
#define NAMED_SHL(DEFINE) DEFINE_2(shift_left, SHL, "y = a << b")
#define NAMED_SHR(DEFINE) DEFINE_2(shift_right, SHR, "y = a >> b")
#define NAMED_EQ(DEFINE) DEFINE_2(equal, EQ, "y = a == b")
#define NAMED_NE(DEFINE) DEFINE_2(not_equal, NE, "y = a != b")
#define NAMED_LT(DEFINE) DEFINE_2(less, LT, "y = a < b")
#define NAMED_LE(DEFINE) DEFINE_2(less_equal, LE, "y = a <= b")
#define NAMED_GT(DEFINE) DEFINE_2(greater, GT, "y = a > b")
#define NAMED_GE(DEFINE) DEFINE_2(greater_equal, GE, "y = a >= b")
#define NAMED_WHERE(DEFINE) DEFINE_WHERE(where, WHERE, "y = where(c, a, b)")
#define NAMED_MIN(DEFINE) DEFINE_2(minimum, MIN, "y = min(a, b)")
#define NAMED_MAX(DEFINE) DEFINE_2(maximum, MAX, "y = max(a, b)")
#define NAMED_ABS(DEFINE) DEFINE_1(abs, ABS, "y = abs(x)")
#define NAMED_SIGN(DEFINE) DEFINE_1(sign, SIGN, "y = sign(x)")
#define NAMED_SQUARE(DEFINE) DEFINE_1(square, SQUARE, "y = square(x)")
#define NAMED_FLOOR_DIVIDE(DEFINE) DEFINE_2(floor_divide, FLOOR_DIVIDE, "y = floor_divide(a, b)")
#define NAMED_REMAINDER(DEFINE) DEFINE_2(remainder, REMAINDER, "y = remainder(a, b)")
#define NAMED_RELU(DEFINE) DEFINE_1(relu, RELU, "y = relu(x)")
#define NAMED_SQRT(DEFINE) DEFINE_1(sqrt, SQRT, "y = sqrt(x)")
#define NAMED_RSQRT(DEFINE) DEFINE_1(rsqrt, RSQRT, "y = rsqrt(x)")
#define NAMED_RECIPROCAL(DEFINE) DEFINE_1(reciprocal, RECIPROCAL, "y = reciprocal(x)")
#define NAMED_HYPOT(DEFINE) DEFINE_2(hypot, HYPOT, "y = hypot(a, b)")
#define NAMED_EXP(DEFINE) DEFINE_1(exp, EXP, "y = exp(x)")
#define NAMED_EXP2(DEFINE) DEFINE_1(exp2, EXP2, "y = exp2(x)")
#define NAMED_EXPM1(DEFINE) DEFINE_1(expm1, EXPM1, "y = expm1(x)")
#define NAMED_LOG(DEFINE) DEFINE_1(log, LOG, "y = log(x)")
#define NAMED_LOG2(DEFINE) DEFINE_1(log2, LOG2, "y = log2(x)")
#define NAMED_LOG10(DEFINE) DEFINE_1(log10, LOG10, "y = log10(x)")
#define NAMED_LOG1P(DEFINE) DEFINE_1(log1p, LOG1P, "y = log1p(x)")
#define NAMED_LOGADDEXP(DEFINE) DEFINE_2(logaddexp, LOGADDEXP, "y = logaddexp(a, b)")
#define NAMED_POW(DEFINE) DEFINE_2(pow, POW, "y = pow(a, b)")
#define NAMED_SIN(DEFINE) DEFINE_1(sin, SIN, "y = sin(x)")
#define NAMED_COS(DEFINE) DEFINE_1(cos, COS, "y = cos(x)")
#define NAMED_TAN(DEFINE) DEFINE_1(tan, TAN, "y = tan(x)")
#define NAMED_ASIN(DEFINE) DEFINE_1(asin, ASIN, "y = asin(x)")
#define NAMED_ACOS(DEFINE) DEFINE_1(acos, ACOS, "y = acos(x)")
#define NAMED_ATAN(DEFINE) DEFINE_1(atan, ATAN, "y = atan(x)")
#define NAMED_ATAN2(DEFINE) DEFINE_2(atan2, ATAN2, "y = atan2(a, b)")
#define NAMED_SINH(DEFINE) DEFINE_1(sinh, SINH, "y = sinh(x)")
#define NAMED_COSH(DEFINE) DEFINE_1(cosh, COSH, "y = cosh(x)")
#define NAMED_ASINH(DEFINE) DEFINE_1(asinh, ASINH, "y = asinh(x)")
#define NAMED_ACOSH(DEFINE) DEFINE_1(acosh, ACOSH, "y = acosh(x)")
#define NAMED_ATANH(DEFINE) DEFINE_1(atanh, ATANH, "y = atanh(x)")
#define NAMED_TANH(DEFINE) DEFINE_1(tanh, TANH, "y = tanh(x)")
#define NAMED_ERF(DEFINE) DEFINE_1(erf, ERF, "y = erf(x)")
#define NAMED_ERFC(DEFINE) DEFINE_1(erfc, ERFC, "y = erfc(x)")
#define NAMED_FLOOR(DEFINE) DEFINE_1(floor, FLOOR, "y = floor(x)")
#define NAMED_CEIL(DEFINE) DEFINE_1(ceil, CEIL, "y = ceil(x)")
#define NAMED_ROUND(DEFINE) DEFINE_1(round, ROUND, "y = round(x)")
#define NAMED_TRUNC(DEFINE) DEFINE_1(trunc, TRUNC, "y = trunc(x)")
#define NAMED_FMA(DEFINE) DEFINE_3(fma, FMA, "y = fma(a, b, c)")
#define NAMED_COPYSIGN(DEFINE) DEFINE_2(copysign, COPYSIGN, "y = copysign(a, b)")
#define NAMED_NEXTAFTER(DEFINE) DEFINE_NEXT(nextafter, NEXTAFTER, "y = nextafter(a, b)")
#define NAMED_GELU(DEFINE) DEFINE_1(gelu, GELU, "y = gelu(x)")
#define NAMED_GELU_TANH(DEFINE) DEFINE_1(gelu_tanh, GELU_TANH, "y = gelu_tanh(x)")
#define NAMED_SILU(DEFINE) DEFINE_1(silu, SILU, "y = silu(x)")
#define NAMED_SIGMOID(DEFINE) DEFINE_1(sigmoid, SIGMOID, "y = sigmoid(x)")
#define NAMED_ISNAN(DEFINE) DEFINE_1(isnan, ISNAN, "y = isnan(x)")
#define NAMED_ISINF(DEFINE) DEFINE_1(isinf, ISINF, "y = isinf(x)")
#define NAMED_ISFINITE(DEFINE) DEFINE_1(isfinite, ISFINITE, "y = isfinite(x)")
#define NAMED_SIGNBIT(DEFINE) DEFINE_1(signbit, SIGNBIT, "y = signbit(x)")
#define NAMED_TO_BOOL(DEFINE)
#define NAMED_TO_I32(DEFINE)
#define NAMED_TO_U32(DEFINE)
#define NAMED_TO_I64(DEFINE)
#define NAMED_TO_U64(DEFINE)
#define NAMED_TO_F32(DEFINE)
#define NAMED_TO_F64(DEFINE)
#define NAMED_MUL_ADD(DEFINE)
#define NAMED_MUL_SUB(DEFINE)
#define NAMED_SUB_MUL(DEFINE)

#define NAMED(NAME, name, arity, class, result) NAMED_##NAME(DEFINE)
TDM_FUNCTION_LIST(NAMED)

tdm_status tdm_clamp(tdm_queue *queue, const tdm_tensor *x, double low, double high,
                     tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_clamp", text[] = "y = clamp(x, low, high)";
    if (isnan(low) || isnan(high))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NaN, which is not a limit",
                         function, isnan(low) ? "low" : "high");
    const bool floats = !x || (unsigned)x->dtype >= TDM_DTYPE_COUNT || tdm_dtype_is_float(x->dtype);
    /* a limit beyond the range of the type in which x is compared is that of the range */
    const tdm_dtype type = floats                 ? TDM_F32
                           : x->dtype == TDM_BOOL ? TDM_I32
                                                  : tdmi_type_dtype(tdmi_type_of(x->dtype));
    tdm_argument arguments[] = {TDM_WITH_TENSOR("x", x), TDM_WITH_NUMBER("low", low),
                                TDM_WITH_NUMBER("high", high), TDM_WITH_TENSOR("y", y)};
    arguments[1].integer = (int64_t)tdmi_element_bits(type, ceil(low));
    arguments[2].integer = (int64_t)tdmi_element_bits(type, floor(high));
    return call(function, queue, floats ? TDMI_CLAMP_NUMBERS : TDMI_CLAMP_INTEGERS, text, arguments,
                4, 1u << 1 | 1u << 2, floats ? TDM_PARAMETER_NUMBER : TDM_PARAMETER_INTEGER);
}
