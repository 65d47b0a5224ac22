/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The functions of expressions under their own names: an element of y for each element.
 *
 * Each computes what the expression of that name does, with the rules of kernel.h: tensors of any dtypes, which
 * meet in a type as there; functions of floats take integers, too; y is of any dtype, to which the result is
 * converted once, as tdm_cast does. Comparisons and tests give 1 or 0, for a y of bool or any other dtype. Operands are
 * broadcast to y's shape as in NumPy, with strides of any kind. In place: y may be exactly the same view as an operand.
 * An empty y is a no-op that succeeds. All of this holds for tdm_add, tdm_sub and tdm_mul of ops.h, too.
 *
 * Error: functions that choose, compare, round to an integer or change a sign are exact, and so are rem, nextafter and
 * the arithmetic of integers. In f32 the others are off by at most so many units in the last place of the result:
 *
 * - on every device: square, fma and remainder, which are rounded once, 0.501; exp, expm1, log1p, erf, and sin and cos
 *   of any number 1; exp2 0.8, log and log10 0.85, log2 0.9; tanh 6.2, gelu_tanh 160;
 * - on cpu, then on other devices, if their divisions, roots and library are as exact as OpenCL C 1.2, 7.4 demands:
 *   div 0.501 and 2.5, reciprocal 0.51 and 2.5, sqrt 0.51 and 3, rsqrt 1.5 and 4, hypot 1 and 4, pow 1 and 16, sigmoid
 *   1.4 and 1.7, silu 1.5 and 2.1, tan 2 and 4, asin 1.3 and 4, acos 1 and 4, atan 1.4 and 4, atan2 2 and 6, sinh 1.4
 *   and 3, cosh 1.3 and 3, asinh 0.9 and 4, acosh 1.2 and 4, atanh 1.1 and 5, erfc 2.6 and 4; floor_divide, which is
 *   exact below 2^24, 2 and 4.
 *
 * In f64, and in f32 where that is less, they are off by at most e|y|, with e as in ops.h, times 1 for square and
 * remainder, 0.5 for fma, 3 for div, reciprocal, sqrt, exp and log, 4 for rsqrt, exp2, expm1, log2, log10, log1p and
 * floor_divide, 5 for hypot, sin, cos, asin, acos, sinh, cosh, asinh and acosh, 6 for tan, atan, atanh and sigmoid, 7
 * for atan2, tanh and silu, 8 for gelu and gelu_tanh, and 17 for pow, erf and erfc; and by e more for sin, cos, tan and
 * gelu_tanh, 2e for gelu. f16 and bf16 round the result in f32. docs/accuracy.md has the largest errors that were
 * found.
 *
 * The first call for certain dtypes and kinds of strides makes a kernel, which OpenCL and CUDA devices compile, or
 * take from disk; later ones start it as any operation, in every queue. The kernels are the device's.
 *
 * Threads: as the queue. */
#ifndef TANDEM_FUNCTIONS_H
#define TANDEM_FUNCTIONS_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** y = a / b. */
TDM_API TDM_MUST_USE tdm_status tdm_div(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y);
/** y = a % b, of the sign of a. */
TDM_API TDM_MUST_USE tdm_status tdm_rem(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y);
/** y = a % b, of the sign of b: a less b times what tdm_floor_divide gives. Of floats a 0 has that sign, too. */
TDM_API TDM_MUST_USE tdm_status tdm_remainder(tdm_queue *queue, const tdm_tensor *a,
                                              const tdm_tensor *b, tdm_tensor *y);
/** y = a / b, rounded down, not after the quotient is rounded: 1 and the f32 0.1, which is more than a tenth, give 9.
 * Floats give a / b where one is infinite, or b is 0. */
TDM_API TDM_MUST_USE tdm_status tdm_floor_divide(tdm_queue *queue, const tdm_tensor *a,
                                                 const tdm_tensor *b, tdm_tensor *y);
