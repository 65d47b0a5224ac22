/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a 16-bit dtype, T_ID, as ACC: TDM_LINE_LENGTH elements, which are what a cache line has of it. For
 * one lane, in C; see dialect_c.h. Compiled after dtypes.h. */
#ifndef TDMI_KERNEL_LINES_H
#define TDMI_KERNEL_LINES_H
#if TDM_LINES

#define TDM_REGISTER ((tdm_i32)(sizeof(tdm_vec_f32) / sizeof(float)))

/* A register of elements, wherever they begin. Compilers do not find the instructions for f16: GCC 12
 * converts one by one, or in integers. */
INLINE tdm_vec_f32 tdm_widen(const tdm_u16 *p)
{
#if T_ID == 3
    return TDM_AS_VEC_F32((tdm_vec_i32)TDM_WIDEN(p) << 16);
#elif TDM_F16C
    return tdm_widen_f16(p);
#else
    /* as tdm_f16_to_f32 */
    const tdm_vec_i32 stored = TDM_WIDEN(p);
    const tdm_vec_i32 magnitude = stored & 0x7fff;
    const tdm_vec_i32 normal = (magnitude << 13) + (112 << 23);
    const tdm_vec_i32 special = (magnitude << 13) | 0x7f800000;
    const tdm_vec_i32 small =
        TDM_AS_VEC_I32(__builtin_convertvector(magnitude, tdm_vec_f32) * 5.9604644775390625e-8f);
    const tdm_vec_i32 is_small = magnitude < 0x400, is_special = magnitude >= 0x7c00;
    const tdm_vec_i32 finite = (small & is_small) | (normal & ~is_small);
    const tdm_vec_i32 bits = (special & is_special) | (finite & ~is_special);
    return TDM_AS_VEC_F32(bits | (stored & 0x8000) << 16);
#endif
}

#if T_ID == 3
/* As tdm_f32_to_bf16, but in the high halves: the low ones have anything. Nothing is added to a NaN, whose bits might
 * overflow. */
INLINE tdm_vec_i32 tdm_round_high(tdm_vec_f32 v)
{
    const tdm_vec_i32 bits = TDM_AS_VEC_I32(v), is_nan = v != v, number = bits & ~is_nan;
    return ((bits | 0x400000) & is_nan) | (number + (0x7fff + ((number >> 16) & 1)));
}
#endif

/* Two registers rounded to elements, wherever they are to go; in one store, as a line that is in two cannot be
 * read back at once. With `bf16` by the processor's instruction, where there is one. */
INLINE void tdm_round(tdm_u32 bf16, tdm_u16 *to, tdm_vec_f32 a, tdm_vec_f32 b)
{
#if T_ID == 3 && defined(TDM_ROUND_BF16)
    if (bf16 && TDM_ROUND_BF16(to, a, b)) return;
#else
    (void)bf16;
#endif
#if T_ID == 2 && TDM_F16C
    tdm_round_f16(to, a, b);
#elif T_ID == 3 && defined(TDM_HIGH_HALVES)
    *(tdm_loose_pair_16 *)to = TDM_HIGH_HALVES(tdm_round_high(a), tdm_round_high(b));
#elif T_ID == 3
    *(tdm_loose_16 *)to = __builtin_convertvector(tdm_round_high(a) >> 16, tdm_loose_16);
    *(tdm_loose_16 *)(to + TDM_REGISTER) =
        __builtin_convertvector(tdm_round_high(b) >> 16, tdm_loose_16);
#else
    PRIVATE_ARRAY(float, from, 2 * TDM_REGISTER);
    *(tdm_vec_f32 *)from = a;
    *(tdm_vec_f32 *)(from + TDM_REGISTER) = b;
    TDM_LINE_SIMD for (tdm_i32 i = 0; i < 2 * TDM_REGISTER; i++) to[i] = TO_T(from[i]);
#endif
}

/* The first `count` of `span` elements, then zeros. */
INLINE float *tdm_read_line(float *to, GLOBAL const tdm_u16 *row, tdm_i32 count, tdm_i32 span)
{
    tdm_u16 rest[TDM_LINE_LENGTH];
    const tdm_u16 *from = (const tdm_u16 *)(uintptr_t)row; /* a CPU has one address space */
    if (count < span) {
        for (tdm_i32 i = 0; i < TDM_LINE_LENGTH; i++)
            rest[i] = i < count ? row[i] : 0;
        from = rest;
    }
    for (tdm_i32 i = 0; i < span; i += TDM_REGISTER)
        *(tdm_vec_f32 *)(to + i) = tdm_widen(from + i);
    return to;
}

/* A line of elements of any size: where they lie, or in `rest` the first `count`, and zeros. */
INLINE void *tdm_part(void *rest, GLOBAL const void *row, tdm_i32 count, tdm_i32 size)
{
    if (count == TDM_LINE_LENGTH) return (void *)(uintptr_t)row;
    for (tdm_i32 i = 0; i < TDM_LINE_LENGTH * size; i++)
        ((tdm_u8 *)rest)[i] = i < count * size ? ((GLOBAL const tdm_u8 *)row)[i] : 0;
    return rest;
}

INLINE void tdm_write_line(tdm_u32 stream, tdm_u32 bf16, GLOBAL tdm_u16 *row, const float *line,
                           tdm_i32 count)
{
    PRIVATE_ARRAY(tdm_u16, rounded, TDM_LINE_LENGTH);
    /* to where it belongs, if it can go there as it is */
    const tdm_i32 whole = count == TDM_LINE_LENGTH;
    tdm_u16 *const to = whole && !stream ? (tdm_u16 *)(uintptr_t)row : rounded;
    for (tdm_i32 i = 0; i < TDM_LINE_LENGTH; i += 2 * TDM_REGISTER)
        tdm_round(bf16, to + i, *(const tdm_vec_f32 *)(line + i),
                  *(const tdm_vec_f32 *)(line + i + TDM_REGISTER));
    if (to != rounded) return;
    if (whole)
        tdm_flush(stream, row, rounded);
    else
        for (tdm_i32 i = 0; i < count; i++)
            row[i] = rounded[i];
}

#undef TDM_REGISTER
#endif
#endif
