/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random inputs and conversions, independent of the library's own. */
#include "machine/values.h"

#include <math.h>
#include <string.h>

bench_random bench_random_seed(uint64_t seed) {
    /* one step of splitmix64, so that near seeds give far states */
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (bench_random){z ? z : 1};
}

uint64_t bench_random_next(bench_random *random) {
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* Round to nearest even from the 52 bits of a double's fraction, subnormal results included. */
static uint16_t to_f16(double value) {
    double magnitude = fabs(value);
    uint16_t sign = signbit(value) ? 0x8000u : 0;
    if (!(magnitude < 65520.0)) return (uint16_t)(sign | (isnan(value) ? 0x7e00u : 0x7c00u));
    int exponent;
    (void)frexp(magnitude, &exponent);
    if (exponent < -13 || magnitude == 0.0) exponent = -13;
    /* magnitude in units of the last place: at most 2048, nearbyint rounds half to even */
    double units = nearbyint(ldexp(magnitude, 11 - exponent));
    return (uint16_t)(sign + (uint32_t)units + (uint32_t)(exponent + 13) * 1024u);
}

static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static double from_f16(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return half & 0x8000u ? -value : value;
}

static double from_bf16(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static float to_f32(double value) { return (float)value; }
static double to_f64(double value) { return value; }
static uint16_t to_bf16_from_f64(double value) { return to_bf16((float)value); }

/* Two values from each number of 64 bits. */
#define DEFINE_FILL(name, type, convert)                                                           \
    static void name(type *data, int64_t count, double low, double step, bench_random random) {    \
        for (int64_t i = 0; i < count; i += 2) {                                                   \
            const uint64_t bits = bench_random_next(&random);                                      \
            data[i] = convert(low + step * (double)(uint32_t)bits);                                \
            if (i + 1 < count) data[i + 1] = convert(low + step * (double)(uint32_t)(bits >> 32)); \
        }                                                                                          \
    }
DEFINE_FILL(fill_f32, float, to_f32)
DEFINE_FILL(fill_f64, double, to_f64)
DEFINE_FILL(fill_f16, uint16_t, to_f16)
DEFINE_FILL(fill_bf16, uint16_t, to_bf16_from_f64)

void bench_fill_random(void *data, tdm_dtype dtype, int64_t count, double low, double high,
                       uint64_t seed) {
    const bench_random random = bench_random_seed(seed);
    const double step = (high - low) * 0x1p-32;
    switch (dtype) {
    case TDM_F32:
        fill_f32(data, count, low, step, random);
        break;
    case TDM_F64:
        fill_f64(data, count, low, step, random);
        break;
    case TDM_F16:
        fill_f16(data, count, low, step, random);
        break;
    case TDM_BF16:
        fill_bf16(data, count, low, step, random);
        break;
    default:
        break;
    }
}

double bench_value(const void *data, tdm_dtype dtype, int64_t i) {
    switch (dtype) {
    case TDM_F32:
        return (double)((const float *)data)[i];
    case TDM_F64:
        return ((const double *)data)[i];
    case TDM_F16:
        return from_f16(((const uint16_t *)data)[i]);
    case TDM_BF16:
        return from_bf16(((const uint16_t *)data)[i]);
    default:
        return (double)NAN;
    }
}

double bench_epsilon(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F32:
        return 0x1p-23;
    case TDM_F64:
        return 0x1p-52;
    case TDM_F16:
        return 0x1p-10;
    case TDM_BF16:
        return 0x1p-7;
    default:
        return 0.0;
    }
}

double bench_smallest(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F64:
        return 0x1p-1022;
    case TDM_F16:
        return 0x1p-24;
    default:
        return 0x1p-126;
    }
}

/* An exponent of all ones is a NaN or an infinity. */
#define DEFINE_ALL_FINITE(name, type, mask)                                                        \
    static bool name(const type *bits, int64_t count) {                                            \
        int bad = 0;                                                                               \
        for (int64_t i = 0; i < count; i++)                                                        \
            bad |= (bits[i] & (type)(mask)) == (type)(mask);                                       \
        return !bad;                                                                               \
    }
DEFINE_ALL_FINITE(all_finite_f64, uint64_t, 0x7ff0000000000000u)
DEFINE_ALL_FINITE(all_finite_f32, uint32_t, 0x7f800000u)
DEFINE_ALL_FINITE(all_finite_f16, uint16_t, 0x7c00u)
DEFINE_ALL_FINITE(all_finite_bf16, uint16_t, 0x7f80u)

bool bench_all_finite(const void *data, tdm_dtype dtype, int64_t count) {
    switch (dtype) {
    case TDM_F32:
        return all_finite_f32(data, count);
    case TDM_F64:
        return all_finite_f64(data, count);
    case TDM_F16:
        return all_finite_f16(data, count);
    case TDM_BF16:
        return all_finite_bf16(data, count);
    default:
        return true;
    }
}
