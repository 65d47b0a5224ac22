/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dtypes, the same in all three languages: how each is stored and how it
 * is read and written. Compiled after a dialect header and args.h. A dtype has a number, that of
 * tdm_dtype, and a block of macros whose names end in it (cpu/kernels.c compares the two lists):
 *
 *   type    as stored: the 16-bit floats are integers here
 *   size    of that, in bytes
 *   kind    as below
 *   value   what LOAD makes of it: f32, f64, i32, u32, i64 or u64
 *   form    what CONVERT makes it of (convert.h)
 *   acc     of floats: the arithmetic; of unsigned integers, which reductions take the others for: 64 bits, that wrap,
 *           and keys of 32 bits, w32, or of 64, w64
 *   get     of floats: from the stored form to the arithmetic; put the other way */
#ifndef TDMI_KERNEL_DTYPES_H
#define TDMI_KERNEL_DTYPES_H

#define TDM_KIND_FLOAT 0
#define TDM_KIND_SIGNED 1
#define TDM_KIND_UNSIGNED 2
#define TDM_KIND_BOOL 3

#define TDM_ID_F32 0
#define tdm_type_0 float
#define tdm_size_0 4
#define tdm_kind_0 TDM_KIND_FLOAT
#define tdm_value_0 f32
#define tdm_form_0 f32
#define tdm_acc_0 f32
#define tdm_digits_0 24 /* of the significand */
#define tdm_get_0(v) (v)
#define tdm_put_0(v) (v)
#define tdm_load_0(p, j) ((p)[j])
#define tdm_store_0(p, j, v) ((p)[j] = (v))

#define TDM_ID_F64 1
#define tdm_type_1 double
#define tdm_size_1 8
#define tdm_kind_1 TDM_KIND_FLOAT
#define tdm_value_1 f64
#define tdm_form_1 f64
#define tdm_acc_1 f64
#define tdm_digits_1 53 /* of the significand */
#define tdm_get_1(v) (v)
#define tdm_put_1(v) (v)
#define tdm_load_1(p, j) ((p)[j])
#define tdm_store_1(p, j, v) ((p)[j] = (v))

/* f16 is converted by the dialect, and bf16 rounded, as some devices have instructions for it. */
#define TDM_ID_F16 2
#define tdm_type_2 tdm_u16
#define tdm_size_2 2
#define tdm_kind_2 TDM_KIND_FLOAT
#define tdm_value_2 f32
#define tdm_form_2 f16
#define tdm_acc_2 f32
#define tdm_digits_2 11 /* of the significand */
#define tdm_get_2(v) GET_F16(v)
#define tdm_put_2(v) PUT_F16(v)
#define tdm_put_two_2(low, high) PUT_TWO_F16(low, high)
#define tdm_load_2(p, j) GET_F16((p)[j])
#define tdm_store_2(p, j, v) ((p)[j] = PUT_F16(v))

#define TDM_ID_BF16 3
#define tdm_type_3 tdm_u16
#define tdm_size_3 2
#define tdm_kind_3 TDM_KIND_FLOAT
#define tdm_value_3 f32
#define tdm_form_3 bf16
#define tdm_acc_3 f32
#define tdm_digits_3 8 /* of the significand */
#define tdm_get_3(v) tdm_bf16_to_f32(v)
#define tdm_put_3(v) PUT_BF16(v)
#define tdm_put_two_3(low, high) PUT_TWO_BF16(low, high)
#define tdm_load_3(p, j) tdm_bf16_to_f32((p)[j])
#define tdm_store_3(p, j, v) ((p)[j] = PUT_BF16(v))

/* Integers: their limits, and the largest float of each kind that is not above them. */
#define TDM_ID_I32 4
#define tdm_type_4 tdm_i32
#define tdm_size_4 4
#define tdm_kind_4 TDM_KIND_SIGNED
#define tdm_value_4 i32
#define tdm_form_4 wide
#define tdm_load_4(p, j) ((p)[j])
#define tdm_least_4 (-0x7fffffff - 1)
#define tdm_most_4 0x7fffffff
#define tdm_most_f32_4 2147483520.0f
#define tdm_most_f64_4 2147483647.0

