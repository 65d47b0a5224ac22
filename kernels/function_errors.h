/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How far the functions of function_list.h may be from the exact result, in units in the last place: the one list that
 * tests, tests/accuracy and verification (lib/ops/functions.c) hold them to. Those that it lacks are exact, as all are
 * of integers. */
#ifndef TDMI_KERNEL_FUNCTION_ERRORS_H
#define TDMI_KERNEL_FUNCTION_ERRORS_H

/* X(NAME, name, cpu, other, any, number): f32 on cpu; f32 on other devices, where it is more if the function divides or
 * takes a root, which OpenCL rounds within 2.5 and 3 ulp, or is the device's library's, as OpenCL bounds it; and every
 * float dtype on every device, in e|y| and, near a zero of the function, in e. That of logaddexp is in units of the
 * larger operand's last place where the result is smaller; floor_divide is exact below 2^24; gelu is bounded by its
 * absolute error (tandem/ops.h). */
#define TDM_FUNCTION_ERRORS(X)                                                                     \
    X(DIV, div, 0.501, 2.5, 3, 0)                                                                  \
    X(REM, rem, 0, 0, 1, 0)                                                                        \
    X(REMAINDER, remainder, 0.501, 0.501, 1, 0)                                                    \
    X(FLOOR_DIVIDE, floor_divide, 2, 4, 4, 0)                                                      \
    X(SQUARE, square, 0.5, 0.5, 1, 0)                                                              \
    X(SQRT, sqrt, 0.51, 3, 3, 0)                                                                   \
    X(RSQRT, rsqrt, 1.5, 4, 4, 0)                                                                  \
    X(RECIPROCAL, reciprocal, 0.51, 2.5, 3, 0)                                                     \
    X(HYPOT, hypot, 1, 4, 5, 0)                                                                    \
    X(EXP, exp, 1, 1, 3, 0)                                                                        \
    X(EXP2, exp2, 0.8, 0.8, 4, 0)                                                                  \
    X(EXPM1, expm1, 1, 1, 4, 0)                                                                    \
    X(LOG, log, 0.85, 0.85, 3, 0)                                                                  \
    X(LOG2, log2, 0.9, 0.9, 4, 0)                                                                  \
    X(LOG10, log10, 0.85, 0.85, 4, 0)                                                              \
    X(LOG1P, log1p, 1, 1, 4, 0)                                                                    \
    X(LOGADDEXP, logaddexp, 3, 4, 8, 2)                                                            \
    X(POW, pow, 1, 16, 17, 0)                                                                      \
    X(SIN, sin, 1, 1, 5, 1)                                                                        \
    X(COS, cos, 1, 1, 5, 1)                                                                        \
    X(TAN, tan, 2, 4, 6, 1)                                                                        \
    X(ASIN, asin, 1.3, 4, 5, 0)                                                                    \
    X(ACOS, acos, 1, 4, 5, 0)                                                                      \
    X(ATAN, atan, 1.4, 4, 6, 0)                                                                    \
    X(ATAN2, atan2, 2, 6, 7, 0)                                                                    \
    X(SINH, sinh, 1.4, 3, 5, 0)                                                                    \
    X(COSH, cosh, 1.3, 3, 5, 0)                                                                    \
    X(ASINH, asinh, 0.9, 4, 5, 0)                                                                  \
    X(ACOSH, acosh, 1.2, 4, 5, 0)                                                                  \
    X(ATANH, atanh, 1.1, 5, 6, 0)                                                                  \
    X(TANH, tanh, 6.2, 6.2, 7, 0)                                                                  \
    X(ERF, erf, 1, 1, 17, 0)                                                                       \
    X(ERFC, erfc, 2.6, 4, 17, 0)                                                                   \
    X(FMA, fma, 0.501, 0.501, 0.5, 0)                                                              \
    X(GELU, gelu, INFINITY, INFINITY, 8, 2)                                                        \
    X(GELU_TANH, gelu_tanh, 160, 160, 8, 1)                                                        \
    X(SILU, silu, 1.5, 2.1, 7, 0)                                                                  \
    X(SIGMOID, sigmoid, 1.4, 1.7, 6, 0)

#endif
