/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Numbers, the same in all three languages: dispatch by dtype, conversions, and our own exp, tanh
 * and gelu for f32. Compiled after a dialect header and args.h, before the kernel.
 *
 * Everything here is branch-free, so that it vectorises where a group has one lane, and uses only
 * IEEE operations in the order written: it must not be compiled with fast-math options. Largest
 * errors are measured against float64 over every 13th f32 number, with and without FMA. */
#ifndef TDMI_KERNEL_NUMERIC_H
#define TDMI_KERNEL_NUMERIC_H

#define TDM_CAT_(a, b) a##b
#define TDM_CAT(a, b) TDM_CAT_(a, b)

/* A function's name ends in the arithmetic of T: f32 for f32, f16 and bf16, f64 for f64. */
#define tdm_acc_id_0 f32
#define tdm_acc_id_1 f64
#define tdm_acc_id_2 f32
#define tdm_acc_id_3 f32
#define TDM_BY_ACC(name) TDM_CAT(name, TDM_CAT(tdm_acc_id_, T_ID))

/* Element types: T and U as stored, ACC in arithmetic, KEY an integer as wide as ACC. */
#define tdm_type_0 float
#define tdm_type_1 double
#define tdm_type_2 tdm_u16
#define tdm_type_3 tdm_u16
#define tdm_type_4 tdm_i32
#define tdm_type_5 tdm_i64
#define tdm_type_6 tdm_u8
#define tdm_acc_f32 float
#define tdm_acc_f64 double
#define tdm_key_f32 tdm_i32
#define tdm_key_f64 tdm_i64
#define T TDM_CAT(tdm_type_, T_ID)
#define U TDM_CAT(tdm_type_, U_ID)
#define ACC TDM_BY_ACC(tdm_acc_)
#define KEY TDM_BY_ACC(tdm_key_)

/* Reading and writing elements; LOAD_U may also give an integer. */
#define LOAD(p, j) TDM_CAT(tdm_load_, T_ID)(p, j)
#define STORE(p, j, v) TDM_CAT(tdm_store_, T_ID)(p, j, v)
#define LOAD_U(p, j) TDM_CAT(tdm_load_, U_ID)(p, j)
#define STORE_U(p, j, v) TDM_CAT(tdm_store_, U_ID)(p, j, v)
#define TO_T(v) TDM_CAT(tdm_put_, T_ID)(v) /* ACC to the stored form */
#define ROUND(v) TDM_CAT(tdm_get_, T_ID)(TO_T(v)) /* ACC as a T would hold it */

#define tdm_get_0(v) (v)
#define tdm_get_1(v) (v)
#define tdm_get_2(v) tdm_f16_to_f32(v)
#define tdm_get_3(v) tdm_bf16_to_f32(v)
#define tdm_put_0(v) (v)
#define tdm_put_1(v) (v)
#define tdm_put_2(v) tdm_f32_to_f16(v)
#define tdm_put_3(v) tdm_f32_to_bf16(v)
#define tdm_put_4(v) (v)
#define tdm_put_5(v) (v)
#define tdm_put_6(v) (v)

/* Functions on ACC. */
#define SQUARE(v) ((v) * (v))
#define SQRT(v) TDM_BY_ACC(tdm_sqrt_)(v)
#define ABS(v) TDM_BY_ACC(tdm_abs_)(v)
#define EXP_NEGATIVE(v) TDM_BY_ACC(tdm_exp_negative_)(v) /* for v <= 0, or 60 at most */
#define FMA(a, b, c) TDM_BY_ACC(tdm_fma_)(a, b, c)
#define SCALAR(s) TDM_BY_ACC(tdm_scalar_)(s)
#define tdm_exp_negative_f64(v) tdm_exp_f64(v)
#define tdm_scalar_f32(s) ((s).f32)
#define tdm_scalar_f64(s) tdm_as_f64((s).f64_bits)

/* Order-preserving integer keys of ACC, for maxima that vectorise. MAGNITUDE_KEY orders |v| with
 * NaN above infinity, so a NaN wins; ORDER_KEY orders signed values. */
#define MAGNITUDE_KEY(v) TDM_BY_ACC(tdm_magnitude_key_)(v)
#define MAGNITUDE_OF(key) TDM_BY_ACC(tdm_as_)(key)
#define ORDER_KEY(v) TDM_BY_ACC(tdm_order_key_)(v)
#define VALUE_OF(key) TDM_BY_ACC(tdm_order_value_)(key)
#define LOWEST_KEY TDM_BY_ACC(tdm_lowest_key_)
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define tdm_lowest_key_f32 (-0x7fffffff - 1)
#define tdm_lowest_key_f64 (-((tdm_i64)1 << 62) - ((tdm_i64)1 << 62))

/* Is v finite? By its bits, so that no compiler option can remove it. */
#define IS_FINITE(v) (MAGNITUDE_KEY(v) < TDM_BY_ACC(tdm_infinity_key_))
#define tdm_infinity_key_f32 0x7f800000
#define tdm_infinity_key_f64 ((tdm_i64)0x7ff << 52)

