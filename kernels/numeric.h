/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Numbers, the same in all three languages: functions on ACC, the arithmetic of T, with our own exp.
 * Compiled after dtypes.h, before the kernel.
 *
 * Everything here is branch-free, so that it vectorises where a group has one lane, and uses only
 * IEEE operations in the order written: it must not be compiled with fast-math options. Largest
 * errors of f32 are measured against float64 over every 13th f32 number, of f64 against quadruple precision
 * over millions of random ones, with and without FMA. */
#ifndef TDMI_KERNEL_NUMERIC_H
#define TDMI_KERNEL_NUMERIC_H

/* Functions on ACC. */
#define SQUARE(v) ((v) * (v))
#define SQRT(v) TDM_BY_ACC(tdm_sqrt_)(v)
#define ABS(v) TDM_BY_ACC(tdm_abs_)(v)
#define EXP_NEGATIVE(v) TDM_BY_ACC(tdm_exp_negative_)(v) /* for v <= 0, or 60 at most */
#define LOG(v) TDM_BY_ACC(tdm_log_)(v)
#define FMA(a, b, c) TDM_BY_ACC(tdm_fma_)(a, b, c)
#define SCALAR(s) TDM_BY_ACC(tdm_scalar_)(s)
#define tdm_scalar_f32(s) ((s).f32)
#define tdm_scalar_f64(s) tdm_as_f64((s).f64_bits)

/* Index i of an array of i64 where it is `wide`, else of i32, as whose pointer it comes. */
#define INDEX_AT(p, i, wide)                                                                       \
    ((wide) ? ((GLOBAL const tdm_i64 *)(p))[i] : (tdm_i64)((GLOBAL const tdm_i32 *)(p))[i])

/* Order-preserving integer keys of ACC, for maxima that vectorise. MAGNITUDE_KEY orders |v| with
 * NaN above infinity, so a NaN wins; ORDER_KEY orders signed values. */
#define MAGNITUDE_KEY(v) TDM_BY_ACC(tdm_magnitude_key_)(v)
#define MAGNITUDE_OF(key) TDM_BY_ACC(tdm_as_)(key)
#define BITS_KEY(v) TDM_BY_ACC(tdm_bits_key_)(v) /* as it is stored */
#define tdm_bits_key_f32(v) tdm_as_i32(v)
#define tdm_bits_key_f64(v) tdm_as_i64(v)
#define ORDER_KEY(v) TDM_BY_ACC(tdm_order_key_)(v)
#define VALUE_OF(key) TDM_BY_ACC(tdm_order_value_)(key)
#define LOWEST_KEY TDM_BY_ACC(tdm_lowest_key_)
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
/* Of rows that are cut into args.chunks pieces of args.chunk columns, the last of which may be shorter, item by item:
 * declares the row, where in it the piece begins, and how many columns it has. */
#define TDM_ROW_PIECE(item, row, first, n)                                                         \
    const tdm_i64 row = args.chunks == 1 ? (item) : (item) / args.chunks;                          \
    const tdm_i64 first = ((item)-row * args.chunks) * args.chunk;                                 \
    const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - first)
/* The index that a row of this number has in each of n dimensions, the last of them first. With one dimension nothing
 * is divided. */
#define TDM_FOR_INDICES(d, index, number, n, extents)                                              \
    for (tdm_i64 tdm_left = (number), tdm_above = 0, index = 0, tdm_once = 1; tdm_once;            \
         tdm_once = 0)                                                                             \
        FOR_DIMS(d, n)                                                                             \
            if (tdm_above = d > 0 ? tdm_left / (extents)[d] : 0,                                   \
                index = tdm_left - tdm_above * (extents)[d], tdm_left = tdm_above, 0) {            \
            } else
#define tdm_lowest_key_f32 (-0x7fffffff - 1)
#define tdm_lowest_key_f64 (-((tdm_i64)1 << 62) - ((tdm_i64)1 << 62))
#define tdm_lowest_key_w32 tdm_lowest_key_f32
#define tdm_lowest_key_w64 tdm_lowest_key_f64

/* ACC as a T would hold it */
#define ROUND(v) TDM_CAT(tdm_round_, T_ID)(v)
#define tdm_round_0(v) (v)
#define tdm_round_1(v) (v)
#if ROW_LOOPS
/* without a detour by 16 bits, for which a CPU's registers are taken apart */
#define tdm_round_2(v) tdm_f32_as_f16(v)
#define tdm_round_3(v) tdm_f32_as_bf16(v)
#else
#define tdm_round_2(v) tdm_get_2(tdm_put_2(v))
#define tdm_round_3(v) tdm_get_3(tdm_put_3(v))
#endif

