/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Exponentials, logarithms to other bases, and trigonometric, hyperbolic, inverse and error functions of a float, the
 * same on every device: without a table or call, so that compilers vectorise them, which they do not with calls of a
 * library; they take the one branch, of far angles, as a choice. After numeric.h and activation.h. Polynomials were
 * fitted as there; bounds are with and without FMA (docs/accuracy.md). */
#ifndef TDMI_KERNEL_ELEMENTARY_H
#define TDMI_KERNEL_ELEMENTARY_H

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

/* y with the sign of x; y is not negative */
INLINE float tdm_signed_f32(float y, float x)
{
    return tdm_as_f32(tdm_as_i32(y) | (tdm_as_i32(x) & (-0x7fffffff - 1)));
}

/* (e^x - 1) / 4 for -20 <= x <= 89.5, as 2^(n-2) (1 + s) - 1/4. The loss of the sum of the first two parts, and the
 * remainder r, go into the last summand. */
INLINE float tdm_quarter_expm1(float x)
{
    const float raiser = 12582912.0f + 125.0f, t = x * 1.44269504f + raiser, n = t - raiser;
    const float coarse = x - n * 0.693359375f, r = coarse + n * 2.12194440e-4f, power = TDM_RAISED(t);
    const float rest = n * 2.12194440e-4f - (r - coarse), r2 = r * r;
    const float p12 = 4.166649282e-02f * r + 1.666666567e-01f, p34 = 1.393236453e-03f * r + 8.333543316e-03f;
    const float cubic = ((1.976433123e-04f * r2 + p34) * r2 + p12) * (r2 * r);
    const float less = power - 0.25f, lost = (power - less) - 0.25f, sum = less + power * r;
    return sum + (((power * r - (sum - less)) + (lost + power * rest)) + power * cubic + power * (0.5f * r2));
}

/* Within 0.9 ulp; below 2^-25 it is x. */
INLINE float tdm_fn_expm1_f32(float x)
{
    const float low = x < -20.0f ? -20.0f : x, c = low > 89.5f ? 89.5f : low;
    const float y = 4.0f * tdm_quarter_expm1(c);
    return tdm_magnitude_key_f32(x) < 0x33000000 ? x : y;
}

/* Below 1 x + x^3 P(x^2). Within 1.4 ulp, as cosh is. */
INLINE float tdm_fn_sinh_f32(float x)
{
    const float a = tdm_abs_f32(x), q = tdm_quarter_expm1(a > 89.5f ? 89.5f : a);
    const float u = a * a, p23 = 2.786622417e-06f * u + 1.984229893e-04f;
    const float near = a + a * u * ((p23 * u + 8.333312348e-03f) * u + 1.666666716e-01f);
    const float y = a < 1.0f ? near : 2.0f * q + q / (2.0f * q + 0.5f);
    return x == x ? tdm_signed_f32(y, x) : x;
}

INLINE float tdm_fn_cosh_f32(float x)
{
    const float a = tdm_abs_f32(x), q = tdm_quarter_expm1(a > 89.5f ? 89.5f : a) + 0.25f;
    return 2.0f * q + 0.125f / q;
}

/* log(2^n (u + lost)) for a lost that is next to nothing: as log, and lost is added to f. */
INLINE float tdm_log_of_sum(float u, float lost, tdm_i32 n)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(u);
    const tdm_i32 e = (tdm_i32)(bits - 0x3f3504f3u) >> 23;
    const float m = tdm_as_f32((tdm_i32)(bits - ((tdm_u32)e << 23))) - 1.0f;
    const float part = lost * tdm_as_f32((tdm_i32)((tdm_u32)(e < 64 ? 127 - e : 0) << 23));
    const float f = m + part, f2 = f * f, k = (float)(e + n);
    const float low = f * (f2 * tdm_log_poly(f)) + k * -2.12194440e-4f - (0.5f * f2 - (part - (f - m)));
    return tdm_log_special(u, k * 0.693359375f + (f + low));
}

/* log(1 + x). Within 0.9 ulp. */
INLINE float tdm_fn_log1p_f32(float x)
{
    const float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    const float y = tdm_log_of_sum(u, lost, 0);
    return tdm_magnitude_key_f32(x) < 0x33000000 ? x : y;
}

/* log(a + √(a^2 + one)) for a >= 0.7, where one is 1, or -1 and a >= 1.5, as log of half the sum; the root with what
 * is missing from its square. From 4096 on the root is a. */
