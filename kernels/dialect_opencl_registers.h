/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in OpenCL C: whole registers of a CPU, where a group has one lane, for products, for squares that are
 * transposed and for random words; see dialect_c_registers.h. Compiled behind dialect_opencl.h, as one text. */
#ifndef TDMI_DIALECT_OPENCL_REGISTERS_H
#define TDMI_DIALECT_OPENCL_REGISTERS_H

/* Vectors for the one-lane matmul. */
#define tdm_vec_f32 float16
#define tdm_vec_f64 double8
#define VEC TDM_BY_ACC(tdm_vec_)
#define VEC_LEN ((int)(64 / sizeof(ACC)))
#if TDM_CLANG_CPU
typedef float16 tdm_loose_f32 __attribute__((may_alias, aligned(4)));
#if TDM_HAS_F64
typedef double8 tdm_loose_f64 __attribute__((may_alias, aligned(4)));
#endif
#define tdm_load_vec_0(p) (*(GLOBAL const tdm_loose_f32 *)(p))
#define tdm_load_vec_1(p) (*(GLOBAL const tdm_loose_f64 *)(p))
#define tdm_load_vec_2(p) tdm_widen((const tdm_u16 *)(uintptr_t)(p)) /* lines.h */
#define tdm_load_vec_3(p) tdm_widen((const tdm_u16 *)(uintptr_t)(p))
#else
#define tdm_load_vec_0(p) vload16(0, p)
#define tdm_load_vec_1(p) vload8(0, p)
#define tdm_load_vec_2(p) vload_half16(0, (const __global half *)(p))
#define tdm_load_vec_3(p) as_float16(convert_uint16(vload16(0, p)) << 16)
#endif
#define LOAD_VEC(p) TDM_CAT(tdm_load_vec_, T_ID)(p)
#define ABS_VEC(v) TDM_BY_ACC(tdm_abs_vec_)(v)
#define tdm_abs_vec_f32(v) as_float16(as_int16(v) & 0x7fffffff)
#define tdm_abs_vec_f64(v) as_double8(as_long8(v) & 0x7fffffffffffffff)

/* n elements of ACC; see the C dialect. */
#define ROUNDS_BF16 0
#if !TDM_CLANG_CPU
#define STORE_STRIP(p, from, n)                                                                    \
    for (int tdm_i = 0; tdm_i < (n); tdm_i++) (p)[tdm_i] = (from)[tdm_i]
#elif STREAM
#define STORE_STRIP(p, from, n)                                                                    \
    for (int tdm_i = 0; tdm_i < (n); tdm_i += VEC_LEN)                                             \
    tdm_flush(STREAM, (p) + tdm_i, (from) + tdm_i)
#else
#define STORE_STRIP(p, from, n)                                                                    \
    for (int tdm_i = 0; tdm_i < (n); tdm_i += VEC_LEN)                                             \
    *(GLOBAL TDM_BY_ACC(tdm_loose_) *)((p) + tdm_i) = *(const VEC *)((from) + tdm_i)
#endif

/* Sums of a register's elements so far; see the C dialect. Here within quarters first: for a shift of the whole
 * register clang has an instruction that on Zen 4 waits for what was last in its destination, a longer chain than all
 * of this. `from` lists where each element comes from; behind the last one there are zeros. */
#if TDM_CLANG_CPU
#define TDM_SHIFTED(type, index, v, from) __builtin_shufflevector(as_##type(v), (type)(0), from)
#else
#define TDM_SHIFTED(type, index, v, from) shuffle2(as_##type(v), (type)(0), (index)(from))
#endif
#define TDM_UP_1 16, 0, 1, 2, 16, 4, 5, 6, 16, 8, 9, 10, 16, 12, 13, 14
#define TDM_UP_2 16, 16, 0, 1, 16, 16, 4, 5, 16, 16, 8, 9, 16, 16, 12, 13
#define TDM_UP_4 16, 16, 16, 16, 3, 3, 3, 3, 16, 16, 16, 16, 11, 11, 11, 11
#define TDM_UP_8 16, 16, 16, 16, 16, 16, 16, 16, 7, 7, 7, 7, 7, 7, 7, 7
INLINE float16 tdm_scan_f32(float16 v)
{
    v += as_float16(TDM_SHIFTED(int16, uint16, v, TDM_UP_1));
    v += as_float16(TDM_SHIFTED(int16, uint16, v, TDM_UP_2));
    v += as_float16(TDM_SHIFTED(int16, uint16, v, TDM_UP_4));
    v += as_float16(TDM_SHIFTED(int16, uint16, v, TDM_UP_8));
    return v;
}
#define tdm_last_f32(v) ((float16)((v).sf))
#if TDM_HAS_F64
#define TDM_UP_1_F64 8, 0, 8, 2, 8, 4, 8, 6
#define TDM_UP_2_F64 8, 8, 1, 1, 8, 8, 5, 5
#define TDM_UP_4_F64 8, 8, 8, 8, 3, 3, 3, 3
INLINE double8 tdm_scan_f64(double8 v)
{
    v += as_double8(TDM_SHIFTED(long8, ulong8, v, TDM_UP_1_F64));
    v += as_double8(TDM_SHIFTED(long8, ulong8, v, TDM_UP_2_F64));
    v += as_double8(TDM_SHIFTED(long8, ulong8, v, TDM_UP_4_F64));
    return v;
}
#define tdm_last_f64(v) ((double8)((v).s7))
#endif
#define SCAN_VEC(v) TDM_BY_ACC(tdm_scan_)(v)
#define LAST_OF_VEC(v) TDM_BY_ACC(tdm_last_)(v)

