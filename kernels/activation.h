/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The activations, the same in every kernel language. Included after numeric.h: what is said there of its
 * functions holds of these, too. */
#ifndef TDMI_KERNEL_ACTIVATION_H
#define TDMI_KERNEL_ACTIVATION_H

/* Of TDM_ACT_LIST, by number. */
#define ACTIVATE(id, v) TDM_BY_ACC(tdm_activate_)(id, v)

/* 2^f for |f| <= 1/2, within 9.2e-8 */
INLINE float tdm_exp2_poly(float f) {
    const float f2 = f * f;
    const float low = 2.4022241e-1f * f + 6.9314694e-1f;
    const float middle = 9.671698e-3f * f + 5.5507686e-2f;
    return ((1.3256731e-3f * f2 + middle) * f2 + low) * f + 1.0f;
}

/* 1 / d for 2^-126 <= |d| <= 2^125, from the bits within 5.1 % */
INLINE float tdm_inverse_guess(float d) { return tdm_as_f32((tdm_i32)(0x7ef311c7u - (tdm_u32)tdm_as_i32(d))); }

/* 1 / d for 0.7 <= d <= 2^126. CPUs divide vectors in less time than they take for what GPUs do here: the guess, a step
 * of third order (Halley) and one of second (Newton). NaN gives NaN. */
INLINE float tdm_inverse_f32(float d) {
#if ROW_LOOPS
    return 1.0f / d;
#else
    float y = tdm_inverse_guess(d);
    const float e = 1.0f - d * y;
    y = y * (e * e + e) + y;
    return (1.0f - d * y) * y + y;
#endif
}

/* n / d for finite n: on GPUs with what is still missing from the quotient (Markstein), which with FMA is rounded once,
 * without within 3 ulp. */
INLINE float tdm_quotient_f32(float n, float d) {
#if ROW_LOOPS
    return n / d;
#else
    const float y = tdm_inverse_f32(d), q = n * y;
    return q - (d * q - n) * y; /* -0 stays -0 */
#endif
}

/* 1 / (1 + exp(a)) for a = |x|, held at 110.2, is 2^n / (2^n + s + 1), where exp(-a) = 2^n / (1 + s): 2^n, which loses
 * nothing, 2^32 times as large, and the sum below with what it was rounded by. */
typedef struct tdm_logistic {
    float a, raised, sum, rest;
} tdm_logistic;
INLINE tdm_logistic tdm_logistic_f32(float x) {
    const float size = tdm_abs_f32(x), a = size > 110.2f ? 110.2f : size;
    const float t = a * -1.44269504f + TDM_RAISER, n = t - TDM_RAISER;
    const float s = tdm_expm1_poly((n * 0.693359375f + a) - n * 2.12194440e-4f);
    const float power = TDM_RAISED(t) * TDM_TAIL;
    tdm_logistic l;
    l.a = a;
    l.raised = TDM_RAISED(t);
    l.sum = (power + s) + 1.0f;
    l.rest = s - ((l.sum - 1.0f) - power);
    return l;
}

/* 2^32 / (1 + 2^-v) for -159.4 <= v <= 90 */
INLINE float tdm_logistic2_f32(float v) {
    const float t = v + TDM_RAISER;
    const float power = tdm_exp2_poly(v - (t - TDM_RAISER)) * TDM_RAISED(t);
    return tdm_quotient_f32(power, power * TDM_TAIL + 1.0f);
}

INLINE tdm_i32 tdm_least_i32(tdm_i32 a, tdm_i32 b) { return a < b ? a : b; }

INLINE tdm_i32 tdm_most_i32(tdm_i32 a, tdm_i32 b) { return a > b ? a : b; }

/* x, or -0 where the sign of x is negative, -NaN among them: as integers without a sign, whose minimum is one
 * instruction. A compiler may take x < 0 ? -0 : x for a maximum, whose zeros have no order. */
INLINE float tdm_positive_part_f32(float x) {
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(x);
    return tdm_as_f32((tdm_i32)(bits < 0x80000000u ? bits : 0x80000000u));
}

/* tanh: a P(a^2) / Q(a^2) of degrees 4 and 4, fitted for a = |x| up to 8.6; at 9.4, where a is held,
 * it is above 1, where the result is held. Numbers that are not negative are compared as integers,
 * in one instruction. Within 6.2 ulp. */
