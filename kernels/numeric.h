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
#define ACTIVATE(id, v) TDM_BY_ACC(tdm_activate_)(id, v)
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

/* 2^f for |f| <= 1/2: the same polynomial of f ln 2 */
INLINE float tdm_exp2_poly(float f)
{
    const float f2 = f * f;
    const float low = 2.4022241e-1f * f + 6.9314694e-1f;
    const float middle = 9.671698e-3f * f + 5.5507686e-2f;
    return ((1.3256731e-3f * f2 + middle) * f2 + low) * f + 1.0f;
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

/* n / d for finite n and 1 <= d <= 2^126: a first guess of 1 / d from the bits (within 5.1 %), one
 * step of third order (Halley), and what is still missing from the quotient (Markstein). Within
 * 3 ulp, in about a third of the time that CPUs take for a vector of divisions. NaN gives
 * NaN. */
INLINE float tdm_quotient_f32(float n, float d)
{
    float y = tdm_as_f32(0x7ef311c7 - tdm_as_i32(d));
    const float e = 1.0f - d * y;
    y = y * (e * e + e) + y;
    const float q = n * y;
    return (n - d * q) * y + q;
}

/* 2^32 / (1 + exp(-x)) for -110.2 <= x <= 60; with exp(x) on top, as that has the small results. n ln 2
 * is taken away in one part: within 5 ulp for x >= -5, and below within 1.4 |x| ulp, hardly more than
 * an x rounded to f32 costs there anyway. */
INLINE float tdm_logistic_f32(float x)
{
    const float t = x * 1.44269504f + TDM_RAISER;
    const float power = tdm_exp_poly(x - 0.693147182f * (t - TDM_RAISER)) * TDM_RAISED(t);
    return tdm_quotient_f32(power, power * TDM_TAIL + 1.0f);
}

/* 2^32 / (1 + 2^-v) for -159.4 <= v <= 90 */
INLINE float tdm_logistic2_f32(float v)
{
    const float t = v + TDM_RAISER;
    const float power = tdm_exp2_poly(v - (t - TDM_RAISER)) * TDM_RAISED(t);
    return tdm_quotient_f32(power, power * TDM_TAIL + 1.0f);
}

INLINE tdm_i32 tdm_least_i32(tdm_i32 a, tdm_i32 b)
{
    return a < b ? a : b;
}

INLINE tdm_i32 tdm_most_i32(tdm_i32 a, tdm_i32 b)
{
    return a > b ? a : b;
}

/* tanh: a P(a^2) / Q(a^2) of degrees 4 and 4, fitted for a = |x| up to 8.6; at 9.4, where a is held,
 * it is above 1, where the result is held. Numbers that are not negative are compared as integers,
 * in one instruction. Within 6.2 ulp. */
INLINE float tdm_tanh_f32(float x)
{
    const float a = tdm_as_f32(tdm_least_i32(tdm_magnitude_key_f32(x), 0x41166666)); /* 9.4 */
    const float u = a * a, u2 = u * u;
    const float p01 = 1.34068750e-01f * u + 9.99999987e-01f;
    const float p23 = 2.11223790e-05f * u + 3.52640127e-03f;
    const float q01 = 4.67401965e-01f * u + 1.0f;
    const float q23 = 3.33626985e-04f * u + 2.59938986e-02f;
    const float p = (1.40824730e-08f * u2 + p23) * u2 + p01;
    const float q = (8.07063646e-07f * u2 + q23) * u2 + q01;
    const tdm_i32 y = tdm_least_i32(tdm_as_i32(tdm_quotient_f32(a * p, q)), 0x3f800000);
    const float result = tdm_as_f32(y | (tdm_as_i32(x) & (-0x7fffffff - 1)));
    return x == x ? result : x;
}

/* gelu(x) = x Φ(x) = max(x, 0) - |x| Φ(-|x|), which holds as Φ(x) = 1 - Φ(-x), where Φ(x) is (1 +
 * erf(x / √2)) / 2. The second form needs only the tail Φ(-a) = q(a)^8 / 2, and keeps its digits,
 * which 1 + erf would lose: q is of degree 8, fitted to the relative error of Φ for small a and to
 * its absolute error further out, and is 0 from 8.66 on, so that gelu(-Inf) is 0, not NaN. Within 8.4 ulp for x >= -1; below, the error is at most 1.3e-7 absolute,
 * 1.2e-8 from -3 on. */
INLINE float tdm_gelu_f32(float x)
{
    const float a = tdm_as_f32(tdm_least_i32(tdm_magnitude_key_f32(x), 0x41100000)); /* 9 */
    const float a2 = a * a;
    const float q12 = -3.481602296e-02f * a + -9.973547608e-02f;
    const float q34 = 1.643829164e-03f * a + -7.360755117e-04f;
    const float q56 = -6.509028753e-05f * a + 3.549858957e-05f;
    const float q78 = -3.151631631e-07f * a + 8.049543794e-06f;
    float q = ((q78 * a2 + q56) * (a2 * a2) + (q34 * a2 + q12)) * a + 1.0f;
    q = tdm_as_f32(tdm_most_i32(tdm_as_i32(q), 0));
    const float q2 = q * q, q4 = q2 * q2;
    return (x < 0.0f ? 0.0f : x) - (0.5f * a) * (q4 * q4);
}

INLINE float tdm_act_f32_NONE(float x)
{
    return x;
}

INLINE float tdm_act_f32_RELU(float x)
{
    return x < 0.0f ? 0.0f : x;
}

INLINE float tdm_act_f32_GELU(float x)
{
    return tdm_gelu_f32(x);
}

/* x / (1 + exp(-2u)), which equals x (1 + tanh u) / 2 and loses no digits. Here and below arguments are
 * held where the result is 0, so that -Inf gives that and not NaN, and above where it is x or 1. */
INLINE float tdm_act_f32_GELU_TANH(float x)
{
    /* 2u / ln 2 = c (k0 + k1 c^2) */
    float c = x < -10.915f ? -10.915f : x;
    c = c > 7.5f ? 7.5f : c;
    c = c * tdm_logistic2_f32(c * (2.302208198f + 0.1029432397f * (c * c))) * TDM_TAIL;
    return x > 7.5f ? x : c;
}

INLINE float tdm_act_f32_SILU(float x)
{
    float c = x < -110.2f ? -110.2f : x;
    c = c > 43.0f ? 43.0f : c;
    c = c * tdm_logistic_f32(c) * TDM_TAIL;
    return x > 43.0f ? x : c;
}

INLINE float tdm_act_f32_SIGMOID(float x)
{
    float c = x < -110.2f ? -110.2f : x;
    c = tdm_logistic_f32(c > 43.0f ? 43.0f : c) * TDM_TAIL;
    return c > 1.0f ? 1.0f : c;
}

INLINE float tdm_act_f32_TANH(float x)
{
    return tdm_tanh_f32(x);
}

#define TDM_ACT_CASE_F32(NAME)                                                                     \
    case TDM_ACT_##NAME:                                                                           \
        return tdm_act_f32_##NAME(x);
INLINE float tdm_activate_f32(const tdm_u32 id, float x)
{
    switch (id) {
        TDM_ACT_LIST(TDM_ACT_CASE_F32)
    default:
        return x;
    }
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

INLINE double tdm_gelu_f64(double x)
{
    const double magnitude = tdm_abs_f64(x);
    const double a = magnitude > 40.0 ? 40.0 : magnitude; /* where erfc is 0 */
    return (x > 0.0 ? x : 0.0) - 0.5 * a * tdm_erfc_f64(a * 0.70710678118654752440);
}

/* x / (1 + exp(-u)); exp(u) as a square, so that a subnormal result is rounded once */
INLINE double tdm_gated_f64(double x, double u)
{
    const double root = tdm_exp_f64(-0.5 * tdm_abs_f64(u));
    return (u < 0.0 ? x * root * root : x) / (1.0 + root * root);
}

INLINE double tdm_act_f64_NONE(double x)
{
    return x;
}

INLINE double tdm_act_f64_RELU(double x)
{
    return x < 0.0 ? 0.0 : x;
}

INLINE double tdm_act_f64_GELU(double x)
{
    return tdm_gelu_f64(x);
}

INLINE double tdm_act_f64_GELU_TANH(double x)
{
    const double c = x < -30.0 ? -30.0 : x;
    return tdm_gated_f64(c, c * (1.5957691216057307118 + 7.1354816272600254e-2 * (c * c)));
}

INLINE double tdm_act_f64_SILU(double x)
{
    const double c = x < -800.0 ? -800.0 : x;
    return tdm_gated_f64(c, c);
}

INLINE double tdm_act_f64_SIGMOID(double x)
{
    return tdm_gated_f64(1.0, x);
}

INLINE double tdm_act_f64_TANH(double x)
{
    return tdm_tanh_f64(x);
}

#define TDM_ACT_CASE_F64(NAME)                                                                     \
    case TDM_ACT_##NAME:                                                                           \
        return tdm_act_f64_##NAME(x);
INLINE double tdm_activate_f64(const tdm_u32 id, double x)
{
    switch (id) {
        TDM_ACT_LIST(TDM_ACT_CASE_F64)
    default:
        return x;
    }
}
#endif

#endif