INLINE float tdm_log_with_root(float a, float one)
{
    const float c = a > 4096.0f ? 4096.0f : a, root = tdm_sqrt_f32(c * c + one);
    const float high = tdm_as_f32(tdm_as_i32(c) & -0x1000), root_high = tdm_as_f32(tdm_as_i32(root) & -0x1000);
    const float rest = (c - high) * (c + high) - (root - root_high) * (root + root_high);
    const float missing = ((high * high - root_high * root_high) + one) + rest;
    const float half_a = 0.5f * a, half_root = a > 4096.0f ? half_a : 0.5f * root, u = half_a + half_root;
    const float lost = one > 0.0f ? half_a - (u - half_root) : half_root - (u - half_a);
    const float of_root = a > 4096.0f ? 0.0f : missing * (0.25f * tdm_inverse_guess(root));
    return tdm_log_of_sum(u, lost + of_root, 1);
}

/* Up to 0.7 x + x^3 P(x^2). Within 0.9 ulp. */
INLINE float tdm_fn_asinh_f32(float x)
{
    const float a = tdm_abs_f32(x), u = a * a, far = tdm_log_with_root(a, 1.0f);
    float p = 5.303204703e-03f;
    p = p * u - 1.622534390e-02f;
    p = p * u + 2.861567054e-02f;
    p = p * u - 4.437131874e-02f;
    p = p * u + 7.498027720e-02f;
    p = p * u - 1.666661830e-01f;
    return tdm_signed_f32(a < 0.7f ? a + a * (u * p) : far, x);
}

/* Up to 1.5 √2t (1 + t P(t)), t = x - 1. Within 1.2 ulp. */
INLINE float tdm_fn_acosh_f32(float x)
{
    const float t = x - 1.0f, root = tdm_sqrt_f32(t + t), far = tdm_log_with_root(x, -1.0f);
    float p = -4.136723640e-04f;
    p = p * t + 1.760569843e-03f;
    p = p * t - 5.548064430e-03f;
    p = p * t + 1.874663033e-02f;
    p = p * t - 8.333321790e-02f;
    return t < 0.5f ? root + root * (t * p) : far;
}

/* Up to 1/2 x + x^3 P(x^2), from there log((1 + |x|) / (1 - |x|)) / 2. Within 1.1 ulp. */
INLINE float tdm_fn_atanh_f32(float x)
{
    const float a = tdm_abs_f32(x), u = a * a, n = 1.0f + a, d = 1.0f - a;
    const float far = 0.5f * tdm_log_of_sum(n / d, (a - (n - 1.0f)) / d, 0);
    float p = 1.766911588e-01f;
    p = p * u + 5.135828752e-02f;
    p = p * u + 1.182372776e-01f;
    p = p * u + 1.422276254e-01f;
    p = p * u + 2.000251825e-01f;
    p = p * u + 3.333330007e-01f;
    return tdm_signed_f32(a < 0.5f ? a + a * (u * p) : far, x);
}

/* erf(a) / a - 1 of u = a^2 */
INLINE float tdm_erf_poly(float u)
{
    float p = 7.681733405e-05f;
    p = p * u - 8.000658127e-04f;
    p = p * u + 5.189796910e-03f;
    p = p * u - 2.685518749e-02f;
    p = p * u + 1.128362194e-01f;
    p = p * u - 3.761262894e-01f;
    return p * u + 1.283791661e-01f;
}

/* e^-(q a) for 0 <= q a < 60, the product without an error */
INLINE float tdm_exp_product(float q, float a, float q_rest)
{
    const float q_high = tdm_as_f32(tdm_as_i32(q) & -0x1000), a_high = tdm_as_f32(tdm_as_i32(a) & -0x1000);
    const float high = q_high * a_high, low = (q - q_high) * a_high + (q * (a - a_high) + q_rest * a);
    const float t = high * -1.44269504f + TDM_RAISER, n = t - TDM_RAISER;
    const float s = tdm_expm1_poly((-high - n * 0.693359375f) + (n * 2.12194440e-4f - low));
    return (s * TDM_RAISED(t) + TDM_RAISED(t)) * TDM_TAIL;
}