INLINE float tdm_tanh_f32(float x) {
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
 * its absolute error further out, and is 0 from 8.66 on, so that gelu(-Inf) is 0, not NaN. Within 8.4 ulp
 * for x >= -1; below, the error is at most 1.3e-7 absolute, 1.2e-8 from -3 on. */
INLINE float tdm_gelu_f32(float x) {
    const float size = tdm_abs_f32(x), a = size > 9.0f ? 9.0f : size, a2 = a * a;
    const float q12 = -3.481602296e-02f * a + -9.973547608e-02f;
    const float q34 = 1.643829164e-03f * a + -7.360755117e-04f;
    const float q56 = -6.509028753e-05f * a + 3.549858957e-05f;
    const float q78 = -3.151631631e-07f * a + 8.049543794e-06f;
    float q = ((q78 * a2 + q56) * (a2 * a2) + (q34 * a2 + q12)) * a + 1.0f;
    q = tdm_as_f32(tdm_most_i32(tdm_as_i32(q), 0));
    const float q2 = q * q, q4 = q2 * q2;
    return tdm_positive_part_f32(x) - (0.5f * a) * (q4 * q4);
}

INLINE float tdm_act_f32_NONE(float x) { return x; }

INLINE float tdm_act_f32_RELU(float x) { return x < 0.0f ? 0.0f : x; }

INLINE float tdm_act_f32_GELU(float x) { return tdm_gelu_f32(x); }

/* x / (1 + exp(-2u)), which equals x (1 + tanh u) / 2 and loses no digits. Here and below arguments are
 * held where the result is 0, so that -Inf gives that and not NaN, and above where it is x or 1. */
INLINE float tdm_act_f32_GELU_TANH(float x) {
    /* 2u / ln 2 = c (k0 + k1 c^2) */
    float c = x < -10.915f ? -10.915f : x;
    c = c > 7.5f ? 7.5f : c;
    c = c * tdm_logistic2_f32(c * (2.302208198f + 0.1029432397f * (c * c))) * TDM_TAIL;
    return x > 7.5f ? x : c;
}

/* silu(-a) = -a / (1 + exp(a)), and silu(a) = a + silu(-a). Within 1.45 ulp, on GPUs without FMA
 * 2.05. */
INLINE float tdm_act_f32_SILU(float x) {
    const tdm_logistic l = tdm_logistic_f32(x);
    const float q = tdm_quotient_f32(l.a * l.raised, l.sum);
    return tdm_positive_part_f32(x) - (q - q * (l.rest * tdm_inverse_guess(l.sum))) * TDM_TAIL;
}

/* sigmoid(-a) = 1 / (1 + exp(a)), and sigmoid(a) = 1 - sigmoid(-a); the inverse with what is missing from 1 / (sum +
 * rest). Within 1 ulp with FMA, without 1.4 and on GPUs 1.7. */
INLINE float tdm_act_f32_SIGMOID(float x) {
    const tdm_logistic l = tdm_logistic_f32(x);
    const float y = tdm_inverse_f32(l.sum), exact = y - ((l.sum * y - 1.0f) + l.rest * y) * y;
    const float small = exact * (l.raised * TDM_TAIL);
    return x < 0.0f ? small : 1.0f - small;
}

INLINE float tdm_act_f32_TANH(float x) { return tdm_tanh_f32(x); }

#define TDM_ACT_CASE_F32(NAME)                                                                     \
    case TDM_ACT_##NAME:                                                                           \
        return tdm_act_f32_##NAME(x);
INLINE float tdm_activate_f32(const tdm_u32 id, float x) {
    switch (id) {
        TDM_ACT_LIST(TDM_ACT_CASE_F32)
    default:
        return x;
    }
}

#if TDM_HAS_F64
/* exp(v + w) for -700 <= v <= 0 and a w that is next to nothing; v has 52 bits at most. */
INLINE double tdm_exp_sum_f64(double v, double w) {
    const double t = v * 1.4426950408889634 + TDM_RAISER_F64, n = t - TDM_RAISER_F64;
    const double r = (v - n * TDM_LN2_HIGH) - (n * TDM_LN2_LOW - w);
    return (tdm_expm1_poly_f64(r) + 1.0) * tdm_power_f64(t, 0);
}

/* x Φ(x) = max(x, 0) - |x| Φ(-|x|), as for f32. The tail a Φ(-a) is a / (1 + a) exp(-a²/2) P(y), where y is
 * (a - 6) / (a + 6) and P of degree 22 was fitted to the relative error up to 40, from where on Φ(-a) is 0.
 * exp(-a²/2) is the square of exp(-a²/4), so that a subnormal result is rounded once, and a² is taken in two
 * parts. Within 3 ulp of the tail. */
INLINE double tdm_gelu_f64(double x) {
    const double magnitude = tdm_abs_f64(x);
    const double a = magnitude > 40.0 ? 40.0 : magnitude;
    const double high = tdm_as_f64(tdm_as_i64(a) & ~(tdm_i64)0x7ffffff);
    const double e = tdm_exp_sum_f64(-0.25 * (high * high), -0.25 * ((a - high) * (a + high)));
    const double y = (a - 6.0) / (a + 6.0), y2 = y * y;
    double even = 1.5695921634584025e-09, odd = 2.9426390752797887e-09;
    even = even * y2 - 1.5639864942746644e-08;
    odd = odd * y2 - 2.0027893278270845e-08;
    even = even * y2 + 1.3236790158938167e-07;
    odd = odd * y2 - 4.2913658269661417e-10;
    even = even * y2 - 9.995898526491916e-07;
    odd = odd * y2 + 1.7838116022958124e-06;
    even = even * y2 + 4.412404543912898e-06;
    odd = odd * y2 - 2.6353393572409072e-05;
    even = even * y2 + 3.779490167737176e-05;
    odd = odd * y2 + 0.00011948965571717959;
    even = even * y2 - 0.0008689946656167478;
    odd = odd * y2 + 0.0029356555179146167;
    even = even * y2 - 0.007059819421068707;
    odd = odd * y2 + 0.013246864154012135;
    even = even * y2 - 0.01976647921997029;
    odd = odd * y2 + 0.022592467062783016;
    even = even * y2 - 0.016141517332197368;
    odd = odd * y2 - 0.004373386779593226;
    even = even * y2 + 0.03981142456242982;
    odd = odd * y2 - 0.08502536230577072;
    even = even * y2 + 0.45345520027112796;
    const double tail = a * (odd * y + even) / (1.0 + a) * e * e;
    return x < 0.0 ? -tail : x - tail;
}

/* x / (1 + exp(-u)); exp(u) as a square, so that a subnormal result is rounded once */
INLINE double tdm_gated_f64(double x, double u) {
    const double root = tdm_exp_negative_f64(-0.5 * tdm_abs_f64(u));
    return (u < 0.0 ? x * root * root : x) / (1.0 + root * root);
}

INLINE double tdm_act_f64_NONE(double x) { return x; }

INLINE double tdm_act_f64_RELU(double x) { return x < 0.0 ? 0.0 : x; }

INLINE double tdm_act_f64_GELU(double x) { return tdm_gelu_f64(x); }

INLINE double tdm_act_f64_GELU_TANH(double x) {
    const double c = x < -30.0 ? -30.0 : x;
    return tdm_gated_f64(c, c * (1.5957691216057307118 + 7.1354816272600254e-2 * (c * c)));
}

INLINE double tdm_act_f64_SILU(double x) {
    const double c = x < -800.0 ? -800.0 : x;
    return tdm_gated_f64(c, c);
}

INLINE double tdm_act_f64_SIGMOID(double x) { return tdm_gated_f64(1.0, x); }

/* Within 3 ulp: tanh |x| = e / (e + 2) with e = exp(2|x|) - 1, which is 2^n (exp(r) - 1) + (2^n - 1); for
 * large |x| it is 1. */
INLINE double tdm_act_f64_TANH(double x) {
    const double magnitude = tdm_abs_f64(x), a = magnitude > 22.0 ? 44.0 : 2.0 * magnitude;
    const double t = a * 1.4426950408889634 + TDM_RAISER_F64, n = t - TDM_RAISER_F64;
    const double power = tdm_power_f64(t, 0);
    const double e =
        power * tdm_expm1_poly_f64((a - n * TDM_LN2_HIGH) - n * TDM_LN2_LOW) + (power - 1.0);
    const tdm_i64 sign = (tdm_i64)((tdm_u64)tdm_as_i64(x) & ((tdm_u64)1 << 63));
    return tdm_as_f64(tdm_as_i64(e / (e + 2.0)) | sign);
}

#define TDM_ACT_CASE_F64(NAME)                                                                     \
    case TDM_ACT_##NAME:                                                                           \
        return tdm_act_f64_##NAME(x);
INLINE double tdm_activate_f64(const tdm_u32 id, double x) {
    switch (id) {
        TDM_ACT_LIST(TDM_ACT_CASE_F64)
    default:
        return x;
    }
}
#endif

#endif
