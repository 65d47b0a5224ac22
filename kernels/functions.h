/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of function_list.h for one element, the same in every kernel language: tdm_fn_<name>_<type>.
 * Compiled after numeric.h, activation.h and convert.h; what numeric.h says of its functions holds of these, too.
 *
 * Integers wrap; x / 0 and x % 0 are 0, and shifts take the low bits of their count, so that nothing traps and all
 * devices agree. NaN propagates, through min and max, too. What is called by TDM_LIBRARY_F32 and _F64 is as exact as
 * the device's library. */
#ifndef TDMI_KERNEL_FUNCTIONS_H
#define TDMI_KERNEL_FUNCTIONS_H

#define tdm_element_truth tdm_i32
#define tdm_element_i32 tdm_i32
#define tdm_element_u32 tdm_u32
#define tdm_element_i64 tdm_i64
#define tdm_element_u64 tdm_u64
#define tdm_element_f32 float
#define tdm_element_f64 double

/* ---- integers; what wraps is computed without a sign ---- */

#define TDM_INTEGER_FUNCTIONS(type, V, UNSIGNED, bits)                                             \
    INLINE V tdm_fn_add_##type(V a, V b) { return (V)((UNSIGNED)a + (UNSIGNED)b); }                \
    INLINE V tdm_fn_sub_##type(V a, V b) { return (V)((UNSIGNED)a - (UNSIGNED)b); }                \
    INLINE V tdm_fn_mul_##type(V a, V b) { return (V)((UNSIGNED)a * (UNSIGNED)b); }                \
    INLINE V tdm_fn_square_##type(V a) { return (V)((UNSIGNED)a * (UNSIGNED)a); }                  \
    INLINE V tdm_fn_neg_##type(V a) { return (V)(0 - (UNSIGNED)a); }                               \
    INLINE V tdm_fn_and_##type(V a, V b) { return a & b; }                                         \
    INLINE V tdm_fn_or_##type(V a, V b) { return a | b; }                                          \
    INLINE V tdm_fn_xor_##type(V a, V b) { return a ^ b; }                                         \
    INLINE V tdm_fn_not_##type(V a) { return ~a; }                                                 \
    INLINE V tdm_fn_shl_##type(V a, V b)                                                           \
    {                                                                                              \
        return (V)((UNSIGNED)a << ((UNSIGNED)b & (bits - 1)));                                     \
    }                                                                                              \
    INLINE V tdm_fn_shr_##type(V a, V b) { return a >> ((UNSIGNED)b & (bits - 1)); }
TDM_INTEGER_FUNCTIONS(i32, tdm_i32, tdm_u32, 32u)
TDM_INTEGER_FUNCTIONS(u32, tdm_u32, tdm_u32, 32u)
TDM_INTEGER_FUNCTIONS(i64, tdm_i64, tdm_u64, 64u)
TDM_INTEGER_FUNCTIONS(u64, tdm_u64, tdm_u64, 64u)

#define TDM_UNSIGNED_FUNCTIONS(type, V)                                                            \
    INLINE V tdm_fn_div_##type(V a, V b) { return b ? a / (b ? b : 1) : 0; }                       \
    INLINE V tdm_fn_rem_##type(V a, V b) { return b ? a % (b ? b : 1) : 0; }                       \
    INLINE V tdm_fn_abs_##type(V a) { return a; }                                                  \
    INLINE V tdm_fn_sign_##type(V a) { return a ? 1 : 0; }                                         \
    INLINE V tdm_fn_relu_##type(V a) { return a; }                                                 \
    INLINE V tdm_fn_floor_divide_##type(V a, V b) { return tdm_fn_div_##type(a, b); }              \
    INLINE V tdm_fn_remainder_##type(V a, V b) { return tdm_fn_rem_##type(a, b); }
TDM_UNSIGNED_FUNCTIONS(u32, tdm_u32)
TDM_UNSIGNED_FUNCTIONS(u64, tdm_u64)

