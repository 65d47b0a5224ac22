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

/* n elements of a row as what they are combined as, in `room` where that is another type; and a result as y. */
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

static void store(tdm_dtype dtype, void *y, const void *result, size_t n) {
    uint16_t *half = y;
    if (dtype == TDM_F16)
        for (size_t i = 0; i < n; i++)
            half[i] = to_f16(((const float *)result)[i]);
    else if (dtype == TDM_BF16)
        for (size_t i = 0; i < n; i++)
            half[i] = to_bf16(((const float *)result)[i]);
    else if (y != result)
        memmove(y, result, n * tdm_dtype_size(dtype));
}

/* ---- combining ---- */

/* to = a and b, combined, of elements T that are added as U; `to` may be one of them. A comparison with a NaN is
 * false. */
#define EACH(expression) _Pragma("omp simd") for (size_t i = 0; i < n; i++) to[i] = expression
#define COMBINE(name, T, U)                                                                        \
    static void combine_##name(tdm_comm_op op, void *into, const void *one, const void *other,     \
                               size_t n) {                                                         \
        T *to = into;                                                                              \
        const T *a = one, *b = other;                                                              \
        if (op == TDM_COMM_MAX)                                                                    \
            EACH(a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]);                                       \
        else if (op == TDM_COMM_MIN)                                                               \
            EACH(a[i] < b[i] || a[i] != a[i] ? a[i] : b[i]);                                       \
        else                                                                                       \
            EACH((T)((U)a[i] + (U)b[i]));                                                          \
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

static void (*const functions[TDM_DTYPE_COUNT])(tdm_comm_op, void *, const void *, const void *,
                                                size_t) = {
    [TDM_F32] = combine_f32,  [TDM_F64] = combine_f64, [TDM_F16] = combine_f32,
    [TDM_BF16] = combine_f32, [TDM_I8] = combine_i8,   [TDM_U8] = combine_u8,
    [TDM_BOOL] = combine_u8,  [TDM_I16] = combine_i16, [TDM_U16] = combine_u16,
    [TDM_I32] = combine_i32,  [TDM_U32] = combine_u32, [TDM_I64] = combine_i64,
    [TDM_U64] = combine_u64};

static void divide(tdm_dtype dtype, void *to, const void *sum, int count, size_t n) {
    for (size_t i = 0; dtype == TDM_F64 && i < n; i++)
        ((double *)to)[i] = ((const double *)sum)[i] / count;
    for (size_t i = 0; dtype != TDM_F64 && i < n; i++)
        ((float *)to)[i] = ((const float *)sum)[i] / (float)count;
}

/* A block of `rows`, from element `at` on, which are read before y is written. */
static void combine_block(tdm_dtype dtype, tdm_comm_op op, size_t n, size_t at,
                          const void *const *rows, int count, void *y, char *sum, char *room) {
    const size_t size = tdm_dtype_size(dtype);
    char *place = (char *)y + at * size;
    const bool direct = dtype != TDM_F16 && dtype != TDM_BF16;
    const void *so_far = as_combined(dtype, (const char *)rows[0] + at * size, sum, n);
    for (int i = 1; i < count; i++) {
        void *to = direct && i == count - 1 ? place : sum;
        functions[dtype](op, to, so_far,
                         as_combined(dtype, (const char *)rows[i] + at * size, room, n), n);
        so_far = to;
    }
    if (op == TDM_COMM_MEAN) {
        divide(dtype, direct ? place : sum, so_far, count, n);
        so_far = direct ? place : sum;
    }
    store(dtype, place, so_far, n);
}

void tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                       int count, void *y) {
    enum { BLOCK = 256 };
    _Alignas(64) char sum[BLOCK * 8], room[BLOCK * 8];
    for (size_t at = 0; at < n; at += BLOCK)
        combine_block(dtype, op, n - at < BLOCK ? n - at : BLOCK, at, rows, count, y, sum, room);
}