/* Up to 0.8 a + a P(a^2), beyond 1 - exp(-a Q(a)). Within 0.9 ulp. */
INLINE float tdm_fn_erf_f32(float x)
{
    const float magnitude = tdm_abs_f32(x), a = magnitude > 4.0f ? 4.0f : magnitude;
    float q = 7.550463579e-06f;
    q = q * a - 7.651276246e-05f;
    q = q * a + 1.033250810e-04f;
    q = q * a + 2.520977752e-03f;
    q = q * a - 2.203382179e-02f;
    q = q * a + 1.046764180e-01f;
    q = q * a + 6.359162927e-01f;
    const float qa = q * a, sum = 1.128491282e+00f + qa, rest = qa - (sum - 1.128491282e+00f);
    const float y = a < 0.8f ? a * tdm_erf_poly(a * a) + a : 1.0f - tdm_exp_product(sum, a, rest);
    return x == x ? tdm_signed_f32(y, x) : x;
}

/* Up to 0.6 1 - erf; beyond exp(-a^2) P(w) / (1 + a), w = 1 / (1 + a). The loss of a sum is taken as a part of the
 * exponential, which is added to 1 last. Within 2.6 ulp. */
INLINE float tdm_fn_erfc_f32(float x)
{
    const float magnitude = tdm_abs_f32(x), a = magnitude > 10.1f ? 10.1f : magnitude;
    const float high = tdm_as_f32(tdm_as_i32(a) & -0x1000), rest = (a - high) * (a + high);
    const float t = high * high * -1.44269504f + TDM_RAISER, n = t - TDM_RAISER;
    const float coarse = -(high * high) - n * 0.693359375f, fine = n * 2.12194440e-4f - rest, r = coarse + fine;
    const float d = a + 1.0f, w = 1.0f / d, y = w - 0.33203125f;
    float p = 1.882839203e+00f;
    p = p * y - 2.619076014e+00f;
    p = p * y + 8.616248369e-01f;
    p = p * y + 8.604530692e-01f;
    p = p * y - 1.041643620e+00f;
    p = p * y + 2.066383809e-01f;
    p = p * y + 5.181738138e-01f;
    p = p * y - 4.453481734e-01f;
    p = p * y - 2.455407381e-01f;
    p = p * y + 5.855851173e-01f;
    const float py = p * y, sum = 7.654249668e-01f + py, lost = py - (sum - 7.654249668e-01f);
    p = sum / d;
    const float s = tdm_expm1_poly(r) + ((fine - (r - coarse)) + ((1.8f - w) * lost - (a - (d - 1.0f)) * w));
    const float tail = (s * p + p) * TDM_RAISED(t) * TDM_TAIL;
    const float far = x < 0.0f ? 2.0f - tail : tail;
    return a < 0.6f ? 1.0f - (x + x * tdm_erf_poly(a * a)) : x == x ? far : x;
}

/* (atan(a) / a - 1) / u of u = a^2, up to a = 1 */
INLINE float tdm_atan_poly(float u)
{
    float p = 2.919756342e-03f;
    p = p * u - 1.636423729e-02f;
    p = p * u + 4.320597276e-02f;
    p = p * u - 7.551728934e-02f;
    p = p * u + 1.066578627e-01f;
    p = p * u - 1.421100348e-01f;
    p = p * u + 1.999376714e-01f;
    return p * u - 3.333315253e-01f;
}

/* beyond 1 pi / 2 - atan(1 / a); within 1.4 ulp */
INLINE float tdm_fn_atan_f32(float x)
{
    const float magnitude = tdm_abs_f32(x), inverse = 1.0f / magnitude;
    const float a = magnitude > 1.0f ? inverse : magnitude, u = a * a, y = a * (u * tdm_atan_poly(u));
    const float up = 1.57079637f - (a + (y + 4.37113883e-08f));
    return tdm_signed_f32(magnitude > 1.0f ? up : a + y, x);
}

/* asin(a) = a + rest: a is |x| up to 1/2, and from there √u, u = (1 - |x|) / 2; what the root lost is in the rest. */
typedef struct tdm_arc {
    float a, rest;
} tdm_arc;

INLINE tdm_arc tdm_arc_f32(float magnitude)
{
    const float half_rest = 0.5f - 0.5f * magnitude, u = magnitude > 0.5f ? half_rest : magnitude * magnitude;
    const float a = magnitude > 0.5f ? tdm_sqrt_f32(u) : magnitude;
    const float high = tdm_as_f32(tdm_as_i32(a) & -0x1000);
    const float lost = ((u - high * high) - (a - high) * (a + high)) / (a + a + 1e-30f);
    float p = 4.221179709e-02f;
    p = p * u + 2.415209264e-02f;
    p = p * u + 4.547604173e-02f;
    p = p * u + 7.495252043e-02f;
    p = p * u + 1.666675359e-01f;
    tdm_arc arc;
    arc.a = a;
    arc.rest = p * u * a + (magnitude > 0.5f ? lost : 0.0f);
    return arc;
}