/* v rounded to f16: added to a number 1.5 2^13 times its power of two, whose last place is that of f16, which is
 * then taken away again. */
INLINE float tdm_f32_as_f16(float v)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(v), magnitude = bits & 0x7fffffffu;
    const tdm_u32 power = MAX(magnitude & 0x7f800000u, 113u << 23); /* subnormals have the last place of 2^-14 */
    const float large = tdm_as_f32((tdm_i32)(power + (13u << 23) + 0x400000u));
    const float rounded = (tdm_as_f32((tdm_i32)magnitude) + large) - large;
    const tdm_u32 result = magnitude >= 0x477ff000u /* 65520, the least that is rounded to infinity */
                               ? MAX(magnitude, 0x7f800000u)
                               : (tdm_u32)tdm_as_i32(rounded);
    return tdm_as_f32((tdm_i32)(result | (bits & 0x80000000u)));
}

INLINE float tdm_f32_as_bf16(float v)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(v);
    const tdm_u32 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const tdm_u32 result = (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded;
    return tdm_as_f32((tdm_i32)(result & 0xffff0000u));
}

/* Is v finite? By its bits, so that no compiler option can remove it. */
#define IS_FINITE(v) (MAGNITUDE_KEY(v) < INFINITY_KEY)
#define INFINITY_KEY TDM_BY_ACC(tdm_infinity_key_) /* ~ makes that of -Inf in order of values */
#define tdm_infinity_key_f32 0x7f800000
#define tdm_infinity_key_f64 ((tdm_i64)0x7ff << 52)

/* the largest finite number */
#define HIGHEST_FINITE TDM_BY_ACC(tdm_highest_)
#define tdm_highest_f32 3.40282346638528859812e38f
#define tdm_highest_f64 1.79769313486231570815e308

/* the least number that is not subnormal */
#define LEAST_NORMAL TDM_BY_ACC(tdm_least_normal_)
#define tdm_least_normal_f32 1.17549435082228750797e-38f
#define tdm_least_normal_f64 2.22507385850720138309e-308

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

/* e^r - 1 for |r| <= ln 2 / 2: r + r^2 P(r), where P of degree 4 was fitted to the error relative to e^r: 5.6e-9, and
 * below -0.24, where roundings cost most, 5e-10. With r itself as the term that is rounded last but one the sum is
 * nearly rounded once. */
INLINE float tdm_expm1_poly(float r)
{
    const float r2 = r * r;
    const float low = 1.666653007e-01f * r + 4.999996424e-01f;
    const float middle = 8.367766626e-03f * r + 4.167589173e-02f;
    return ((1.337855239e-03f * r2 + middle) * r2 + low) * r2 + r;
}

/* exp of x <= 60: within 1 ulp, subnormal results within 1 unit. n ln 2 is taken away in two parts,
 * the first exact for |n| < 2^15. */
INLINE float tdm_exp_negative_f32(float x)
{
    const float c = x < -110.2f ? -110.2f : x;
    const float t = c * 1.44269504f + TDM_RAISER;
    const float n = t - TDM_RAISER;
    const float s = tdm_expm1_poly((c - n * 0.693359375f) + n * 2.12194440e-4f);
    return (s * TDM_RAISED(t) + TDM_RAISED(t)) * TDM_TAIL;
}

/* Logarithms: x = 2^e m with m near 1, of a subnormal by way of 2^23 x; ln m = f - f^2/2 + f^3 P(f), f = m - 1, where
 * P of degree 8 was fitted to the relative error of that. */
INLINE float tdm_log_poly(float f)
{
    float p = 6.746603549e-02f;
    p = p * f - 1.167564541e-01f;
    p = p * f + 1.188817620e-01f;
    p = p * f - 1.240559146e-01f;
    p = p * f + 1.421955079e-01f;
    p = p * f - 1.666799635e-01f;
    p = p * f + 2.000211924e-01f;
    p = p * f - 2.500000894e-01f;
    return p * f + 3.333331347e-01f;
}

/* of 0 -Inf, of a negative number NaN; Inf and NaN are themselves */
INLINE float tdm_log_special(float x, float result)
{
    const float special = x == 0.0f ? tdm_as_f32((tdm_i32)0xff800000u)
                                    : x < 0.0f ? tdm_as_f32(0x7fc00000) : x;
    return x > 0.0f && tdm_magnitude_key_f32(x) < tdm_infinity_key_f32 ? result : special;
}

