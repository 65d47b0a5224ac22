/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions and operators of expressions, and the types that they compute with: the list is read by the
 * host, which parses expressions, and by cpu/interpreter.c, which has each of them for blocks of elements.
 * functions.h has them for one element, in every kernel language. */
#ifndef TDMI_KERNEL_FUNCTION_LIST_H
#define TDMI_KERNEL_FUNCTION_LIST_H

/* X(NAME, name, dtype): what values are, the widest last of each kind; 16-bit floats are read as f32, integers
 * of up to 16 bits as i32, and a bool is an i32 of 0 or 1. The dtype is how a block of them is stored. */
#define TDM_TYPE_LIST(X)                                                                           \
    X(BOOL, bool, I32)                                                                             \
    X(I32, i32, I32)                                                                               \
    X(U32, u32, U32)                                                                               \
    X(I64, i64, I64)                                                                               \
    X(U64, u64, U64)                                                                               \
    X(F32, f32, F32)                                                                               \
    X(F64, f64, F64)
#define TDM_TYPE_VALUE(NAME, name, dtype) TDM_TYPE_##NAME,
enum { TDM_TYPE_LIST(TDM_TYPE_VALUE) TDM_TYPE_COUNT };

/* The types of a class of functions: X(name, type) for each; bool is called truth there, as bool may be a macro. */
#define TDM_TYPES_FLOAT(X, name) X(name, f32) X(name, f64)
#define TDM_TYPES_INTEGER(X, name) X(name, i32) X(name, u32) X(name, i64) X(name, u64)
#define TDM_TYPES_NUMBER(X, name) TDM_TYPES_INTEGER(X, name) TDM_TYPES_FLOAT(X, name)
#define TDM_TYPES_BITS(X, name) X(name, truth) TDM_TYPES_INTEGER(X, name)
#define TDM_TYPES_ANY(X, name) X(name, truth) TDM_TYPES_NUMBER(X, name)

/* X(NAME, name, arity, class, result): NAME's values are of one type of the class, which is the result's, too,
 * where it says SAME. In texts a function is called by its name, in capitals here and small there; those whose
 * name is not that of a function are operators. where(c, a, b) takes a bool first. The last three are what blocks
 * compute in one step where a text has a product and a sum. */