/* the least number divided by -1 is itself, as it wraps; to a divisor of 1 it comes the same way */
#define TDM_SIGNED_FUNCTIONS(type, V, UNSIGNED)                                                    \
    INLINE V tdm_fn_div_##type(V a, V b)                                                           \
    {                                                                                              \
        const V quotient = a / (b == 0 || b == -1 ? 1 : b);                                        \
        return b == 0 ? 0 : b == -1 ? (V)(0 - (UNSIGNED)a) : quotient;                             \
    }                                                                                              \
    INLINE V tdm_fn_rem_##type(V a, V b) { return a % (b == 0 || b == -1 ? 1 : b); }               \
    INLINE V tdm_fn_abs_##type(V a) { return a < 0 ? (V)(0 - (UNSIGNED)a) : a; }                   \
    INLINE V tdm_fn_sign_##type(V a) { return (V)((a > 0) - (a < 0)); }                            \
    INLINE V tdm_fn_relu_##type(V a) { return a < 0 ? 0 : a; }                                     \
    INLINE V tdm_fn_floor_divide_##type(V a, V b)                                                  \
    {                                                                                              \
        const V quotient = tdm_fn_div_##type(a, b), rest = tdm_fn_rem_##type(a, b);                \
        return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;                              \
    }                                                                                              \
    INLINE V tdm_fn_remainder_##type(V a, V b)                                                     \
    {                                                                                              \
        const V rest = tdm_fn_rem_##type(a, b);                                                    \
        return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                                      \
    }
TDM_SIGNED_FUNCTIONS(i32, tdm_i32, tdm_u32)
TDM_SIGNED_FUNCTIONS(i64, tdm_i64, tdm_u64)

INLINE tdm_i32 tdm_fn_and_truth(tdm_i32 a, tdm_i32 b) { return a & b; }
INLINE tdm_i32 tdm_fn_or_truth(tdm_i32 a, tdm_i32 b) { return a | b; }
INLINE tdm_i32 tdm_fn_xor_truth(tdm_i32 a, tdm_i32 b) { return a ^ b; }
INLINE tdm_i32 tdm_fn_not_truth(tdm_i32 a) { return a ^ 1; }

/* ---- comparisons, and choices among two values ---- */

#define TDM_EQUALITY(type, V)                                                                      \
    INLINE tdm_i32 tdm_fn_eq_##type(V a, V b) { return a == b ? 1 : 0; }                           \
    INLINE tdm_i32 tdm_fn_ne_##type(V a, V b) { return a != b ? 1 : 0; }                           \
    INLINE V tdm_fn_where_##type(tdm_i32 c, V a, V b) { return c ? a : b; }
TDM_EQUALITY(truth, tdm_i32)
#define TDM_COMPARISONS(type, V)                                                                   \
    TDM_EQUALITY(type, V)                                                                          \
    INLINE tdm_i32 tdm_fn_lt_##type(V a, V b) { return a < b ? 1 : 0; }                            \
    INLINE tdm_i32 tdm_fn_le_##type(V a, V b) { return a <= b ? 1 : 0; }                           \
    INLINE tdm_i32 tdm_fn_gt_##type(V a, V b) { return a > b ? 1 : 0; }                            \
    INLINE tdm_i32 tdm_fn_ge_##type(V a, V b) { return a >= b ? 1 : 0; }                           \
    /* a where it is NaN; b where that is, as a comparison with it is false */                     \
    INLINE V tdm_fn_min_##type(V a, V b) { return a != a ? a : a < b ? a : b; }                    \
    INLINE V tdm_fn_max_##type(V a, V b) { return a != a ? a : a > b ? a : b; }
TDM_COMPARISONS(i32, tdm_i32)
TDM_COMPARISONS(u32, tdm_u32)
TDM_COMPARISONS(i64, tdm_i64)
TDM_COMPARISONS(u64, tdm_u64)
TDM_COMPARISONS(f32, float)

/* ---- f32 and f64 ---- */