/* within 1.3 ulp */
INLINE float tdm_fn_asin_f32(float x)
{
    const float magnitude = tdm_abs_f32(x);
    const tdm_arc arc = tdm_arc_f32(magnitude);
    const float up = 1.57079637f - 2.0f * (arc.a + (arc.rest + 2.18556941e-08f));
    return tdm_signed_f32(magnitude > 0.5f ? up : arc.a + arc.rest, x);
}

/* within 0.8 ulp */
INLINE float tdm_fn_acos_f32(float x)
{
    const float magnitude = tdm_abs_f32(x);
    const tdm_arc arc = tdm_arc_f32(magnitude);
    const float near = 2.0f * (arc.a + arc.rest), far = 3.14159274f - 2.0f * (arc.a + (arc.rest + 4.37113883e-08f));
    const float a = tdm_signed_f32(arc.a, x), rest = tdm_signed_f32(arc.rest, x);
    const float middle = 1.57079637f - (a + (rest + 4.37113883e-08f));
    return magnitude > 0.5f ? (x < 0.0f ? far : near) : middle;
}

/* An angle less n quarters of a turn: `angle`, within half a quarter, and what it lost. */
typedef struct tdm_turned {
    float angle, lost;
    tdm_i32 n;
} tdm_turned;

/* Up to 3000, of Cody and Waite: pi / 2 in four parts. Products of n < 2^11 and the first three are exact, and so are
 * the first two differences. */
#define TDM_NEAR 3000.0f
INLINE tdm_turned tdm_turn_near(float a)
{
    const float t = a * 0.636619772f + 12582912.0f, n = t - 12582912.0f;
    const float left = (a - n * 1.57080078125f) + n * 4.47034836e-6f, third = n * 1.58906914e-8f;
    tdm_turned r;
    r.angle = left - third;
    r.lost = ((left - r.angle) - third) - n * 2.56334407e-12f;
    r.n = tdm_as_i32(t);
    return r;
}

INLINE tdm_u32 tdm_upper_product(tdm_u32 a, tdm_u32 b) { return (tdm_u32)((tdm_u64)a * b >> 32); }

/* From 16 on, of Payne and Hanek: the mantissa times 96 bits of 2 / pi, from the one on that counts two turns. 64 bits
 * of the product are kept, with the point after two; words are chosen as a CPU's vectors cannot look them up. */
INLINE tdm_turned tdm_turn_far(float a)
{
    const tdm_u32 bits = (tdm_u32)tdm_as_i32(a), from = (bits >> 23) - 120u, shift = from & 31u, up = 31u - shift;
    const tdm_u32 m = (bits & 0x7fffffu) | 0x800000u;
    const tdm_i32 two = (from & 64u) != 0, one = (from & 32u) != 0, four = (from & 128u) != 0;
    const tdm_u32 p0 = two ? 0x4e441529u : 0u, p1 = two ? 0xfc2757d1u : 0xa2f9836eu;
    const tdm_u32 p2 = two ? 0xf534ddc0u : 0x4e441529u, p3 = two ? 0xdb629599u : 0xfc2757d1u;
    const tdm_u32 p4 = two ? 0x3c439041u : 0xf534ddc0u;
    const tdm_u32 q0 = four ? 0xf534ddc0u : one ? p1 : p0, q1 = four ? 0xdb629599u : one ? p2 : p1;
    const tdm_u32 q2 = four ? 0x3c439041u : one ? p3 : p2, q3 = four ? 0xfe5163abu : one ? p4 : p3;
    const tdm_u32 w0 = (q0 << shift) | ((q1 >> 1) >> up), w1 = (q1 << shift) | ((q2 >> 1) >> up);
    const tdm_u32 w2 = (q2 << shift) | ((q3 >> 1) >> up);
    const tdm_u32 middle = m * w1, low = middle + tdm_upper_product(m, w2);
    const tdm_u32 high = m * w0 + tdm_upper_product(m, w1) + (low < middle ? 1u : 0u) + (low >> 31);
    const tdm_u32 n = (high + 0x20000000u) >> 30;
    const tdm_i32 top = (tdm_i32)(high - (n << 30));
    const float coarse = tdm_as_f32(tdm_as_i32((float)top) & -0x1000); /* 12 bits: the first product is exact */
    const float fine = (float)(top - (tdm_i32)coarse) + (float)(tdm_i32)low * 2.32830644e-10f;
    const float first = coarse * 1.46292223e-9f, rest = coarse * -4.14853444e-15f + fine * 1.46291812e-9f;
    tdm_turned r;
    r.angle = (first + rest) + (a - a); /* NaN of Inf */
    r.lost = (first - r.angle) + rest;
    r.n = (tdm_i32)n;
    return r;
}

