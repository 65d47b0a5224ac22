/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in C: whole registers of a CPU, for products, for lines of 16-bit elements (lines.h), for
 * squares that are transposed and for random words, and the instructions that compilers do not find for them. Part of
 * dialect_c.h. */
#ifndef TDMI_DIALECT_C_REGISTERS_H
#define TDMI_DIALECT_C_REGISTERS_H

/* Vectors for the one-lane matmul: VEC_LEN values of ACC, as wide as a register. */
#if defined(__AVX512F__)
#define TDM_VEC_BYTES 64
#define tdm_vec_length_f32 16
#define tdm_vec_length_f64 8
#elif defined(__AVX__)
#define TDM_VEC_BYTES 32
#define tdm_vec_length_f32 8
#define tdm_vec_length_f64 4
#else
#define TDM_VEC_BYTES 16
#define tdm_vec_length_f32 4
#define tdm_vec_length_f64 2
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
typedef tdm_i32 tdm_vec_i32 __attribute__((vector_size(TDM_VEC_BYTES)));
typedef tdm_i64 tdm_vec_i64 __attribute__((vector_size(TDM_VEC_BYTES)));
#define ABS_VEC(v) TDM_BY_ACC(tdm_abs_vec_)(v)
#define tdm_abs_vec_f32(v) ((tdm_vec_f32)((tdm_vec_i32)(v)&0x7fffffff))
#define tdm_abs_vec_f64(v) ((tdm_vec_f64)((tdm_vec_i64)(v)&0x7fffffffffffffff))

/* n elements of ACC, whole cache lines of them, stored as they are, by STREAM past the cache. */
#define STORE_STRIP(p, from, n) tdm_store_strip(STREAM, p, from, (n) * (tdm_i32)sizeof(ACC))
#define ROUNDS_BF16 tdm_bf16 /* for tdm_write_line */
INLINE void tdm_store_strip(tdm_u32 stream, void *to, const void *from, tdm_i32 bytes)
{
    if (stream)
        UNROLL for (tdm_i32 b = 0; b < bytes; b += 64) tdm_flush(1, (char *)to + b, (const char *)from + b);
    else
        UNROLL for (tdm_i32 b = 0; b < bytes; b += TDM_VEC_BYTES)
            *(tdm_loose_f32 *)((char *)to + b) = *(const tdm_vec_f32 *)((const char *)from + b);
}

/* For reduce.h: 16 partial results of a kind, their halves of n, and the larger ones of two vectors. */
#define TDM_PARTS(type, name)                                                                      \
    typedef type tdm_parts_##name##_4 __attribute__((vector_size(4 * sizeof(type)), may_alias));   \
    typedef type tdm_parts_##name##_8 __attribute__((vector_size(8 * sizeof(type)), may_alias));   \
    typedef type tdm_parts_##name##_16                                                             \
        __attribute__((vector_size(16 * sizeof(type)), may_alias, aligned(64)));
TDM_PARTS(float, f32)
TDM_PARTS(double, f64)
TDM_PARTS(tdm_i32, i32)
TDM_PARTS(tdm_i64, i64)
#define TDM_PARTS_16(name, parts, k) (((const tdm_parts_##name##_16 *)(parts))[k])
#define TDM_LOWER(name, n, v) (((const tdm_parts_##name##_##n *)&(v))[0])
#define TDM_UPPER(name, n, v) (((const tdm_parts_##name##_##n *)&(v))[1])
#define TDM_PART(v, k) (v)[k]
/* By elements, which GCC makes the instruction of; of a comparison it makes a mask, and a selection by it. */
#define TDM_LARGER(a, b)                                                                           \
    __extension__({                                                                                \
        __typeof__((a) + (b)) tdm_a = (a), tdm_b = (b);                                            \
        for (unsigned tdm_i = 0; tdm_i < sizeof tdm_a / sizeof tdm_a[0]; tdm_i++)                  \
            tdm_a[tdm_i] = MAX(tdm_a[tdm_i], tdm_b[tdm_i]);                                        \
        tdm_a;                                                                                     \
    })