#define TDM_FLOAT_FUNCTIONS(type, V, LIBRARY, one, ln_2)                                           \
    INLINE V tdm_fn_add_##type(V a, V b) { return a + b; }                                         \
    INLINE V tdm_fn_sub_##type(V a, V b) { return a - b; }                                         \
    INLINE V tdm_fn_mul_##type(V a, V b) { return a * b; }                                         \
    INLINE V tdm_fn_div_##type(V a, V b) { return a / b; }                                         \
    INLINE V tdm_fn_rem_##type(V a, V b) { return LIBRARY(fmod)(a, b); }                           \
    INLINE V tdm_fn_neg_##type(V a) { return -a; }                                                 \
    INLINE V tdm_fn_abs_##type(V a) { return tdm_abs_##type(a); }                                  \
    INLINE V tdm_fn_sign_##type(V a) { return a > 0 ? one : a < 0 ? -one : a; }                    \
    INLINE V tdm_fn_square_##type(V a) { return a * a; }                                           \
    INLINE V tdm_fn_relu_##type(V a) { return tdm_act_##type##_RELU(a); }                          \
    INLINE V tdm_fn_sqrt_##type(V a) { return tdm_sqrt_##type(a); }                                \
    INLINE V tdm_fn_rsqrt_##type(V a) { return one / tdm_sqrt_##type(a); }                         \
    INLINE V tdm_fn_reciprocal_##type(V a) { return one / a; }                                     \
    INLINE V tdm_fn_hypot_##type(V a, V b) { return LIBRARY(hypot)(a, b); }                        \
    INLINE V tdm_fn_expm1_##type(V a) { return LIBRARY(expm1)(a); }                                \
    INLINE V tdm_fn_log_##type(V a) { return tdm_log_##type(a); }                                  \
    INLINE V tdm_fn_log1p_##type(V a) { return LIBRARY(log1p)(a); }                                \
    INLINE V tdm_fn_pow_##type(V a, V b) { return LIBRARY(pow)(a, b); }                            \
    INLINE V tdm_fn_sin_##type(V a) { return LIBRARY(sin)(a); }                                    \
    INLINE V tdm_fn_cos_##type(V a) { return LIBRARY(cos)(a); }                                    \
    INLINE V tdm_fn_tan_##type(V a) { return LIBRARY(tan)(a); }                                    \
    INLINE V tdm_fn_asin_##type(V a) { return LIBRARY(asin)(a); }                                  \
    INLINE V tdm_fn_acos_##type(V a) { return LIBRARY(acos)(a); }                                  \
    INLINE V tdm_fn_atan_##type(V a) { return LIBRARY(atan)(a); }                                  \
    INLINE V tdm_fn_atan2_##type(V a, V b) { return LIBRARY(atan2)(a, b); }                        \
    INLINE V tdm_fn_sinh_##type(V a) { return LIBRARY(sinh)(a); }                                  \
    INLINE V tdm_fn_cosh_##type(V a) { return LIBRARY(cosh)(a); }                                  \
    INLINE V tdm_fn_asinh_##type(V a) { return LIBRARY(asinh)(a); }                                \
    INLINE V tdm_fn_acosh_##type(V a) { return LIBRARY(acosh)(a); }                                \
    INLINE V tdm_fn_atanh_##type(V a) { return LIBRARY(atanh)(a); }                                \
    INLINE V tdm_fn_tanh_##type(V a) { return tdm_act_##type##_TANH(a); }                          \
    INLINE V tdm_fn_erf_##type(V a) { return LIBRARY(erf)(a); }                                    \
    INLINE V tdm_fn_erfc_##type(V a) { return LIBRARY(erfc)(a); }                                  \
    INLINE V tdm_fn_floor_##type(V a) { return LIBRARY(floor)(a); }                                \
    INLINE V tdm_fn_ceil_##type(V a) { return LIBRARY(ceil)(a); }                                  \
    INLINE V tdm_fn_round_##type(V a) { return LIBRARY(rint)(a); }                                 \
    INLINE V tdm_fn_trunc_##type(V a) { return LIBRARY(trunc)(a); }                                \
    INLINE V tdm_fn_fma_##type(V a, V b, V c) { return tdm_fma_##type(a, b, c); }                  \
    INLINE V tdm_fn_mul_add_##type(V a, V b, V c) { return a * b + c; }                            \
    INLINE V tdm_fn_mul_sub_##type(V a, V b, V c) { return a * b - c; }                            \
    INLINE V tdm_fn_sub_mul_##type(V a, V b, V c) { return c - a * b; }                            \
    INLINE V tdm_fn_gelu_##type(V a) { return tdm_act_##type##_GELU(a); }                          \
    INLINE V tdm_fn_gelu_tanh_##type(V a) { return tdm_act_##type##_GELU_TANH(a); }                \
    INLINE V tdm_fn_silu_##type(V a) { return tdm_act_##type##_SILU(a); }                          \
    INLINE V tdm_fn_sigmoid_##type(V a) { return tdm_act_##type##_SIGMOID(a); }                    \
    INLINE tdm_i32 tdm_fn_isnan_##type(V a) { return a != a ? 1 : 0; }                             \
    INLINE tdm_i32 tdm_fn_isinf_##type(V a)                                                        \
    {                                                                                              \
        return tdm_magnitude_key_##type(a) == tdm_infinity_key_##type ? 1 : 0;                     \
    }                                                                                              \
    INLINE tdm_i32 tdm_fn_isfinite_##type(V a)                                                     \
    {                                                                                              \
        return tdm_magnitude_key_##type(a) < tdm_infinity_key_##type ? 1 : 0;                      \
    }                                                                                              \
    INLINE tdm_i32 tdm_fn_signbit_##type(V a) { return tdm_order_key_##type(a) < 0 ? 1 : 0; }      \
    INLINE V tdm_fn_copysign_##type(V a, V b)                                                      \
    {                                                                                              \
        return tdm_fn_signbit_##type(a) == tdm_fn_signbit_##type(b) ? a : -a;                      \
    }                                                                                              \
    /* the order of numbers is that of their keys; those of the zeros are -1 and 0 */              \
    INLINE V tdm_fn_nextafter_##type(V a, V b)                                                     \
    {                                                                                              \
        const tdm_i32 up = a < b ? 1 : 0;                                                          \
        const V next = tdm_order_value_##type(                                                     \
            (a < 0 || a > 0 ? tdm_order_key_##type(a) : up - 1) + (up ? 1 : -1));                  \
        return a == b ? b : a != a || b != b ? a + b : next;                                       \
    }                                                                                              \
    INLINE V tdm_fn_logaddexp_##type(V a, V b)                                                     \
    {                                                                                              \
        const V far = tdm_fn_exp_##type(-tdm_abs_##type(a - b));                                   \
        return a == b ? a + ln_2 : tdm_fn_max_##type(a, b) + LIBRARY(log1p)(far);                  \
    }                                                                                              \
    /* of the divisor's sign, also where it is 0 */                                                \
    INLINE V tdm_fn_remainder_##type(V a, V b)                                                     \
    {                                                                                              \
        const V rest = LIBRARY(fmod)(a, b);                                                        \
        const V same = (rest < 0) == (b < 0) ? rest : rest + b;                                    \
        return rest == 0 ? tdm_fn_copysign_##type(rest, b) : same;                                 \
    }                                                                                              \
    /* as remainder has it: (a - remainder) / b; else a / b, which is infinite, 0 or NaN then */   \
    INLINE V tdm_fn_floor_divide_##type(V a, V b)                                                  \
    {                                                                                              \
        const V quotient = a / b, rest = LIBRARY(fmod)(a, b);                                      \
        const V whole = LIBRARY(rint)((a - rest) / b);                                             \
        const V down = rest != 0 && (rest < 0) != (b < 0) ? whole - one : whole;                   \
        const tdm_i32 finite = tdm_fn_isfinite_##type(a) & tdm_fn_isfinite_##type(b);              \
        return b == 0 || !finite ? quotient : down == 0 ? quotient * 0 : down;                     \
    }

/* exp: as in numeric.h, and 2^n times as small at first where the result is large; within 1 ulp. */
INLINE float tdm_fn_exp_f32(float x)
{
    const float low = x < -110.2f ? -110.2f : x, c = low > 89.0f ? 89.0f : low;
    const float raiser = c > 0.0f ? 12582912.0f + 95.0f : TDM_RAISER;
    const float t = c * 1.44269504f + raiser, n = t - raiser;
    const float s = tdm_expm1_poly((c - n * 0.693359375f) + n * 2.12194440e-4f);
    return (s * TDM_RAISED(t) + TDM_RAISED(t)) * (c > 0.0f ? 4294967296.0f : TDM_TAIL);
}

/* log to the base b. As log; what is multiplied by 1 / ln b comes in two parts, and so do that and log_b 2: products of
 * the first parts are exact. */
INLINE float tdm_log_base(float x, float factor, float rest, float of_2, float rest_of_2)
{
    const tdm_i32 tiny = x < 1.17549435e-38f ? 1 : 0;
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(tiny ? x * 8388608.0f : x);
    const tdm_i32 e = (tdm_i32)(bits - 0x3f3504f3u) >> 23;
    const float f = tdm_as_f32((tdm_i32)(bits - ((tdm_u32)e << 23))) - 1.0f, half_square = 0.5f * f * f;
    const float k = (float)(tiny ? e - 23 : e);
    const float high = tdm_as_f32((tdm_i32)((tdm_u32)tdm_as_i32(f - half_square) & 0xfffff000u));
    const float low = ((f - high) - half_square) + f * (f * f * tdm_log_poly(f));
    const float small = (low + high) * rest + k * rest_of_2;
    return tdm_log_special(x, k * of_2 + (high * factor + (low * factor + small)));
}

/* within 0.9 ulp */
INLINE float tdm_fn_log2_f32(float x) { return tdm_log_base(x, 1.44287109375f, -1.76052854e-4f, 1.0f, 0.0f); }
INLINE float tdm_fn_log10_f32(float x)
{
    return tdm_log_base(x, 0.434326171875f, -3.16899714e-5f, 0.301025390625f, 4.60503907e-6f);
}

/* exp2: as exp, x = n + f; 2^f - 1 = f ln 2 + f^2 P(f), where P of degree 4 was fitted to 3.3e-9 of 2^f. The product of
 * the first parts of f and ln 2 is exact, and so is what 1 + that loses. Within 0.7 ulp,
 * subnormal results within 0.8 units. */
INLINE float tdm_fn_exp2_f32(float x)
{
    const float low = x < -159.0f ? -159.0f : x, c = low > 129.0f ? 129.0f : low;
    const float raiser = c > 0.0f ? 12582912.0f + 95.0f : TDM_RAISER;
    const float t = c + raiser, f = c - (t - raiser), f2 = f * f;
    const float f_high = tdm_as_f32(tdm_as_i32(f) & -0x1000), high = f_high * 0.693115234375f, sum = 1.0f + high;
    const float q23 = 5.550358072e-02f * f + 2.402264774e-01f;
    const float q45 = 1.339189010e-03f * f + 9.618503042e-03f;
    const float rest = ((1.532923488e-04f * f2 + q45) * f2 + q23) * f2 + f * 3.19461863e-05f;
    const float power = sum + ((f - f_high) * 0.693115234375f + rest + (high - (sum - 1.0f)));
    return power * TDM_RAISED(t) * (c > 0.0f ? 4294967296.0f : TDM_TAIL);
}

TDM_FLOAT_FUNCTIONS(f32, float, TDM_LIBRARY_F32, 1.0f, 0.693147182f)

#if TDM_HAS_F64
TDM_COMPARISONS(f64, double)

INLINE double tdm_fn_exp_f64(double x)
{
    const double low = x < -746.0 ? -746.0 : x, c = low > 710.0 ? 710.0 : low;
    const double t = c * 1.4426950408889634 + TDM_RAISER_F64, n = t - TDM_RAISER_F64;
    const double r = (c - n * TDM_LN2_HIGH) - n * TDM_LN2_LOW;
    const tdm_i64 bias = c > 0.0 ? -200 : 200;
    return (tdm_expm1_poly_f64(r) + 1.0) * tdm_power_f64(t, bias) *
           (c > 0.0 ? 1.6069380442589903e60 : 6.223015277861142e-61); /* 2^200, 2^-200 */
}

TDM_FLOAT_FUNCTIONS(f64, double, TDM_LIBRARY_F64, 1.0, 0.6931471805599453)
INLINE double tdm_fn_exp2_f64(double a) { return TDM_LIBRARY_F64(exp2)(a); }
INLINE double tdm_fn_log2_f64(double a) { return TDM_LIBRARY_F64(log2)(a); }
INLINE double tdm_fn_log10_f64(double a) { return TDM_LIBRARY_F64(log10)(a); }
#endif

/* ---- conversions, as a cast does them (convert.h) ---- */

#define TDM_HELD_AS(v, id, V, F)                                                                   \
    ((v) > tdm_most_##F##_##id                                                                     \
         ? tdm_most_##id                                                                           \
         : (V)TDM_HELD(v, (tdm_element_##F)tdm_least_##id, tdm_most_##F##_##id))
#define TDM_BETWEEN(type, V)                                                                       \
    INLINE tdm_i32 tdm_fn_to_i32_##type(V a) { return (tdm_i32)a; }                                \
    INLINE tdm_u32 tdm_fn_to_u32_##type(V a) { return (tdm_u32)a; }                                \
    INLINE tdm_i64 tdm_fn_to_i64_##type(V a) { return (tdm_i64)a; }                                \
    INLINE tdm_u64 tdm_fn_to_u64_##type(V a) { return (tdm_u64)a; }                                \
    INLINE float tdm_fn_to_f32_##type(V a) { return (float)a; }                                    \
    INLINE tdm_i32 tdm_fn_to_bool_##type(V a) { return a != 0 ? 1 : 0; }
TDM_BETWEEN(truth, tdm_i32)
TDM_BETWEEN(i32, tdm_i32)
TDM_BETWEEN(u32, tdm_u32)
TDM_BETWEEN(i64, tdm_i64)
TDM_BETWEEN(u64, tdm_u64)
#define TDM_FROM_FLOAT(type, V)                                                                    \
    INLINE tdm_i32 tdm_fn_to_i32_##type(V a) { return TDM_HELD_AS(a, 4, tdm_i32, type); }          \
    INLINE tdm_u32 tdm_fn_to_u32_##type(V a) { return TDM_HELD_AS(a, 10, tdm_u32, type); }         \
    INLINE tdm_i64 tdm_fn_to_i64_##type(V a) { return TDM_HELD_AS(a, 5, tdm_i64, type); }          \
    INLINE tdm_u64 tdm_fn_to_u64_##type(V a) { return TDM_HELD_AS(a, 11, tdm_u64, type); }         \
    INLINE tdm_i32 tdm_fn_to_bool_##type(V a) { return (tdm_i32)tdm_from_##type##_to_truth(a); }   \
    INLINE float tdm_fn_to_f32_##type(V a) { return (float)a; }
TDM_FROM_FLOAT(f32, float)
#if TDM_HAS_F64
TDM_FROM_FLOAT(f64, double)
INLINE double tdm_fn_to_f64_truth(tdm_i32 a) { return (double)a; }
INLINE double tdm_fn_to_f64_i32(tdm_i32 a) { return (double)a; }
INLINE double tdm_fn_to_f64_u32(tdm_u32 a) { return (double)a; }
INLINE double tdm_fn_to_f64_i64(tdm_i64 a) { return (double)a; }
INLINE double tdm_fn_to_f64_u64(tdm_u64 a) { return (double)a; }
INLINE double tdm_fn_to_f64_f32(float a) { return (double)a; }
INLINE double tdm_fn_to_f64_f64(double a) { return a; }
#endif

#endif
