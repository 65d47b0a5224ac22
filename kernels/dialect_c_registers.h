/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in C: whole registers of a CPU, for products, for lines of 16-bit elements (lines.h) and for
 * random words, and the instructions that compilers do not find for them. Part of dialect_c.h. */
#ifndef TDMI_DIALECT_C_REGISTERS_H
#define TDMI_DIALECT_C_REGISTERS_H

/* Vectors for the one-lane matmul: VEC_LEN values of ACC, as wide as a register. */
#if defined(__AVX512F__)
#define TDM_VEC_BYTES 64
#elif defined(__AVX__)
#define TDM_VEC_BYTES 32
#else
#define TDM_VEC_BYTES 16
#endif
typedef float tdm_vec_f32 __attribute__((vector_size(TDM_VEC_BYTES), may_alias));
typedef double tdm_vec_f64 __attribute__((vector_size(TDM_VEC_BYTES), may_alias));
typedef float tdm_loose_f32 __attribute__((vector_size(TDM_VEC_BYTES), may_alias, aligned(4)));
typedef double tdm_loose_f64 __attribute__((vector_size(TDM_VEC_BYTES), may_alias, aligned(4)));
#define VEC TDM_BY_ACC(tdm_vec_)
#define VEC_LEN ((tdm_i32)(TDM_VEC_BYTES / sizeof(ACC)))
#define tdm_load_vec_0(p) (*(const tdm_loose_f32 *)(p))
#define tdm_load_vec_1(p) (*(const tdm_loose_f64 *)(p))
#define tdm_load_vec_2(p) tdm_widen(p) /* lines.h */
#define tdm_load_vec_3(p) tdm_widen(p)
#define LOAD_VEC(p) TDM_CAT(tdm_load_vec_, T_ID)(p)

/* What lines.h needs. */
typedef tdm_u16 tdm_loose_16 __attribute__((vector_size(TDM_VEC_BYTES / 2), may_alias, aligned(2)));
typedef tdm_i32 tdm_vec_i32 __attribute__((vector_size(TDM_VEC_BYTES)));
#define TDM_AS_VEC_F32(v) ((tdm_vec_f32)(v))
#define TDM_AS_VEC_I32(v) ((tdm_vec_i32)(v))
#define TDM_LINE_SIMD TDM_SIMD
typedef tdm_u16 tdm_pair_16 __attribute__((vector_size(TDM_VEC_BYTES), may_alias));
typedef tdm_u16 tdm_loose_pair_16
    __attribute__((vector_size(TDM_VEC_BYTES), may_alias, aligned(2)));
/* the upper halves of a's elements, then of b's */
#define TDM_ODD_16 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define TDM_ODD_32                                                                                 \
    TDM_ODD_16, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63
#if defined(__AVX512BW__)
#define TDM_ODD TDM_ODD_32
#elif defined(__AVX2__)
#define TDM_ODD TDM_ODD_16
#endif
#if defined(TDM_ODD) && defined(__clang__)
#define TDM_HIGH_HALVES(a, b) __builtin_shufflevector((tdm_pair_16)(a), (tdm_pair_16)(b), TDM_ODD)
#elif defined(TDM_ODD)
#define TDM_HIGH_HALVES(a, b)                                                                      \
    __builtin_shuffle((tdm_pair_16)(a), (tdm_pair_16)(b), (tdm_pair_16){TDM_ODD})
