/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, the same in all three languages. Compiled after numeric.h.
 *
 * Every sum of a product is an explicit FMA, so that no compiler's choice to contract shows in a
 * result: the same words give the same uniform numbers on every device, and the same normal ones
 * where square roots and quotients are rounded right. Coefficients are minimax ones (Remez), fitted
 * with 60 digits. */
#ifndef TDMI_KERNEL_RANDOM_H
#define TDMI_KERNEL_RANDOM_H

/* Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011: a block of four words from a counter of four words and a key of two. As many blocks at
 * once as WORDS has: each word is the low half of one of its 64-bit elements, and what the upper half
 * holds is no matter, as only MUL_WORDS is a sum. Two 64-bit results: {w0, w1} and {w2, w3}. */
#define TDM_PHILOX_ROUND                                                                           \
    {                                                                                              \
        const WORDS a = MUL_WORDS(x, 0xd2511f53u), b = MUL_WORDS(z, 0xcd9e8d57u);                  \
        x = HIGH_WORDS(b) ^ y ^ key0;                                                                  \
        y = b;                                                                                     \
        z = HIGH_WORDS(a) ^ w ^ key1;                                                                  \
        w = a;                                                                                     \
        key0 = (key0 + 0x9e3779b9u) & 0xffffffffu;                                                 \
        key1 = (key1 + 0xbb67ae85u) & 0xffffffffu;                                                 \
    }
typedef struct tdm_block {
    WORDS words01, words23;
} tdm_block;
INLINE tdm_block tdm_philox(WORDS counter, tdm_u64 stream, tdm_u64 key0, tdm_u64 key1)
{
    WORDS x = counter, y = counter >> 32, z = counter - counter + stream, w = counter - counter;
    TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND
    TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND TDM_PHILOX_ROUND
    const tdm_block block = {(y << 32) | (x & 0xffffffffu), (w << 32) | (z & 0xffffffffu)};
    return block;
}

/* The top bits of a word as a fraction in [0, 1), exactly; 53 bits of two words. */
#define tdm_fraction_f32(w, bits) ((float)(tdm_i32)((w) >> (32 - (bits))) / (float)(1 << (bits)))
#define tdm_fraction_f64(w)                                                                        \
    ((double)(tdm_i32)((w) >> 38) / 67108864.0 +                                                   \
     (double)(tdm_i32)((tdm_u32)((w) >> 11) & 0x7ffffffu) / 9007199254740992.0)

/* A word as an f32, rounded once; vectors have no such conversion before AVX-512. */
INLINE float tdm_word_f32(tdm_u32 w)
{
    return tdm_fma_f32((float)(tdm_i32)(w >> 16), 65536.0f, (float)(tdm_i32)(w & 0xffffu));
}

/* Normal numbers come from pairs of words after Box and Muller (1958): √(-2 ln u) cos 2πv and
 * √(-2 ln u) sin 2πv. Both factors are kept as a rounded value and what it lacks, so that their
 * product is rounded about once: within 1.5 ulp. */
typedef struct tdm_pair_f32 {
    float value, rest;
} tdm_pair_f32;

/* √(-2 ln u), u = max(w, 1/2) / 2^32 with w rounded to f32. u = 2^k (1 + f), f in [√½ - 1, √2 - 1),
 * ln(1 + f) = f + f^2 (f P(f) - 1/2); k ln 2 is added in two parts, the first exact. */