/* ln 2 in two parts, the first exact times e */
INLINE float tdm_log_f32(float x)
{
    const tdm_i32 tiny = x < 1.17549435e-38f ? 1 : 0;
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(tiny ? x * 8388608.0f : x);
    const tdm_i32 e = (tdm_i32)(bits - 0x3f3504f3u) >> 23;
    const float f = tdm_as_f32((tdm_i32)(bits - ((tdm_u32)e << 23))) - 1.0f, f2 = f * f;
    const float k = (float)(tiny ? e - 23 : e);
    const float low = f * (f2 * tdm_log_poly(f)) + k * -2.12194440e-4f - 0.5f * f2;
    return tdm_log_special(x, k * 0.693359375f + (f + low));
}

#if TDM_HAS_F64
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

/* As for f32: adding it leaves n in the low bits. */
#define TDM_RAISER_F64 6755399441055744.0 /* 1.5 * 2^52 */
#define TDM_LN2_HIGH 0.6931471805598903   /* exact times |n| < 2^11 */
#define TDM_LN2_LOW 5.497923018708371e-14

/* e^r - 1 for |r| <= ln 2 / 2: degree 11, within 1.7e-17 of e^r, 8.4e-17 of itself */
INLINE double tdm_expm1_poly_f64(double r)
{
    const double r2 = r * r;
    const double e23 = 0.1666666666666668 * r + 0.5000000000000019;
    const double e45 = 0.008333333333319594 * r + 0.041666666666488016;
    const double e67 = 0.00019841269890064013 * r + 0.0013888888952336752;
    const double e89 = 2.7557240900489243e-06 * r + 2.4801485458804143e-05;
    const double eab = 2.5110044299265805e-08 * r + 2.763264834320469e-07;
    return ((((eab * r2 + e89) * r2 + e67) * r2 + e45) * r2 + e23) * r2 + r;
}

/* 2^(n + bias) of a t that has n in its low bits */
INLINE double tdm_power_f64(double t, tdm_i64 bias)
{
    return tdm_as_f64((tdm_i64)(((tdm_u64)tdm_as_i64(t) + (tdm_u64)(1023 + bias)) << 52));
}

/* exp of x <= 60, within 1.1 ulp: as for f32, 2^200 times as large at first, so that a subnormal result is
 * rounded once. A compiler vectorises it, which it does not with calls of exp. */
INLINE double tdm_exp_negative_f64(double x)
{
    const double c = x < -746.0 ? -746.0 : x;
    const double t = c * 1.4426950408889634 + TDM_RAISER_F64, n = t - TDM_RAISER_F64;
    const double r = (c - n * TDM_LN2_HIGH) - n * TDM_LN2_LOW;
    return (tdm_expm1_poly_f64(r) + 1.0) * tdm_power_f64(t, 200) * 6.223015277861142e-61; /* 2^-200 */
}

/* As for f32; ln(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), where R is s^2 times a polynomial in
 * s^2: that of random.h. */
INLINE double tdm_log_f64(double x)
{
    const tdm_i32 tiny = x < 2.2250738585072014e-308 ? 1 : 0;
    const double scaled = tiny ? x * 18014398509481984.0 : x; /* 2^54 */
    const tdm_u64 bits = (tdm_u64)tdm_as_i64(scaled);
    const tdm_i64 e = (tdm_i64)(bits - (tdm_u64)0x3fe6a09e667f3bcd) >> 52;
    const double f = tdm_as_f64((tdm_i64)(bits - ((tdm_u64)e << 52))) - 1.0;
    const double s = f / (2.0 + f), t = s * s;
    double r = t * 0.14796108094556539973 + 0.15314035538035774841;
    r = t * r + 0.18183564879690541505;
    r = t * r + 0.22222198563207061888;
    r = t * r + 0.28571428742477811771;
    r = t * r + 0.39999999999414308071;
    r = t * (t * r + 0.66666666666667344616);
    const double half_square = 0.5 * f * f, k = (double)(tdm_i32)(tiny ? e - 54 : e);
    const double low = s * (half_square + r) + k * 1.90821492927058770002e-10;
    const double result = k * 6.93147180369123816490e-01 - ((half_square - low) - f);
    const double special = x == 0.0 ? tdm_as_f64(-((tdm_i64)1 << 52))
                                    : x < 0.0 ? tdm_as_f64((tdm_i64)0x7ff8 << 48) : x;
    return x > 0.0 && tdm_magnitude_key_f64(x) < tdm_infinity_key_f64 ? result : special;
}
#endif

#endif