/** y = -x. */
TDM_API TDM_MUST_USE tdm_status tdm_neg(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = a & b; of bools: and. */
TDM_API TDM_MUST_USE tdm_status tdm_bitwise_and(tdm_queue *queue, const tdm_tensor *a,
                                                const tdm_tensor *b, tdm_tensor *y);
/** y = a | b. */
TDM_API TDM_MUST_USE tdm_status tdm_bitwise_or(tdm_queue *queue, const tdm_tensor *a,
                                               const tdm_tensor *b, tdm_tensor *y);
/** y = a ^ b. */
TDM_API TDM_MUST_USE tdm_status tdm_bitwise_xor(tdm_queue *queue, const tdm_tensor *a,
                                                const tdm_tensor *b, tdm_tensor *y);
/** y = ~x; of bools: not. */
TDM_API TDM_MUST_USE tdm_status tdm_bitwise_not(tdm_queue *queue, const tdm_tensor *x,
                                                tdm_tensor *y);
/** y = a << b. */
TDM_API TDM_MUST_USE tdm_status tdm_shift_left(tdm_queue *queue, const tdm_tensor *a,
                                               const tdm_tensor *b, tdm_tensor *y);
/** y = a >> b. */
TDM_API TDM_MUST_USE tdm_status tdm_shift_right(tdm_queue *queue, const tdm_tensor *a,
                                                const tdm_tensor *b, tdm_tensor *y);
/** y = a == b. */
TDM_API TDM_MUST_USE tdm_status tdm_equal(tdm_queue *queue, const tdm_tensor *a,
                                          const tdm_tensor *b, tdm_tensor *y);
/** y = a != b. */
TDM_API TDM_MUST_USE tdm_status tdm_not_equal(tdm_queue *queue, const tdm_tensor *a,
                                              const tdm_tensor *b, tdm_tensor *y);
/** y = a < b. */
TDM_API TDM_MUST_USE tdm_status tdm_less(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                         tdm_tensor *y);
/** y = a <= b. */
TDM_API TDM_MUST_USE tdm_status tdm_less_equal(tdm_queue *queue, const tdm_tensor *a,
                                               const tdm_tensor *b, tdm_tensor *y);
/** y = a > b. */
TDM_API TDM_MUST_USE tdm_status tdm_greater(tdm_queue *queue, const tdm_tensor *a,
                                            const tdm_tensor *b, tdm_tensor *y);
/** y = a >= b. */
TDM_API TDM_MUST_USE tdm_status tdm_greater_equal(tdm_queue *queue, const tdm_tensor *a,
                                                  const tdm_tensor *b, tdm_tensor *y);
/** y = c ? a : b; of c, what is not 0 is true. */
TDM_API TDM_MUST_USE tdm_status tdm_where(tdm_queue *queue, const tdm_tensor *c,
                                          const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y);
/** y = min(a, b). */
TDM_API TDM_MUST_USE tdm_status tdm_minimum(tdm_queue *queue, const tdm_tensor *a,
                                            const tdm_tensor *b, tdm_tensor *y);
/** y = max(a, b). */
TDM_API TDM_MUST_USE tdm_status tdm_maximum(tdm_queue *queue, const tdm_tensor *a,
                                            const tdm_tensor *b, tdm_tensor *y);
/** y = |x|. */
TDM_API TDM_MUST_USE tdm_status tdm_abs(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = -1, 0 or 1. */
TDM_API TDM_MUST_USE tdm_status tdm_sign(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x². */
TDM_API TDM_MUST_USE tdm_status tdm_square(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = max(x, 0). */
TDM_API TDM_MUST_USE tdm_status tdm_relu(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = √x. */
TDM_API TDM_MUST_USE tdm_status tdm_sqrt(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = 1 / √x. */
TDM_API TDM_MUST_USE tdm_status tdm_rsqrt(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = 1 / x. */
TDM_API TDM_MUST_USE tdm_status tdm_reciprocal(tdm_queue *queue, const tdm_tensor *x,
                                               tdm_tensor *y);
/** y = √(a² + b²), without overflow of the squares; Inf where one is infinite, even if the other is
 * NaN. */
TDM_API TDM_MUST_USE tdm_status tdm_hypot(tdm_queue *queue, const tdm_tensor *a,
                                          const tdm_tensor *b, tdm_tensor *y);
/** y = e^x. */
TDM_API TDM_MUST_USE tdm_status tdm_exp(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = 2^x. */
TDM_API TDM_MUST_USE tdm_status tdm_exp2(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = e^x - 1. */
TDM_API TDM_MUST_USE tdm_status tdm_expm1(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = ln x. */
TDM_API TDM_MUST_USE tdm_status tdm_log(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the logarithm of x to base 2. */
TDM_API TDM_MUST_USE tdm_status tdm_log2(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the logarithm of x to base 10. */
TDM_API TDM_MUST_USE tdm_status tdm_log10(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = ln(1 + x). */
TDM_API TDM_MUST_USE tdm_status tdm_log1p(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = ln(e^a + e^b), without overflow. Error: 4e(|y| + max(|a|, |b|)), with e as in ops.h. */
TDM_API TDM_MUST_USE tdm_status tdm_logaddexp(tdm_queue *queue, const tdm_tensor *a,
                                              const tdm_tensor *b, tdm_tensor *y);
/** y = a^b. */
TDM_API TDM_MUST_USE tdm_status tdm_pow(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y);
/** y = sin x. */
TDM_API TDM_MUST_USE tdm_status tdm_sin(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = cos x. */
TDM_API TDM_MUST_USE tdm_status tdm_cos(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = tan x. */
TDM_API TDM_MUST_USE tdm_status tdm_tan(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = arcsin x. */
TDM_API TDM_MUST_USE tdm_status tdm_asin(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = arccos x. */
TDM_API TDM_MUST_USE tdm_status tdm_acos(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = arctan x. */
TDM_API TDM_MUST_USE tdm_status tdm_atan(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the angle of the point (b, a). */
TDM_API TDM_MUST_USE tdm_status tdm_atan2(tdm_queue *queue, const tdm_tensor *a,
                                          const tdm_tensor *b, tdm_tensor *y);
/** y = sinh x. */
TDM_API TDM_MUST_USE tdm_status tdm_sinh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = cosh x. */
TDM_API TDM_MUST_USE tdm_status tdm_cosh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the inverse of sinh at x. */
TDM_API TDM_MUST_USE tdm_status tdm_asinh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the inverse of cosh at x, which is not negative. */
TDM_API TDM_MUST_USE tdm_status tdm_acosh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = the inverse of tanh at x. */
TDM_API TDM_MUST_USE tdm_status tdm_atanh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = tanh x. */
TDM_API TDM_MUST_USE tdm_status tdm_tanh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = erf x. */
TDM_API TDM_MUST_USE tdm_status tdm_erf(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = 1 - erf x. */
TDM_API TDM_MUST_USE tdm_status tdm_erfc(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x, rounded down. */
TDM_API TDM_MUST_USE tdm_status tdm_floor(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x, rounded up. */
TDM_API TDM_MUST_USE tdm_status tdm_ceil(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x, rounded to the nearest integer, of two the even one. */
TDM_API TDM_MUST_USE tdm_status tdm_round(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x, rounded towards 0. */
TDM_API TDM_MUST_USE tdm_status tdm_trunc(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = a b + c, rounded once. Integers are computed as floats. */
TDM_API TDM_MUST_USE tdm_status tdm_fma(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        const tdm_tensor *c, tdm_tensor *y);
/** y = a with the sign of b, of zeros and NaN, too. */
TDM_API TDM_MUST_USE tdm_status tdm_copysign(tdm_queue *queue, const tdm_tensor *a,
                                             const tdm_tensor *b, tdm_tensor *y);
/** y = the number after a in the direction of b, b where they are equal: that of the dtype of a, b and y where they
 * have one, else of the type in which expressions compute, which is not of 16 bits. */
TDM_API TDM_MUST_USE tdm_status tdm_nextafter(tdm_queue *queue, const tdm_tensor *a,
                                              const tdm_tensor *b, tdm_tensor *y);
/** y = gelu(x), the activation of ops.h. */
TDM_API TDM_MUST_USE tdm_status tdm_gelu(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = gelu_tanh(x), the activation of ops.h. */
TDM_API TDM_MUST_USE tdm_status tdm_gelu_tanh(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = silu(x), the activation of ops.h. */
TDM_API TDM_MUST_USE tdm_status tdm_silu(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = 1 / (1 + e^-x). */
TDM_API TDM_MUST_USE tdm_status tdm_sigmoid(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** Is x NaN? */
TDM_API TDM_MUST_USE tdm_status tdm_isnan(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** Is x Inf or -Inf? */
TDM_API TDM_MUST_USE tdm_status tdm_isinf(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** Is x neither NaN nor infinite? */
TDM_API TDM_MUST_USE tdm_status tdm_isfinite(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** Is x negative, -0 or a NaN of that sign? */
TDM_API TDM_MUST_USE tdm_status tdm_signbit(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);
/** y = x, but low where x is below low, and then high where it is above high; NaN stays. An integer x is compared as
 * the integer type in which expressions compute with it, with the integers of that type between low and high; where
 * there is none, as between 0.2 and 0.8, y is the next integer below high. A limit of NaN is refused. */
TDM_API TDM_MUST_USE tdm_status tdm_clamp(tdm_queue *queue, const tdm_tensor *x, double low,
                                          double high, tdm_tensor *y);

#if defined(__cplusplus)
}
#endif
#endif