INLINE tdm_pair_f32 tdm_radius_f32(tdm_u32 word)
{
    const float w = tdm_word_f32(word), n = w < 0.5f ? 0.5f : w;
    const tdm_i32 bits = tdm_as_i32(n), e = (bits - 0x3f3504f3) >> 23;
    const float f = tdm_as_f32(bits - (tdm_i32)((tdm_u32)e << 23)) - 1.0f;
    float p = tdm_fma_f32(f, 6.74664206e-02f, -1.16756524e-01f);
    p = tdm_fma_f32(f, p, 1.18881619e-01f);
    p = tdm_fma_f32(f, p, -1.24055888e-01f);
    p = tdm_fma_f32(f, p, 1.42195524e-01f);
    p = tdm_fma_f32(f, p, -1.66679959e-01f);
    p = tdm_fma_f32(f, p, 2.00021187e-01f);
    p = tdm_fma_f32(f, p, -2.50000096e-01f);
    p = tdm_fma_f32(f, p, 3.33333126e-01f);
    const float k = (float)(e - 32), whole = k * 6.93145752e-01f;
    const float low =
        tdm_fma_f32(k, 1.42860677e-06f, tdm_fma_f32(f * f, tdm_fma_f32(f, p, -0.5f), f));
    const float log_u = whole + low, lost = low - (log_u - whole);
    const float root = tdm_sqrt_f32(-2.0f * log_u);
    const float missing = tdm_fma_f32(-root, root, -2.0f * log_u) - 2.0f * lost;
    const tdm_pair_f32 radius = {root, 0.5f * missing / (root < 1e-6f ? 1e-6f : root)};
    return radius;
}

/* cos 2πv and sin 2πv, v = w / 2^32: quarters from the top bits, then |x| <= 1/8 rounded to f32;
 * sin 2πx = x (2π + x^2 S(x^2)), cos 2πx = 1 + x^2 C(x^2). */
INLINE float tdm_wave_f32(tdm_pair_f32 radius, tdm_u32 word, tdm_u32 is_sine)
{
    const tdm_u32 quarter = (word + 0x20000000u) >> 30;
    const float x = (float)(tdm_i32)(word - (quarter << 30)) * 2.3283064365386963e-10f;
    const float t = x * x;
    float s = tdm_fma_f32(t, 41.4875756f, -76.6983791f);
    s = tdm_fma_f32(t, s, 81.6052106f);
    s = tdm_fma_f32(t, s, -41.3417022f);
    s = tdm_fma_f32(t, s, -1.74845553e-07f);
    const float sine = tdm_fma_f32(x, 6.28318548f, x * s);
    const float sine_rest = tdm_fma_f32(x, s, tdm_fma_f32(x, 6.28318548f, -sine));
    float c = tdm_fma_f32(t, 59.2459633f, -85.4437417f);
    c = tdm_fma_f32(t, c, 64.9393265f);
    c = tdm_fma_f32(t, c, -19.7392087f);
    const float cosine = tdm_fma_f32(t, c, 1.0f);
    const float cosine_rest = tdm_fma_f32(t, c, 1.0f - cosine);
    const tdm_u32 swapped = (quarter ^ is_sine) & 1u;
    const float v = swapped ? sine : cosine, v_rest = swapped ? sine_rest : cosine_rest;
    const float y = tdm_fma_f32(radius.value, v,
                                tdm_fma_f32(radius.value, v_rest, radius.rest * v));
    /* negative: the cosine in quarters 1 and 2, the sine in 2 and 3 */
    const tdm_u32 sign = ((quarter + 1u - is_sine) & 2u) << 30;
    return tdm_as_f32((tdm_i32)((tdm_u32)tdm_as_i32(y) ^ sign));
}

#if TDM_HAS_F64
typedef struct tdm_pair_f64 {
    double value, rest;
} tdm_pair_f64;

INLINE double tdm_word_f64(tdm_u64 word)
{
    return tdm_fma_f64((double)(tdm_u32)(word >> 32), 4294967296.0, (double)(tdm_u32)word);
}

/* As for f32, of 64-bit words; ln(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), where R is
 * s^2 times a polynomial in s^2. */