#define TDM_ID_I64 5
#define tdm_type_5 tdm_i64
#define tdm_size_5 8
#define tdm_kind_5 TDM_KIND_SIGNED
#define tdm_value_5 i64
#define tdm_form_5 wide
#define tdm_load_5(p, j) ((p)[j])
#define tdm_least_5 (-(tdm_i64)(~(tdm_u64)0 >> 1) - 1)
#define tdm_most_5 ((tdm_i64)(~(tdm_u64)0 >> 1))
#define tdm_most_f32_5 9223371487098961920.0f
#define tdm_most_f64_5 9223372036854774784.0

#define TDM_ID_U8 6
#define tdm_type_6 tdm_u8
#define tdm_size_6 1
#define tdm_kind_6 TDM_KIND_UNSIGNED
#define tdm_value_6 i32
#define tdm_form_6 narrow
#define tdm_acc_6 w32
#define tdm_load_6(p, j) ((tdm_i32)(p)[j])
#define tdm_least_6 0
#define tdm_most_6 255
#define tdm_most_f32_6 255.0f
#define tdm_most_f64_6 255.0

#define TDM_ID_I8 7
#define tdm_type_7 tdm_i8
#define tdm_size_7 1
#define tdm_kind_7 TDM_KIND_SIGNED
#define tdm_value_7 i32
#define tdm_form_7 narrow
#define tdm_load_7(p, j) ((tdm_i32)(p)[j])
#define tdm_least_7 (-128)
#define tdm_most_7 127
#define tdm_most_f32_7 127.0f
#define tdm_most_f64_7 127.0

#define TDM_ID_I16 8
#define tdm_type_8 tdm_i16
#define tdm_size_8 2
#define tdm_kind_8 TDM_KIND_SIGNED
#define tdm_value_8 i32
#define tdm_form_8 narrow
#define tdm_load_8(p, j) ((tdm_i32)(p)[j])
#define tdm_least_8 (-32768)
#define tdm_most_8 32767
#define tdm_most_f32_8 32767.0f
#define tdm_most_f64_8 32767.0

#define TDM_ID_U16 9
#define tdm_type_9 tdm_u16
#define tdm_size_9 2
#define tdm_kind_9 TDM_KIND_UNSIGNED
#define tdm_value_9 i32
#define tdm_form_9 narrow
#define tdm_acc_9 w32
#define tdm_load_9(p, j) ((tdm_i32)(p)[j])
#define tdm_least_9 0
#define tdm_most_9 65535
#define tdm_most_f32_9 65535.0f
#define tdm_most_f64_9 65535.0

#define TDM_ID_U32 10
#define tdm_type_10 tdm_u32
#define tdm_size_10 4
#define tdm_kind_10 TDM_KIND_UNSIGNED
#define tdm_value_10 u32
#define tdm_form_10 wide
#define tdm_acc_10 w32
#define tdm_load_10(p, j) ((p)[j])
#define tdm_least_10 0u
#define tdm_most_10 0xffffffffu
#define tdm_most_f32_10 4294967040.0f
#define tdm_most_f64_10 4294967295.0

#define TDM_ID_U64 11
#define tdm_type_11 tdm_u64
#define tdm_size_11 8
#define tdm_kind_11 TDM_KIND_UNSIGNED
#define tdm_value_11 u64
#define tdm_form_11 wide
#define tdm_acc_11 w64
#define tdm_load_11(p, j) ((p)[j])
#define tdm_least_11 ((tdm_u64)0)
#define tdm_most_11 (~(tdm_u64)0)
#define tdm_most_f32_11 18446742974197923840.0f
#define tdm_most_f64_11 18446744073709549568.0

/* A byte that is not 0 is true, whatever wrote it. */
#define TDM_ID_BOOL 12
#define tdm_type_12 tdm_u8
#define tdm_size_12 1
#define tdm_kind_12 TDM_KIND_BOOL
#define tdm_value_12 i32
#define tdm_form_12 truth
#define tdm_load_12(p, j) ((tdm_i32)((p)[j] != 0))

#define TDM_CAT_(a, b) a##b
#define TDM_CAT(a, b) TDM_CAT_(a, b)

/* Of T and U; numbers that #if can compare. */
#define T_KIND TDM_CAT(tdm_kind_, T_ID)
#define U_KIND TDM_CAT(tdm_kind_, U_ID)
#define T_SIZE TDM_CAT(tdm_size_, T_ID)
#define U_SIZE TDM_CAT(tdm_size_, U_ID)
#define T_DIGITS TDM_CAT(tdm_digits_, T_ID)
#define T_IS_FLOAT (T_KIND == TDM_KIND_FLOAT)

