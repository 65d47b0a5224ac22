/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Conversions from any dtype to any other, the same in all three languages. Compiled after
 * numeric.h.
 *
 * To an integer a float is truncated and held within its limits, NaN gives 0; an integer keeps its
 * low bits. To a bool everything but 0 is true. To a float all is rounded once, to nearest even. */
#ifndef TDMI_KERNEL_CONVERT_H
#define TDMI_KERNEL_CONVERT_H

/* SOURCE is what LOAD_U gives. CONVERT(v) makes of one, a variable, what WRITE takes: a T, or of a 16-bit
 * float an ACC that rounds to it. */
#define tdm_source_f32 float
#define tdm_source_f64 double
#define tdm_source_i32 tdm_i32
#define tdm_source_u32 tdm_u32
#define tdm_source_i64 tdm_i64
#define tdm_source_u64 tdm_u64
#define TDM_SOURCE(id) TDM_CAT(tdm_source_, TDM_CAT(tdm_value_, id))
#define SOURCE TDM_SOURCE(U_ID)
#define CONVERT(v)                                                                                 \
    (TDM_CAT(TDM_CAT(tdm_from_, TDM_CAT(tdm_value_, U_ID)),                                        \
             TDM_CAT(_to_, TDM_CAT(tdm_form_, T_ID)))(v))

/* The f32 nearest to zero from a double given by its bits, with the last bit set when that lost
 * something: rounding it once more to a 16-bit type gives what rounding the double at once would. */
INLINE float tdm_round_to_odd(tdm_i64 f64_bits)
{
    const tdm_i64 magnitude = f64_bits & ~((tdm_i64)((tdm_u64)1 << 63));
    const tdm_i64 mantissa = (magnitude & (((tdm_i64)1 << 52) - 1)) | ((tdm_i64)1 << 52);
    const tdm_i32 exponent = (tdm_i32)(magnitude >> 52) - 1023 + 127;
    tdm_i32 shift = exponent > 0 ? 29 : 30 - exponent;
    shift = shift > 60 ? 60 : shift;
    const tdm_i32 kept = (tdm_i32)(mantissa >> shift);
    const tdm_i32 lost = (mantissa & (((tdm_i64)1 << shift) - 1)) != 0 ? 1 : 0;
    /* the leading 1 of a normal number adds one to the exponent */
    const tdm_u32 power = (tdm_u32)(exponent > 0 ? exponent - 1 : 0) << 23;
    tdm_i32 bits = (tdm_i32)((tdm_u32)kept + power) | lost;
    bits = exponent >= 255 ? 0x7f7fffff : bits;
    bits = magnitude == ((tdm_i64)0x7ff << 52) ? 0x7f800000 : bits;
    bits = magnitude > ((tdm_i64)0x7ff << 52) ? 0x7fc00000 : bits;
    return tdm_as_f32(f64_bits < 0 ? (tdm_i32)((tdm_u32)bits | 0x80000000u) : bits);
}

/* An integer as an f32 that rounds to bf16 as the integer itself would: low bits are folded into the
 * last one, 12 at a time, until 24 bits hold it. */
#define TDM_FOLD(u, scale)                                                                         \
    scale = (u) >= 0x1000000u ? (scale)*4096.0f : (scale);                                         \
    u = (u) >= 0x1000000u ? ((u) >> 12) | (((u)&0xfffu) != 0 ? 1u : 0u) : (u)
INLINE float tdm_sticky_u64(tdm_u64 u, float scale)
{
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    return (float)(tdm_i32)u * scale;
}

INLINE float tdm_sticky_i64(tdm_i64 v)
{
    return tdm_sticky_u64(v < 0 ? 0 - (tdm_u64)v : (tdm_u64)v, v < 0 ? -1.0f : 1.0f);
}

/* To f32 and f64 */
#define tdm_from_f32_to_f32(v) (v)
#define tdm_from_f64_to_f32(v) ((float)(v))
#define tdm_from_i32_to_f32(v) ((float)(v))
#define tdm_from_u32_to_f32(v) ((float)(v))
#define tdm_from_i64_to_f32(v) ((float)(v))
#define tdm_from_u64_to_f32(v) ((float)(v))
#define tdm_from_f64_to_f64(v) (v)
#define tdm_from_f32_to_f64(v) ((double)(v))
#define tdm_from_i32_to_f64(v) ((double)(v))
#define tdm_from_u32_to_f64(v) ((double)(v))
#define tdm_from_i64_to_f64(v) ((double)(v))
#define tdm_from_u64_to_f64(v) ((double)(v))