/* Partial results and their halves; see the C dialect. */
#define TDM_PARTS(type, name)                                                                      \
    typedef type##4 tdm_parts_##name##_4;                                                          \
    typedef type##8 tdm_parts_##name##_8;                                                          \
    typedef type##16 tdm_parts_##name##_16;
TDM_PARTS(float, f32)
TDM_PARTS(int, i32)
TDM_PARTS(long, i64)
#if TDM_HAS_F64
TDM_PARTS(double, f64)
#endif
#if TDM_CLANG_CPU
#define TDM_PARTS_16(name, parts, k) (((const tdm_parts_##name##_16 *)(parts))[k])
#else
#define TDM_PARTS_16(name, parts, k) vload16(k, parts)
#endif
#define TDM_LOWER(name, n, v) (v).lo
#define TDM_UPPER(name, n, v) (v).hi
#define TDM_PART(v, k) (v).s##k
#define TDM_LARGER(a, b) ((a) > (b) ? (a) : (b))

/* Squares of elements; see the C dialect. */
#define SQUARE_LEN (T_SIZE == 8 ? 8 : 16)
#define SQUARE_ROW TDM_CAT(tdm_row_, T_SIZE)
#define LOAD_SQUARE_ROW(p) TDM_CAT(tdm_load_row_, T_SIZE)(p)
#define STORE_SQUARE_ROW(p, v) TDM_CAT(tdm_store_row_, T_SIZE)(p, v)
#define ZIP_LOW(a, b) TDM_CAT(tdm_zip_low_, T_SIZE)(a, b)
#define ZIP_HIGH(a, b) TDM_CAT(tdm_zip_high_, T_SIZE)(a, b)
#if TDM_CLANG_CPU
#define TDM_LOOSE_ROW(size, length, element)                                                       \
    typedef element##length tdm_loose_row_##size __attribute__((may_alias, aligned(size)));        \
    INLINE element##length tdm_load_row_##size(GLOBAL const element *p)                            \
    {                                                                                              \
        return *(GLOBAL const tdm_loose_row_##size *)p;                                            \
    }                                                                                              \
    INLINE void tdm_store_row_##size(GLOBAL element *p, element##length v)                         \
    {                                                                                              \
        *(GLOBAL tdm_loose_row_##size *)p = v;                                                     \
    }
#else
#define TDM_LOOSE_ROW(size, length, element)                                                       \
    INLINE element##length tdm_load_row_##size(GLOBAL const element *p)                            \
    {                                                                                              \
        return vload##length(0, p);                                                                \
    }                                                                                              \
    INLINE void tdm_store_row_##size(GLOBAL element *p, element##length v)                         \
    {                                                                                              \
        vstore##length(v, 0, p);                                                                   \
    }
#endif
#define TDM_ZIP(name, type, half)                                                                  \
    INLINE type name(type a, type b)                                                               \
    {                                                                                              \
        type v;                                                                                    \
        v.even = a.half;                                                                           \
        v.odd = b.half;                                                                            \
        return v;                                                                                  \
    }
#define TDM_ROWS(size, length, element)                                                            \
    typedef element##length tdm_row_##size;                                                        \
    TDM_LOOSE_ROW(size, length, element)                                                           \
    TDM_ZIP(tdm_zip_low_##size, element##length, lo)                                               \
    TDM_ZIP(tdm_zip_high_##size, element##length, hi)
#if LANES == 1
TDM_ROWS(1, 16, uchar)
TDM_ROWS(2, 16, ushort)
TDM_ROWS(4, 16, uint)
TDM_ROWS(8, 8, ulong)
#endif

/* Words for Philox; see the C dialect. */
#if LANES == 1
typedef ulong8 WORDS;
#define WORDS_LEN 8
#define WORDS_FROM(v) ((ulong8)(v) + (ulong8)(0, 1, 2, 3, 4, 5, 6, 7))
#define WORDS_ZIP_LOW(a, b) tdm_zip_low_8(a, b)
#define WORDS_ZIP_HIGH(a, b) tdm_zip_high_8(a, b)
#define WORDS_AS_HALVES(a) (a)
#else
typedef ulong WORDS;
#define WORDS_LEN 1
#define WORDS_FROM(v) (v)
#endif
#define MUL_WORDS(a, b) (((a)&0xffffffffUL) * (ulong)(b))
#define HIGH_WORDS(a) ((a) >> 32)

#endif