/* For lines.h. */
typedef tdm_u16 tdm_loose_16 __attribute__((vector_size(TDM_VEC_BYTES / 2), may_alias, aligned(2)));
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
#if TDM_INTRINSICS && defined(__AVX512F__)
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
#elif TDM_INTRINSICS && defined(__AVX2__) && defined(__F16C__)
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

/* A line of f32 made of 16-bit floats, of dtype number u. */
INLINE float *tdm_widen_line(tdm_i32 u, float *to, const void *from)
{
    enum { LENGTH = 64 / sizeof(float), REGISTER = TDM_VEC_BYTES / sizeof(float) };
    const tdm_u16 *const row = from;
    for (tdm_i32 i = 0; i < LENGTH; i += REGISTER) {
#if TDM_F16C
        if (u == 2) *(tdm_vec_f32 *)(to + i) = tdm_widen_f16(row + i);
#endif
        if (u == 3)
            *(tdm_vec_f32 *)(to + i) = TDM_AS_VEC_F32((tdm_vec_i32)TDM_WIDEN(row + i) << 16);
    }
    return to;
}

/* How many of the first elements of a row of f32 have been made of f16, by whole registers; 0 where READ_U does
 * so or where the compiler finds what is as fast. */
#define WIDENED(to, from, n)                                                                       \
    (!TDM_LINES && T_ID == 0 && U_ID == 2 && !STREAM ? tdm_widen_row((float *)(to), (const tdm_u16 *)(from), n) : 0)
INLINE tdm_i32 tdm_widen_row(float *to, const tdm_u16 *from, tdm_i32 n)
{
    tdm_i32 done = 0;
#if TDM_F16C
    enum { REGISTER = TDM_VEC_BYTES / sizeof(float) };
    for (; n - done >= REGISTER; done += REGISTER)
        *(tdm_loose_f32 *)(to + done) = tdm_widen_f16(from + done);
#endif
    (void)to, (void)from, (void)n;
    return done;
}

/* Vectors of unsigned integers of 1 to 8 bytes, of as many elements as a register has and 16 at most, and the
 * two halves of a0, b0, a1, b1, … */
#if defined(__AVX512F__)
#define TDM_ROW_BYTES(most) (most)
#define tdm_row_length_2 16
#define tdm_row_length_4 16
#define tdm_row_length_8 8
#elif defined(__AVX2__)
#define TDM_ROW_BYTES(most) ((most) < 32 ? (most) : 32)
#define tdm_row_length_2 16
#define tdm_row_length_4 8
#define tdm_row_length_8 4
#else
#define TDM_ROW_BYTES(most) 16
#define tdm_row_length_2 8
#define tdm_row_length_4 4
#define tdm_row_length_8 2
#endif
#define tdm_row_length_1 16
#define TDM_FIRST_2(m, n) m(n, 0), m(n, 1)
#define TDM_FIRST_4(m, n) TDM_FIRST_2(m, n), m(n, 2), m(n, 3)
#define TDM_FIRST_8(m, n) TDM_FIRST_4(m, n), m(n, 4), m(n, 5), m(n, 6), m(n, 7)
#define TDM_FIRST_16(m, n)                                                                         \
    TDM_FIRST_8(m, n), m(n, 8), m(n, 9), m(n, 10), m(n, 11), m(n, 12), m(n, 13), m(n, 14), m(n, 15)
