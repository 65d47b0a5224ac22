/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elements of several ranks become one. 16-bit floats are added as f32 and rounded once; integers are added as unsigned
 * ones, whose overflow is defined. */
#include "comm.h"

/* ---- 16-bit floats ---- */

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The exponent and the fraction at their places, times 2 to the power of the difference of the biases. */
static float from_f16(uint16_t half) {
    const uint32_t bits = bits_of(from_bits((uint32_t)(half & 0x7fff) << 13) * 0x1p112f);
    const uint32_t infinite = (half & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return from_bits(bits | infinite | (uint32_t)(half & 0x8000) << 16);
}

/* To nearest, ties to even: below the smallest normal by an addition whose last bit is that of a subnormal. */
static uint16_t to_f16(float value) {
    const uint32_t sign = bits_of(value) >> 16 & 0x8000, bits = bits_of(value) & 0x7fffffff;
    const uint32_t small = bits_of(from_bits(bits) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000u) >> 13;
    uint32_t half = bits < 0x38800000u ? small : normal;
    if (bits >= 0x477ff000u) half = bits > 0x7f800000u ? 0x7e00 : 0x7c00;
    return (uint16_t)(sign | half);
}

static float from_bf16(uint16_t half) { return from_bits((uint32_t)half << 16); }

static uint16_t to_bf16(float value) {
    const uint32_t bits = bits_of(value), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)((value != value ? bits | 0x400000 : rounded) >> 16);
}

/* Of n elements: `row` as what they are combined as, in `room` where that is another type; and a sum as y. */
static const void *as_combined(tdm_dtype dtype, const void *row, void *room, size_t n) {
    const uint16_t *half = row;
    if (dtype != TDM_F16 && dtype != TDM_BF16 && dtype != TDM_BOOL) return row;
    for (size_t i = 0; dtype == TDM_F16 && i < n; i++)
        ((float *)room)[i] = from_f16(half[i]);
    for (size_t i = 0; dtype == TDM_BF16 && i < n; i++)
        ((float *)room)[i] = from_bf16(half[i]);
    for (size_t i = 0; dtype == TDM_BOOL && i < n; i++)
        ((uint8_t *)room)[i] = ((const uint8_t *)row)[i] != 0;
    return room;
}

static void store(tdm_dtype dtype, void *y, const void *sum, size_t n) {
    uint16_t *half = y;
    if (dtype == TDM_F16)
        for (size_t i = 0; i < n; i++)
            half[i] = to_f16(((const float *)sum)[i]);
    else if (dtype == TDM_BF16)
        for (size_t i = 0; i < n; i++)
            half[i] = to_bf16(((const float *)sum)[i]);
    else
        memcpy(y, sum, n * tdm_dtype_size(dtype));
}

/* ---- combining ---- */

/* sum = sum and row, combined, of elements T that are added as U. A comparison with a NaN is false. */
#define COMBINE(name, T, U)                                                                        \
    static void combine_##name(tdm_comm_op op, void *into, const void *from, size_t n) {           \
        T *restrict sum = into;                                                                    \
        const T *restrict row = from;                                                              \
        if (op == TDM_COMM_MAX)                                                                    \
            for (size_t i = 0; i < n; i++)                                                         \
                sum[i] = sum[i] > row[i] || sum[i] != sum[i] ? sum[i] : row[i];                    \
        else if (op == TDM_COMM_MIN)                                                               \
            for (size_t i = 0; i < n; i++)                                                         \
                sum[i] = sum[i] < row[i] || sum[i] != sum[i] ? sum[i] : row[i];                    \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                sum[i] = (T)((U)sum[i] + (U)row[i]);                                               \
    }
COMBINE(f32, float, float)
COMBINE(f64, double, double)
COMBINE(i8, int8_t, uint8_t)
COMBINE(u8, uint8_t, uint8_t)
COMBINE(i16, int16_t, uint16_t)
COMBINE(u16, uint16_t, uint16_t)
COMBINE(i32, int32_t, uint32_t)
COMBINE(u32, uint32_t, uint32_t)
COMBINE(i64, int64_t, uint64_t)
COMBINE(u64, uint64_t, uint64_t)

static void (*const functions[TDM_DTYPE_COUNT])(tdm_comm_op, void *, const void *, size_t) = {
    [TDM_F32] = combine_f32,  [TDM_F64] = combine_f64, [TDM_F16] = combine_f32,
    [TDM_BF16] = combine_f32, [TDM_I8] = combine_i8,   [TDM_U8] = combine_u8,
    [TDM_BOOL] = combine_u8,  [TDM_I16] = combine_i16, [TDM_U16] = combine_u16,
    [TDM_I32] = combine_i32,  [TDM_U32] = combine_u32, [TDM_I64] = combine_i64,
    [TDM_U64] = combine_u64};

static void divide(tdm_dtype dtype, void *sum, int count, size_t n) {
    for (size_t i = 0; dtype == TDM_F64 && i < n; i++)
        ((double *)sum)[i] /= count;
    for (size_t i = 0; dtype != TDM_F64 && i < n; i++)
        ((float *)sum)[i] /= (float)count;
}

void tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                       int count, void *y) {
    enum { BLOCK = 256 };
    const size_t size = tdm_dtype_size(dtype);
    _Alignas(16) char sum[BLOCK * 8], room[BLOCK * 8];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t left = n - at < BLOCK ? n - at : BLOCK;
        for (int i = 0; i < count; i++) {
            const void *row =
                as_combined(dtype, (const char *)rows[i] + at * size, i == 0 ? sum : room, left);
            if (i > 0)
                functions[dtype](op, sum, row, left);
            else if (row != sum)
                memcpy(sum, row, left * size);
        }
        if (op == TDM_COMM_MEAN) divide(dtype, sum, count, left);
        store(dtype, (char *)y + at * size, sum, left);
    }
}
