/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of function_list.h for one element, the same in every kernel language: tdm_fn_<name>_<type>.
 * Compiled after elementary.h, activation.h and convert.h; what numeric.h says of its functions holds of these, too.
 *
 * Integers wrap; x / 0 and x % 0 are 0, and shifts take the low bits of their count, so that nothing traps and all
 * devices agree. NaN propagates, through min and max, too. Functions that TDM_LIBRARY_F32 and _F64 call are as exact as
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
    INLINE V tdm_fn_log_##type(V a) { return tdm_log_##type(a); }                                  \
    INLINE V tdm_fn_pow_##type(V a, V b) { return LIBRARY(pow)(a, b); }                            \
    INLINE V tdm_fn_atan2_##type(V a, V b) { return LIBRARY(atan2)(a, b); }                        \
    INLINE V tdm_fn_tanh_##type(V a) { return tdm_act_##type##_TANH(a); }                          \
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
        return a == b ? a + ln_2 : tdm_fn_max_##type(a, b) + tdm_fn_log1p_##type(far);                  \
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

/* those that elementary.h has for f32 */
#define TDM_OF_LIBRARY_F64(name) INLINE double tdm_fn_##name##_f64(double a) { return TDM_LIBRARY_F64(name)(a); }
TDM_OF_LIBRARY_F64(exp2)
TDM_OF_LIBRARY_F64(log2)
TDM_OF_LIBRARY_F64(log10)
TDM_OF_LIBRARY_F64(expm1)
TDM_OF_LIBRARY_F64(log1p)
TDM_OF_LIBRARY_F64(sinh)
TDM_OF_LIBRARY_F64(cosh)
TDM_OF_LIBRARY_F64(asinh)
TDM_OF_LIBRARY_F64(acosh)
TDM_OF_LIBRARY_F64(atanh)
TDM_OF_LIBRARY_F64(sin)
TDM_OF_LIBRARY_F64(cos)
TDM_OF_LIBRARY_F64(tan)
TDM_OF_LIBRARY_F64(asin)
TDM_OF_LIBRARY_F64(acos)
TDM_OF_LIBRARY_F64(atan)
TDM_OF_LIBRARY_F64(erf)
TDM_OF_LIBRARY_F64(erfc)
TDM_FLOAT_FUNCTIONS(f64, double, TDM_LIBRARY_F64, 1.0, 0.6931471805599453)
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