/* A function's name ends in the arithmetic of T: f32 for f32, f16 and bf16, f64 for f64. */
#define TDM_BY_ACC(name) TDM_CAT(name, TDM_CAT(tdm_acc_, T_ID))

/* Element types: T and U as stored, ACC in arithmetic, KEY an integer as wide as ACC. */
#define tdm_arithmetic_f32 float
#define tdm_arithmetic_f64 double
#define tdm_key_f32 tdm_i32
#define tdm_key_f64 tdm_i64
#define tdm_arithmetic_w32 tdm_u64
#define tdm_arithmetic_w64 tdm_u64
#define tdm_key_w32 tdm_i32
#define tdm_key_w64 tdm_i64
#define T TDM_CAT(tdm_type_, T_ID)
#define U TDM_CAT(tdm_type_, U_ID)
#define ACC TDM_BY_ACC(tdm_arithmetic_)
#define KEY TDM_BY_ACC(tdm_key_)

/* Reading and writing elements; LOAD_U may also give an integer. */
#define LOAD(p, j) TDM_CAT(tdm_load_, T_ID)(p, j)
#define STORE(p, j, v) TDM_CAT(tdm_store_, T_ID)(p, j, v)
#define LOAD_U(p, j) TDM_CAT(tdm_load_, U_ID)(p, j)
#define STORE_U(p, j, v) TDM_CAT(tdm_store_, U_ID)(p, j, v)

/* Rows that a loop names by READ are read where they are used, unless they are read in lines (lines.h, with
 * the dialect) or in vectors (vectors.h). */
#if !defined(READ_IF) && LANES == 1
#define READ_IF(c, p)
#define AT(p, j) LOAD(p, j)
#if !defined(READ_U)
#define READ_U(p)
#define U_AT(p, j) LOAD_U(p, j)
#endif
#if ROW_LOOPS
#define TDM_STEP(from, count, length)
#define TDM_SHARE(j, begin, end, reads) FOR_LANES(j, begin, end)
#define TDM_INSIDE(j, v, otherwise) (v)
#endif
#endif
#define READ(p) READ_IF(1, p)
#define NOTHING_READ
#if !HOLDS
#define HOLD_IF(c, p, n) ((void)0)
#define HELD_IF(c, p) READ_IF(c, p)
#endif
#define HOLD(p, n) HOLD_IF(1, p, n)
#define HELD(p) HELD_IF(1, p)

#define TO_T(v) TDM_CAT(tdm_put_, T_ID)(v) /* ACC to the stored form */

INLINE float tdm_f16_to_f32(tdm_u32 stored)
{
    const tdm_u32 magnitude = stored & 0x7fffu;
    const tdm_u32 normal = (magnitude << 13) + (112u << 23);
    const tdm_u32 special = (magnitude << 13) | 0x7f800000u;
    /* a subnormal is its mantissa in units of 2^-24; from an integer, as f32 flags may flush */
    const tdm_u32 small = (tdm_u32)tdm_as_i32((float)(tdm_i32)magnitude * 5.9604644775390625e-8f);
    tdm_u32 bits = magnitude < 0x400u ? small : normal;
    bits = magnitude >= 0x7c00u ? special : bits;
    return tdm_as_f32((tdm_i32)(bits | ((stored & 0x8000u) << 16)));
}

INLINE tdm_u16 tdm_f32_to_f16(float v)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(v);
    const tdm_u32 magnitude = bits & 0x7fffffffu;
    const tdm_u32 normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    /* adding 0.5 leaves the mantissa in units of 2^-24, rounded by the addition */
    const tdm_u32 small =
        (tdm_u32)tdm_as_i32(tdm_as_f32((tdm_i32)magnitude) + 0.5f) - 0x3f000000u;
    const tdm_u32 nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    tdm_u32 result = magnitude < 0x38800000u ? small : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? nan : result;
    return (tdm_u16)(result | ((bits >> 16) & 0x8000u));
}

INLINE float tdm_bf16_to_f32(tdm_u32 brain)
{
    return tdm_as_f32((tdm_i32)(brain << 16));
}

INLINE tdm_u16 tdm_f32_to_bf16(float v)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(v);
    const tdm_u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (tdm_u16)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}

#endif