#endif
#if defined(__AVX512F__)
#define TDM_F16C 1
/* whose instruction GCC 12 does not find for whole registers */
#define TDM_WIDEN(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(p)))
INLINE tdm_vec_f32 tdm_widen_f16(const tdm_u16 *p)
{
    return (tdm_vec_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}

INLINE void tdm_round_f16(tdm_u16 *to, tdm_vec_f32 a, tdm_vec_f32 b)
{
    const __m256i low = _mm512_cvtps_ph((__m512)a, _MM_FROUND_TO_NEAREST_INT);
    const __m256i high = _mm512_cvtps_ph((__m512)b, _MM_FROUND_TO_NEAREST_INT);
    _mm512_storeu_si512((void *)to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

/* Rounds two registers to bf16 as tdm_f32_to_bf16 does, unless an element is subnormal: of these the
 * instruction makes zeros. Written out, as the kernels are compiled for processors without it, too. */
#define TDM_ROUND_BF16(to, a, b) tdm_round_bf16_by_instruction(to, a, b)
INLINE int tdm_round_bf16_by_instruction(tdm_u16 *to, tdm_vec_f32 a, tdm_vec_f32 b)
{
    enum { SUBNORMAL = 0x20 };
    if (_mm512_fpclass_ps_mask((__m512)a, SUBNORMAL) | _mm512_fpclass_ps_mask((__m512)b, SUBNORMAL))
        return 0;
    __m512i rounded;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(rounded) : "v"(a), "v"(b));
    _mm512_storeu_si512((void *)to, rounded);
    return 1;
}
#elif defined(__AVX2__) && defined(__F16C__)
#define TDM_F16C 1
#define TDM_WIDEN(p) _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(p)))
INLINE tdm_vec_f32 tdm_widen_f16(const tdm_u16 *p)
{
    return (tdm_vec_f32)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
}

INLINE void tdm_round_f16(tdm_u16 *to, tdm_vec_f32 a, tdm_vec_f32 b)
{
    const __m128i low = _mm256_cvtps_ph((__m256)a, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph((__m256)b, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256((void *)to, _mm256_set_m128i(high, low));
}
#else
#define TDM_F16C 0
#define TDM_WIDEN(p) __builtin_convertvector(*(const tdm_loose_16 *)(p), tdm_vec_i32)
#endif

/* Words for Philox: WORDS_LEN 64-bit elements; WORDS_FROM(v) is v, v + 1, …; MUL_WORDS(a, b) the
 * products of their low halves and the constant b, for which compilers do not find the instruction;
 * the two halves of a0, b0, a1, b1, … */
#if defined(__AVX512F__)
typedef tdm_u64 WORDS __attribute__((vector_size(64), may_alias));
#define TDM_WORDS(m) {m(0), m(1), m(2), m(3), m(4), m(5), m(6), m(7)}
#define MUL_WORDS(a, b) ((WORDS)_mm512_mul_epu32((__m512i)(a), _mm512_set1_epi64(b)))
#define HIGH_WORDS(a) ((WORDS)_mm512_shuffle_epi32((__m512i)(a), 0xf5))
#elif defined(__AVX2__)
typedef tdm_u64 WORDS __attribute__((vector_size(32), may_alias));
#define TDM_WORDS(m) {m(0), m(1), m(2), m(3)}
#define MUL_WORDS(a, b) ((WORDS)_mm256_mul_epu32((__m256i)(a), _mm256_set1_epi64x(b)))
#define HIGH_WORDS(a) ((a) >> 32)
#else
typedef tdm_u64 WORDS __attribute__((vector_size(16), may_alias));
#define TDM_WORDS(m) {m(0), m(1)}
#define HIGH_WORDS(a) ((a) >> 32)
#if defined(__SSE2__)
#define MUL_WORDS(a, b) ((WORDS)_mm_mul_epu32((__m128i)(a), _mm_set1_epi64x(b)))
#else
#define MUL_WORDS(a, b) (((a)&0xffffffffu) * (tdm_u64)(b))
#endif
#endif
#define WORDS_LEN ((tdm_i32)(sizeof(WORDS) / sizeof(tdm_u64)))
#define WORDS_FROM(v) ((v) + (WORDS)TDM_WORDS(TDM_SAME))
#define TDM_SAME(k) k
#define TDM_ZIP_LOW(k) (k % 2 * WORDS_LEN + k / 2)
#define TDM_ZIP_HIGH(k) (k % 2 * WORDS_LEN + WORDS_LEN / 2 + k / 2)
#if defined(__clang__)
INLINE WORDS tdm_zip(WORDS a, WORDS b, WORDS from)
{
    WORDS zipped;
    for (tdm_i32 k = 0; k < WORDS_LEN; k++)
        zipped[k] = from[k] < (tdm_u64)WORDS_LEN ? a[from[k]] : b[from[k] - (tdm_u64)WORDS_LEN];
    return zipped;
}
#else
#define tdm_zip __builtin_shuffle
#endif
#define WORDS_ZIP_LOW(a, b) tdm_zip(a, b, (WORDS)TDM_WORDS(TDM_ZIP_LOW))
#define WORDS_ZIP_HIGH(a, b) tdm_zip(a, b, (WORDS)TDM_WORDS(TDM_ZIP_HIGH))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WORDS_AS_HALVES(a) (a)
#else
#define WORDS_AS_HALVES(a) ((a) << 32 | (a) >> 32)
#endif

#endif