/* Is a sum of squares so far from overflow and underflow that it lost nothing? */
#define SAFE_SQUARES(sum) (IS_FINITE(sum) && (sum) >= TDM_BY_ACC(tdm_least_squares_))
#define tdm_least_squares_f32 1e-20f
#define tdm_least_squares_f64 1e-290

/* The power of two that brings a magnitude, given by its key, near 2^40, as far as there is one. */
#define RESCALE(key) TDM_BY_ACC(tdm_rescale_)(key)
#define tdm_rescale_f32(key) tdm_as_f32(MIN(294 - ((key) >> 23), 254) << 23)
#define tdm_rescale_f64(key) tdm_as_f64(MIN(2086 - ((key) >> 52), (tdm_i64)2046) << 52)

INLINE tdm_i32 tdm_magnitude_key_f32(float v)
{
    return tdm_as_i32(v) & 0x7fffffff;
}

INLINE tdm_i32 tdm_order_key_f32(float v)
{
    const tdm_i32 bits = tdm_as_i32(v);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

INLINE float tdm_order_value_f32(tdm_i32 key)
{
    return tdm_as_f32(key ^ ((key >> 31) & 0x7fffffff));
}

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

/* Adding this to |x| < 2^22 rounds x to an integer n, left in the low bits of the sum with the bias of
 * an exponent, so that shifting it to where exponents stand makes 2^n; and 2^32 more, so that no
 * result is subnormal before it is multiplied by TDM_TAIL, which rounds it once. For n = -159, past
 * all subnormals, it makes 0: of what is far below, as masked elements are, a CPU is spared the
 * hundred cycles that each operation with a subnormal result takes. */
#define TDM_RAISER (12582912.0f + 159.0f)
#define TDM_RAISED(t) tdm_as_f32((tdm_i32)((tdm_u32)tdm_as_i32(t) << 23))
#define TDM_TAIL 2.3283064365386962891e-10f

/* Polynomials are evaluated after Estrin, in pairs: a chain of dependent operations, as Horner's
 * scheme is, would leave a CPU waiting for each result. Coefficients were fitted by weighted least
 * squares, re-weighted until the largest error was smallest, against float64. */

/* e^r for |r| <= ln 2 / 2: degree 5, within 9.2e-8 */
INLINE float tdm_exp_poly(float r)
{
    const float r2 = r * r;
    const float low = 4.999914912e-01f * r + 9.999997070e-01f;
    const float middle = 4.189798574e-02f * r + 1.666763657e-01f;
    return ((8.290313161e-03f * r2 + middle) * r2 + low) * r + 1.0f;
}

/* exp of x <= 60: within 2.4 ulp, subnormal results within 1 unit. n ln 2 is taken away in two parts,
 * the first exact for |n| < 2^15. */
INLINE float tdm_exp_negative_f32(float x)
{
    const float c = x < -110.2f ? -110.2f : x;
    const float t = c * 1.44269504f + TDM_RAISER;
    const float n = t - TDM_RAISER;
    const float p = tdm_exp_poly((c - n * 0.693359375f) + n * 2.12194440e-4f);
    return p * TDM_RAISED(t) * TDM_TAIL;
}

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

/* A long as an f32 that rounds to bf16 as the long itself would: low bits are folded into the last
 * one, 12 at a time, until 24 bits hold it. */
#define TDM_FOLD(u, scale)                                                                         \
    scale = (u) >= 0x1000000u ? (scale)*4096.0f : (scale);                                         \
    u = (u) >= 0x1000000u ? ((u) >> 12) | (((u)&0xfffu) != 0 ? 1u : 0u) : (u)
INLINE float tdm_sticky_f32(tdm_i64 v)
{
    tdm_u64 u = v < 0 ? 0 - (tdm_u64)v : (tdm_u64)v;
    float scale = v < 0 ? -1.0f : 1.0f;
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    TDM_FOLD(u, scale);
    return (float)(tdm_i32)u * scale;
}

/* Casts from the classes of source: f32 (also for f16 and bf16), f64, i32 (also u8), i64. */
#define CONVERT(v) TDM_CAT(TDM_CAT(tdm_from_, TDM_CAT(tdm_class_, U_ID)), TDM_CAT(_to_, T_ID))(v)
#define tdm_class_0 f32
#define tdm_class_1 f64
#define tdm_class_2 f32
#define tdm_class_3 f32
#define tdm_class_4 i32
#define tdm_class_5 i64
#define tdm_class_6 i32

#define tdm_from_f32_to_0(v) (v)
#define tdm_from_f32_to_1(v) ((double)(v))
#define tdm_from_f32_to_2(v) tdm_f32_to_f16(v)
#define tdm_from_f32_to_3(v) tdm_f32_to_bf16(v)
#define tdm_from_i32_to_0(v) ((float)(v))
#define tdm_from_i32_to_1(v) ((double)(v))
#define tdm_from_i32_to_2(v) tdm_from_i64_to_2((tdm_i64)(v))
#define tdm_from_i32_to_3(v) tdm_f32_to_bf16(tdm_sticky_f32((tdm_i64)(v)))
#define tdm_from_i32_to_4(v) (v)
#define tdm_from_i32_to_5(v) ((tdm_i64)(v))
#define tdm_from_i32_to_6(v) ((tdm_u8)((v)&255))
#define tdm_from_i64_to_0(v) ((float)(v))
#define tdm_from_i64_to_1(v) ((double)(v))
#define tdm_from_i64_to_3(v) tdm_f32_to_bf16(tdm_sticky_f32(v))
#define tdm_from_i64_to_4(v) ((tdm_i32)(v))
#define tdm_from_i64_to_5(v) (v)
#define tdm_from_i64_to_6(v) ((tdm_u8)((v)&255))

INLINE tdm_i32 tdm_from_f32_to_4(float v)
{
    float c = v < -2147483648.0f ? -2147483648.0f : v;
    c = c > 2147483520.0f ? 2147483520.0f : c;
    const tdm_i32 whole = (tdm_i32)(v == v ? c : 0.0f);
    return v >= 2147483648.0f ? 0x7fffffff : whole;
}

INLINE tdm_i64 tdm_from_f32_to_5(float v)
{
    float c = v < -9223372036854775808.0f ? -9223372036854775808.0f : v;
    c = c > 9223371487098961920.0f ? 9223371487098961920.0f : c;
    const tdm_i64 whole = (tdm_i64)(v == v ? c : 0.0f);
    return v >= 9223372036854775808.0f ? (tdm_i64)(~(tdm_u64)0 >> 1) : whole;
}

INLINE tdm_u8 tdm_from_f32_to_6(float v)
{
    float c = v > 0.0f ? v : 0.0f;
    c = c > 255.0f ? 255.0f : c;
    return (tdm_u8)(tdm_i32)c;
}

INLINE tdm_u16 tdm_from_i64_to_2(tdm_i64 v)
{
    tdm_i64 c = v < -1048576 ? -1048576 : v; /* far past the largest f16, exact in f32 */
    c = c > 1048576 ? 1048576 : c;
    return tdm_f32_to_f16((float)(tdm_i32)c);
}

/* The value of fill in the stored form of T. */
#define FILL_VALUE(args) TDM_CAT(tdm_fill_, T_ID)(args)
#define tdm_fill_0(args) ((args).alpha.f32)
#define tdm_fill_1(args) tdm_as_f64((args).alpha.f64_bits)
#define tdm_fill_2(args) tdm_f32_to_f16(tdm_round_to_odd((args).alpha.f64_bits))
#define tdm_fill_3(args) tdm_f32_to_bf16(tdm_round_to_odd((args).alpha.f64_bits))
#define tdm_fill_4(args) ((args).alpha_i64)
#define tdm_fill_5(args) ((args).alpha_i64)
#define tdm_fill_6(args) ((args).alpha_i64)

#if TDM_HAS_F64
#define tdm_from_f64_to_0(v) ((float)(v))
#define tdm_from_f64_to_1(v) (v)
#define tdm_from_f64_to_2(v) tdm_f32_to_f16(tdm_round_to_odd(tdm_as_i64(v)))
#define tdm_from_f64_to_3(v) tdm_f32_to_bf16(tdm_round_to_odd(tdm_as_i64(v)))

INLINE tdm_i32 tdm_from_f64_to_4(double v)
{
    double c = v < -2147483648.0 ? -2147483648.0 : v;
    c = c > 2147483647.0 ? 2147483647.0 : c;
    return (tdm_i32)(v == v ? c : 0.0);
}

INLINE tdm_i64 tdm_from_f64_to_5(double v)
{
    double c = v < -9223372036854775808.0 ? -9223372036854775808.0 : v;
    c = c > 9223372036854774784.0 ? 9223372036854774784.0 : c;
    const tdm_i64 whole = (tdm_i64)(v == v ? c : 0.0);
    return v >= 9223372036854775808.0 ? (tdm_i64)(~(tdm_u64)0 >> 1) : whole;
}

INLINE tdm_u8 tdm_from_f64_to_6(double v)
{
    double c = v > 0.0 ? v : 0.0;
    c = c > 255.0 ? 255.0 : c;
    return (tdm_u8)(tdm_i32)c;
}

INLINE tdm_i64 tdm_magnitude_key_f64(double v)
{
    return tdm_as_i64(v) & ~((tdm_i64)((tdm_u64)1 << 63));
}

INLINE tdm_i64 tdm_order_key_f64(double v)
{
    const tdm_i64 bits = tdm_as_i64(v);
    return bits ^ ((bits >> 63) & ~((tdm_i64)((tdm_u64)1 << 63)));
}

INLINE double tdm_order_value_f64(tdm_i64 key)
{
    return tdm_as_f64(key ^ ((key >> 63) & ~((tdm_i64)((tdm_u64)1 << 63))));
}
#endif

#endif