#define TDM_FUNCTION_LIST(X)                                                                       \
    X(ADD, add, 2, NUMBER, SAME)                                                                   \
    X(SUB, sub, 2, NUMBER, SAME)                                                                   \
    X(MUL, mul, 2, NUMBER, SAME)                                                                   \
    X(DIV, div, 2, NUMBER, SAME)                                                                   \
    X(REM, rem, 2, NUMBER, SAME)                                                                   \
    X(NEG, neg, 1, NUMBER, SAME)                                                                   \
    X(AND, and, 2, BITS, SAME)                                                                     \
    X(OR, or, 2, BITS, SAME)                                                                       \
    X(XOR, xor, 2, BITS, SAME)                                                                     \
    X(NOT, not, 1, BITS, SAME)                                                                     \
    X(SHL, shl, 2, INTEGER, SAME)                                                                  \
    X(SHR, shr, 2, INTEGER, SAME)                                                                  \
    X(EQ, eq, 2, ANY, BOOL)                                                                        \
    X(NE, ne, 2, ANY, BOOL)                                                                        \
    X(LT, lt, 2, NUMBER, BOOL)                                                                     \
    X(LE, le, 2, NUMBER, BOOL)                                                                     \
    X(GT, gt, 2, NUMBER, BOOL)                                                                     \
    X(GE, ge, 2, NUMBER, BOOL)                                                                     \
    X(WHERE, where, 3, ANY, SAME)                                                                  \
    X(MIN, min, 2, NUMBER, SAME)                                                                   \
    X(MAX, max, 2, NUMBER, SAME)                                                                   \
    X(ABS, abs, 1, NUMBER, SAME)                                                                   \
    X(SIGN, sign, 1, NUMBER, SAME)                                                                 \
    X(SQUARE, square, 1, NUMBER, SAME)                                                             \
    X(FLOOR_DIVIDE, floor_divide, 2, NUMBER, SAME)                                                 \
    X(REMAINDER, remainder, 2, NUMBER, SAME)                                                       \
    X(RELU, relu, 1, NUMBER, SAME)                                                                 \
    X(SQRT, sqrt, 1, FLOAT, SAME)                                                                  \
    X(RSQRT, rsqrt, 1, FLOAT, SAME)                                                                \
    X(RECIPROCAL, reciprocal, 1, FLOAT, SAME)                                                      \
    X(HYPOT, hypot, 2, FLOAT, SAME)                                                                \
    X(EXP, exp, 1, FLOAT, SAME)                                                                    \
    X(EXP2, exp2, 1, FLOAT, SAME)                                                                  \
    X(EXPM1, expm1, 1, FLOAT, SAME)                                                                \
    X(LOG, log, 1, FLOAT, SAME)                                                                    \
    X(LOG2, log2, 1, FLOAT, SAME)                                                                  \
    X(LOG10, log10, 1, FLOAT, SAME)                                                                \
    X(LOG1P, log1p, 1, FLOAT, SAME)                                                                \
    X(LOGADDEXP, logaddexp, 2, FLOAT, SAME)                                                        \
    X(POW, pow, 2, FLOAT, SAME)                                                                    \
    X(SIN, sin, 1, FLOAT, SAME)                                                                    \
    X(COS, cos, 1, FLOAT, SAME)                                                                    \
    X(TAN, tan, 1, FLOAT, SAME)                                                                    \
    X(ASIN, asin, 1, FLOAT, SAME)                                                                  \
    X(ACOS, acos, 1, FLOAT, SAME)                                                                  \
    X(ATAN, atan, 1, FLOAT, SAME)                                                                  \
    X(ATAN2, atan2, 2, FLOAT, SAME)                                                                \
    X(SINH, sinh, 1, FLOAT, SAME)                                                                  \
    X(COSH, cosh, 1, FLOAT, SAME)                                                                  \
    X(ASINH, asinh, 1, FLOAT, SAME)                                                                \
    X(ACOSH, acosh, 1, FLOAT, SAME)                                                                \
    X(ATANH, atanh, 1, FLOAT, SAME)                                                                \
    X(TANH, tanh, 1, FLOAT, SAME)                                                                  \
    X(ERF, erf, 1, FLOAT, SAME)                                                                    \
    X(ERFC, erfc, 1, FLOAT, SAME)                                                                  \
    X(FLOOR, floor, 1, FLOAT, SAME)                                                                \
    X(CEIL, ceil, 1, FLOAT, SAME)                                                                  \
    X(ROUND, round, 1, FLOAT, SAME)                                                                \
    X(TRUNC, trunc, 1, FLOAT, SAME)                                                                \
    X(FMA, fma, 3, FLOAT, SAME)                                                                    \
    X(COPYSIGN, copysign, 2, FLOAT, SAME)                                                          \
    X(NEXTAFTER, nextafter, 2, FLOAT, SAME)                                                        \
    X(GELU, gelu, 1, FLOAT, SAME)                                                                  \
    X(GELU_TANH, gelu_tanh, 1, FLOAT, SAME)                                                        \
    X(SILU, silu, 1, FLOAT, SAME)                                                                  \
    X(SIGMOID, sigmoid, 1, FLOAT, SAME)                                                            \
    X(ISNAN, isnan, 1, FLOAT, BOOL)                                                                \
    X(ISINF, isinf, 1, FLOAT, BOOL)                                                                \
    X(ISFINITE, isfinite, 1, FLOAT, BOOL)                                                          \
    X(SIGNBIT, signbit, 1, FLOAT, BOOL)                                                            \
    X(TO_BOOL, to_bool, 1, ANY, BOOL)                                                              \
    X(TO_I32, to_i32, 1, ANY, I32)                                                                 \
    X(TO_U32, to_u32, 1, ANY, U32)                                                                 \
    X(TO_I64, to_i64, 1, ANY, I64)                                                                 \
    X(TO_U64, to_u64, 1, ANY, U64)                                                                 \
    X(TO_F32, to_f32, 1, ANY, F32)                                                                 \
    X(TO_F64, to_f64, 1, ANY, F64)                                                                 \
    X(MUL_ADD, mul_add, 3, FLOAT, SAME)                                                            \
    X(MUL_SUB, mul_sub, 3, FLOAT, SAME)                                                            \
    X(SUB_MUL, sub_mul, 3, FLOAT, SAME)
#define TDM_FUNCTION_VALUE(NAME, name, arity, class, result) TDM_FUNCTION_##NAME,
enum { TDM_FUNCTION_LIST(TDM_FUNCTION_VALUE) TDM_FUNCTION_COUNT };

#endif