/* To f16: an integer is first held at what is far past the largest f16, and exact in f32. */
#define tdm_from_f32_to_f16(v) (v)
#define tdm_from_f64_to_f16(v) tdm_round_to_odd(tdm_as_i64(v))
#define tdm_from_i32_to_f16(v) tdm_from_i64_to_f16((tdm_i64)(v))
#define tdm_from_u32_to_f16(v) ((float)(tdm_i32)MIN(v, 1048576u))
#define tdm_from_i64_to_f16(v)                                                                     \
    ((float)(tdm_i32)MAX(MIN(v, (tdm_i64)1048576), -(tdm_i64)1048576))
#define tdm_from_u64_to_f16(v) ((float)(tdm_i32)MIN(v, (tdm_u64)1048576))

/* To bf16 */
#define tdm_from_f32_to_bf16(v) (v)
#define tdm_from_f64_to_bf16(v) tdm_round_to_odd(tdm_as_i64(v))
#define tdm_from_i32_to_bf16(v) tdm_sticky_i64((tdm_i64)(v))
#define tdm_from_u32_to_bf16(v) tdm_sticky_u64((tdm_u64)(v), 1.0f)
#define tdm_from_i64_to_bf16(v) tdm_sticky_i64(v)
#define tdm_from_u64_to_bf16(v) tdm_sticky_u64(v, 1.0f)

/* To integers */
#define tdm_from_i32_to_narrow(v) (v)
#define tdm_from_u32_to_narrow(v) (v)
#define tdm_from_i64_to_narrow(v) (v)
#define tdm_from_u64_to_narrow(v) (v)
#define tdm_from_i32_to_wide(v) (v)
#define tdm_from_u32_to_wide(v) (v)
#define tdm_from_i64_to_wide(v) (v)
#define tdm_from_u64_to_wide(v) (v)

/* Held between two floats, NaN as 0: then it may be converted. Where the upper one is less than the
 * integer's limit, which no float is, what was above it is that limit. */
#define TDM_HELD(v, least, most)                                                                   \
    ((v) == (v) ? ((v) < (least) ? (least) : (v) > (most) ? (most) : (v)) : 0)
#define TDM_LEAST TDM_CAT(tdm_least_, T_ID)
#define TDM_MOST TDM_CAT(tdm_most_, T_ID)
#define TDM_MOST_F32 TDM_CAT(tdm_most_f32_, T_ID)
#define TDM_MOST_F64 TDM_CAT(tdm_most_f64_, T_ID)
#define tdm_from_f32_to_narrow(v) ((TDM_SOURCE(T_ID))TDM_HELD(v, (float)TDM_LEAST, TDM_MOST_F32))
#define tdm_from_f64_to_narrow(v) ((TDM_SOURCE(T_ID))TDM_HELD(v, (double)TDM_LEAST, TDM_MOST_F64))
#define tdm_from_f32_to_wide(v)                                                                    \
    ((v) > TDM_MOST_F32 ? TDM_MOST : (T)TDM_HELD(v, (float)TDM_LEAST, TDM_MOST_F32))
#define tdm_from_f64_to_wide(v)                                                                    \
    ((v) > TDM_MOST_F64 ? TDM_MOST : (T)TDM_HELD(v, (double)TDM_LEAST, TDM_MOST_F64))

/* To bool: of an f32 by its bits, as a device may take a subnormal for 0. */
#define tdm_from_f32_to_truth(v) ((tdm_as_i32(v) & 0x7fffffff) != 0)
#define tdm_from_f64_to_truth(v) ((v) != 0)
#define tdm_from_i32_to_truth(v) ((v) != 0)
#define tdm_from_u32_to_truth(v) ((v) != 0)
#define tdm_from_i64_to_truth(v) ((v) != 0)
#define tdm_from_u64_to_truth(v) ((v) != 0)

#endif