INLINE tdm_pair_f64 tdm_radius_f64(tdm_u64 word)
{
    const double w = tdm_word_f64(word), n = w < 0.5 ? 0.5 : w;
    const tdm_i64 bits = tdm_as_i64(n), e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    const double f = tdm_as_f64(bits - (tdm_i64)((tdm_u64)e << 52)) - 1.0;
    const double s = f / (2.0 + f), t = s * s;
    double r = tdm_fma_f64(t, 0.14796108094556539973, 0.15314035538035774841);
    r = tdm_fma_f64(t, r, 0.18183564879690541505);
    r = tdm_fma_f64(t, r, 0.22222198563207061888);
    r = tdm_fma_f64(t, r, 0.28571428742477811771);
    r = tdm_fma_f64(t, r, 0.39999999999414308071);
    r = t * tdm_fma_f64(t, r, 0.66666666666667344616);
    const double half_f = 0.5 * f, half_square = half_f * f;
    const double log_m = f + tdm_fma_f64(s, tdm_fma_f64(half_f, f, r), -half_square);
    const double k = (double)(tdm_i32)(e - 64), whole = k * 6.93147180369123816490e-01;
    const double low = tdm_fma_f64(k, 1.90821492927058770002e-10, log_m);
    const double log_u = whole + low, lost = low - (log_u - whole);
    const double root = tdm_sqrt_f64(-2.0 * log_u);
    const double missing = tdm_fma_f64(-root, root, -2.0 * log_u) - 2.0 * lost;
    const tdm_pair_f64 radius = {root, 0.5 * missing / (root < 1e-12 ? 1e-12 : root)};
    return radius;
}

INLINE double tdm_wave_f64(tdm_pair_f64 radius, tdm_u64 word, tdm_u32 is_sine)
{
    const tdm_u32 quarter = ((tdm_u32)(word >> 32) + 0x20000000u) >> 30;
    const tdm_i32 high = (tdm_i32)((tdm_u32)(word >> 32) - (quarter << 30));
    const double x =
        tdm_fma_f64((double)high, 4294967296.0, (double)(tdm_u32)word) * 5.421010862427522170e-20;
    const double t = x * x;
    double s = tdm_fma_f64(t, -0.7116988749870404951, 3.8197917984279420627);
    s = tdm_fma_f64(t, s, -15.094640489587273509);
    s = tdm_fma_f64(t, s, 42.058693930003407322);
    s = tdm_fma_f64(t, s, -76.705859753004537829);
    s = tdm_fma_f64(t, s, 81.605249276074951329);
    s = tdm_fma_f64(t, s, -41.341702240399760171);
    s = tdm_fma_f64(t, s, 2.4492935982947063545e-16);
    const double sine = tdm_fma_f64(x, 6.283185307179586232, x * s);
    const double sine_rest = tdm_fma_f64(x, s, tdm_fma_f64(x, 6.283185307179586232, -sine));
    double c = tdm_fma_f64(t, -1.697020064976305783, 7.903101637079133976);
    c = tdm_fma_f64(t, c, -26.426251140407702476);
    c = tdm_fma_f64(t, c, 60.244641331611421375);
    c = tdm_fma_f64(t, c, -85.45681720654005045);
    c = tdm_fma_f64(t, c, 64.9393940226680134);
    c = tdm_fma_f64(t, c, -19.739208802178717067);
    const double cosine = tdm_fma_f64(t, c, 1.0);
    const double cosine_rest = tdm_fma_f64(t, c, 1.0 - cosine);
    const tdm_u32 swapped = (quarter ^ is_sine) & 1u;
    const double v = swapped ? sine : cosine, v_rest = swapped ? sine_rest : cosine_rest;
    const double y = tdm_fma_f64(radius.value, v,
                                 tdm_fma_f64(radius.value, v_rest, radius.rest * v));
    const tdm_u64 sign = (tdm_u64)((quarter + 1u - is_sine) & 2u) << 62;
    return tdm_as_f64((tdm_i64)((tdm_u64)tdm_as_i64(y) ^ sign));
}
#endif

#endif