INLINE tdm_turned tdm_turn(float a)
{
    tdm_turned r = tdm_turn_near(a);
    if (a > TDM_NEAR) r = tdm_turn_far(a);
    return r;
}

/* sin and cos of an angle within half a quarter, and what they lost */
typedef struct tdm_wave {
    float sine, sine_lost, cosine, cosine_lost;
} tdm_wave;

INLINE tdm_wave tdm_wave_of(tdm_turned r)
{
    const float u = r.angle * r.angle, half_square = 0.5f * u, near = 1.0f - half_square;
    const float s = (-1.9515201e-4f * u + 8.3321603e-3f) * u - 1.66666552e-1f;
    const float c = (2.44330622e-5f * u - 1.38873153e-3f) * u + 4.16666456e-2f;
    const float beyond = r.lost + (r.angle * u) * s;
    const float below = (((1.0f - near) - half_square) - r.angle * r.lost) + (u * u) * c;
    tdm_wave w;
    w.sine = r.angle + beyond;
    w.sine_lost = (r.angle - w.sine) + beyond;
    w.cosine = near + below;
    w.cosine_lost = (near - w.cosine) + below;
    return w;
}

INLINE tdm_u32 tdm_sign_f32(float x) { return (tdm_u32)tdm_as_i32(x) & 0x80000000u; }

/* sin, or that of the next quarter, which is cos, with another sign if `sign` is not 0; within 1 ulp */
INLINE float tdm_sine_of(tdm_turned r, tdm_u32 quarter, tdm_u32 sign)
{
    const tdm_wave w = tdm_wave_of(r);
    const tdm_u32 n = (tdm_u32)r.n + quarter, bits = (tdm_u32)tdm_as_i32((n & 1u) ? w.cosine : w.sine);
    return tdm_as_f32((tdm_i32)(bits ^ ((n & 2u) << 30) ^ sign));
}

/* sin / cos, or in every second quarter -cos / sin, with what these lost; within 1.8 ulp */
INLINE float tdm_tangent_of(tdm_turned r, tdm_u32 sign)
{
    const tdm_wave w = tdm_wave_of(r);
    const tdm_u32 n = (tdm_u32)r.n;
    const tdm_i32 odd = (n & 1u) != 0;
    const float over = odd ? w.cosine : w.sine, under = odd ? w.sine : w.cosine, q = over / under;
    const float over_lost = odd ? w.cosine_lost : w.sine_lost, under_lost = odd ? w.sine_lost : w.cosine_lost;
    const float y = q + (over_lost - q * under_lost) * tdm_inverse_guess(under);
    return tdm_as_f32((tdm_i32)((tdm_u32)tdm_as_i32(y) ^ (n << 31) ^ sign));
}

/* of |x| up to TDM_NEAR, and the same bits of any x */
INLINE float tdm_near_sin_f32(float x) { return tdm_sine_of(tdm_turn_near(tdm_abs_f32(x)), 0u, tdm_sign_f32(x)); }
INLINE float tdm_near_cos_f32(float x) { return tdm_sine_of(tdm_turn_near(tdm_abs_f32(x)), 1u, 0u); }
INLINE float tdm_near_tan_f32(float x) { return tdm_tangent_of(tdm_turn_near(tdm_abs_f32(x)), tdm_sign_f32(x)); }
INLINE float tdm_fn_sin_f32(float x) { return tdm_sine_of(tdm_turn(tdm_abs_f32(x)), 0u, tdm_sign_f32(x)); }
INLINE float tdm_fn_cos_f32(float x) { return tdm_sine_of(tdm_turn(tdm_abs_f32(x)), 1u, 0u); }
INLINE float tdm_fn_tan_f32(float x) { return tdm_tangent_of(tdm_turn(tdm_abs_f32(x)), tdm_sign_f32(x)); }

#endif