#define TDM_FIRST_(m, n) TDM_FIRST_##n(m, n)
#define TDM_FIRST(m, n) TDM_FIRST_(m, n)
#define TDM_SAME(n, k) k
#define TDM_LOW(n, k) (k % 2 * n + k / 2)
#define TDM_HIGH(n, k) (k % 2 * n + n / 2 + k / 2)
#if defined(__clang__)
#define TDM_CHOOSE(type, a, b, from) __builtin_shufflevector(a, b, from)
#else
#define TDM_CHOOSE(type, a, b, from) __builtin_shuffle(a, b, (type){from})
#endif
#define TDM_ROWS(element, size, most)                                                              \
    typedef element tdm_row_##size __attribute__((vector_size(TDM_ROW_BYTES(most)), may_alias));   \
    typedef element tdm_loose_row_##size                                                           \
        __attribute__((vector_size(TDM_ROW_BYTES(most)), may_alias, aligned(size)));               \
    INLINE tdm_row_##size tdm_zip_low_##size(tdm_row_##size a, tdm_row_##size b)                   \
    {                                                                                              \
        return TDM_CHOOSE(tdm_row_##size, a, b, TDM_LIST(TDM_FIRST(TDM_LOW, tdm_row_length_##size))); \
    }                                                                                              \
    INLINE tdm_row_##size tdm_zip_high_##size(tdm_row_##size a, tdm_row_##size b)                  \
    {                                                                                              \
        return TDM_CHOOSE(tdm_row_##size, a, b, TDM_LIST(TDM_FIRST(TDM_HIGH, tdm_row_length_##size))); \
    }
#define TDM_LIST(...) __VA_ARGS__
TDM_ROWS(tdm_u8, 1, 16)
TDM_ROWS(tdm_u16, 2, 32)
TDM_ROWS(tdm_u32, 4, 64)
TDM_ROWS(tdm_u64, 8, 64)

/* Running sums of a register's elements: it is added to itself, shifted by 1, 2, … elements, with zeros. */
#define TDM_UP_1(n, k) (n - 1 + k)
#define TDM_UP_2(n, k) (n - 2 + k)
#define TDM_UP_4(n, k) (n - 4 + k)
#define TDM_UP_8(n, k) (n - 8 + k)
#define TDM_ADD_SHIFTED(from, n, by)                                                               \
    v += TDM_CHOOSE(from, zeros, v, TDM_LIST(TDM_FIRST(TDM_UP_##by, n)));
#define TDM_SCAN_2(from, n) TDM_ADD_SHIFTED(from, n, 1)
#define TDM_SCAN_4(from, n) TDM_SCAN_2(from, n) TDM_ADD_SHIFTED(from, n, 2)
#define TDM_SCAN_8(from, n) TDM_SCAN_4(from, n) TDM_ADD_SHIFTED(from, n, 4)
#define TDM_SCAN_16(from, n) TDM_SCAN_8(from, n) TDM_ADD_SHIFTED(from, n, 8)
#define TDM_SCAN_(from, n) TDM_SCAN_##n(from, n)
#define TDM_SCAN(from, n) TDM_SCAN_(from, n)
INLINE tdm_vec_f32 tdm_scan_f32(tdm_vec_f32 v)
{
    const tdm_vec_f32 zeros = {0};
    TDM_SCAN(tdm_vec_i32, tdm_vec_length_f32)
    return v;
}
INLINE tdm_vec_f64 tdm_scan_f64(tdm_vec_f64 v)
{
    const tdm_vec_f64 zeros = {0};
    TDM_SCAN(tdm_vec_i64, tdm_vec_length_f64)
    return v;
}
#define SCAN_VEC(v) TDM_BY_ACC(tdm_scan_)(v)
#define TDM_END(n, k) (n - 1)
#define LAST_OF_VEC(v) TDM_BY_ACC(tdm_last_)(v)
#define tdm_last_f32(v) TDM_CHOOSE(tdm_vec_i32, v, v, TDM_LIST(TDM_FIRST(TDM_END, tdm_vec_length_f32)))
#define tdm_last_f64(v) TDM_CHOOSE(tdm_vec_i64, v, v, TDM_LIST(TDM_FIRST(TDM_END, tdm_vec_length_f64)))

/* VEC_LEN registers of ACC whose rows become columns: shuffled like cards, the first half of them with the other one,
 * as often as halving leads to one. */
#define TRANSPOSE_VECS(v) TDM_BY_ACC(tdm_transpose_)(v)
#define TDM_TRANSPOSE(name, size, n)                                                               \
    INLINE void tdm_transpose_##name(tdm_vec_##name *v)                                            \
    {                                                                                              \
        tdm_row_##size a[n], b[n];                                                                 \
        UNROLL for (tdm_i32 i = 0; i < (n); i++) a[i] = (tdm_row_##size)v[i];                      \
        UNROLL for (tdm_i32 rows = (n); rows > 1; rows /= 2)                                       \
        {                                                                                          \
            UNROLL for (tdm_i32 i = 0; i < (n) / 2; i++)                                           \
            {                                                                                      \
                b[2 * i] = tdm_zip_low_##size(a[i], a[i + (n) / 2]);                               \
                b[2 * i + 1] = tdm_zip_high_##size(a[i], a[i + (n) / 2]);                          \
            }                                                                                      \
            UNROLL for (tdm_i32 i = 0; i < (n); i++) a[i] = b[i];                                  \
        }                                                                                          \
        UNROLL for (tdm_i32 i = 0; i < (n); i++) v[i] = (tdm_vec_##name)a[i];                      \
    }
TDM_TRANSPOSE(f32, 4, tdm_row_length_4)
TDM_TRANSPOSE(f64, 8, tdm_row_length_8)

/* Squares of elements: each row is such a vector. */
#define SQUARE_ROW TDM_CAT(tdm_row_, T_SIZE)
#define SQUARE_LEN TDM_CAT(tdm_row_length_, T_SIZE)
#define LOAD_SQUARE_ROW(p) (*(const TDM_CAT(tdm_loose_row_, T_SIZE) *)(p))
#define STORE_SQUARE_ROW(p, v)                                                                     \
    do {                                                                                           \
        const SQUARE_ROW tdm_v = (v);                                                              \
        if (STREAM && sizeof tdm_v == TDM_LINE)                                                    \
            tdm_flush(1, p, &tdm_v);                                                               \
        else                                                                                       \
            *(TDM_CAT(tdm_loose_row_, T_SIZE) *)(p) = tdm_v;                                       \
    } while (0)
#define ZIP_LOW(a, b) TDM_CAT(tdm_zip_low_, T_SIZE)(a, b)
#define ZIP_HIGH(a, b) TDM_CAT(tdm_zip_high_, T_SIZE)(a, b)

/* Words for Philox: WORDS_LEN 64-bit elements; WORDS_FROM(v) is v, v + 1, …; MUL_WORDS(a, b) the
 * products of their low halves and the constant b, for which compilers do not find the instruction;
 * the two halves of a0, b0, a1, b1, … */
typedef tdm_row_8 WORDS;
#if TDM_INTRINSICS && defined(__AVX512F__)
#define MUL_WORDS(a, b) ((WORDS)_mm512_mul_epu32((__m512i)(a), _mm512_set1_epi64(b)))
#define HIGH_WORDS(a) ((WORDS)_mm512_shuffle_epi32((__m512i)(a), 0xf5))
#elif TDM_INTRINSICS && defined(__AVX2__)
#define MUL_WORDS(a, b) ((WORDS)_mm256_mul_epu32((__m256i)(a), _mm256_set1_epi64x(b)))
#define HIGH_WORDS(a) ((a) >> 32)
#else
#define HIGH_WORDS(a) ((a) >> 32)
#if TDM_INTRINSICS
#define MUL_WORDS(a, b) ((WORDS)_mm_mul_epu32((__m128i)(a), _mm_set1_epi64x(b)))
#else
#define MUL_WORDS(a, b) (((a)&0xffffffffu) * (tdm_u64)(b))
#endif
#endif
#define WORDS_LEN ((tdm_i32)(sizeof(WORDS) / sizeof(tdm_u64)))
#define WORDS_FROM(v) ((v) + (WORDS){TDM_FIRST(TDM_SAME, tdm_row_length_8)})
#define WORDS_ZIP_LOW(a, b) tdm_zip_low_8(a, b)
#define WORDS_ZIP_HIGH(a, b) tdm_zip_high_8(a, b)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WORDS_AS_HALVES(a) (a)
#else
#define WORDS_AS_HALVES(a) ((a) << 32 | (a) >> 32)
#endif

#endif
