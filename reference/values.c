/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Conversions between numbers and the bytes of a dtype. */
#include "reference/values.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What IEEE 754 says of a binary format: digits of the significand, smallest normal exponent,
 * largest exponent. bf16 is f32's first 16 bits. */
typedef struct format {
    int digits, least, most;
} format;

static format format_of(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F64:
        return (format){53, -1022, 1023};
    case TDM_F16:
        return (format){11, -14, 15};
    case TDM_BF16:
        return (format){8, -126, 127};
    default:
        return (format){24, -126, 127};
    }
}

size_t dtype_size(tdm_dtype dtype) {
#define SIZE(NAME, name, bytes, kind) [TDM_##NAME] = (bytes),
    static const size_t sizes[TDM_DTYPE_COUNT] = {TDM_DTYPE_LIST(SIZE)};
#undef SIZE
    return sizes[dtype];
}

bool dtype_is_float(tdm_dtype dtype) {
    return dtype == TDM_F32 || dtype == TDM_F64 || dtype == TDM_F16 || dtype == TDM_BF16;
}

double dtype_eps(tdm_dtype dtype) {
    return dtype_is_float(dtype) ? ldexp(1.0, 1 - format_of(dtype).digits) : 0.0;
}

double compute_eps(tdm_dtype dtype) {
    return dtype == TDM_F64 ? dtype_eps(TDM_F64) : dtype_eps(TDM_F32);
}

double half_ulp(tdm_dtype dtype, double x) {
    format f = format_of(dtype);
    int exponent = 0;
    frexp(x, &exponent);
    exponent -= 1;
    if (x == 0.0 || exponent < f.least) exponent = f.least;
    return ldexp(1.0, exponent - f.digits);
}

double dtype_max(tdm_dtype dtype) {
    format f = format_of(dtype);
    return ldexp(2.0 - ldexp(1.0, 1 - f.digits), f.most);
}

/* The 16-bit pattern of x, rounded to nearest, ties to even. */
static uint16_t narrow(format f, long double x) {
    int fraction = f.digits - 1;
    unsigned sign = signbit(x) ? 0x8000u : 0u;
    unsigned infinity = (2u * (unsigned)f.most + 1u) << fraction;
    if (isnan(x)) return (uint16_t)(infinity | (1u << (fraction - 1)));
    if (isinf(x)) return (uint16_t)(sign | infinity);
    if (x == 0.0L) return (uint16_t)sign;
    int exponent = 0;
    frexpl(x, &exponent);
    exponent -= 1;
    if (exponent < f.least) exponent = f.least;
    if (exponent > f.most) return (uint16_t)(sign | infinity);
    long double steps = nearbyintl(ldexpl(fabsl(x), fraction - exponent));
    unsigned mantissa = (unsigned)steps;
    /* A subnormal has biased exponent 0 and no hidden bit; a carry moves into the exponent. */
    unsigned biased = (unsigned)(exponent - f.least);
    unsigned bits = (biased << fraction) + mantissa;
    return (uint16_t)(sign | (bits > infinity ? infinity : bits));
}

static long double widen(format f, uint16_t bits) {
    int fraction = f.digits - 1;
    int mantissa = bits & ((1 << fraction) - 1);
    int biased = (bits & 0x7fff) >> fraction;
    long double x = 0;
    if (biased == 2 * f.most + 1)
        x = mantissa ? (long double)NAN : (long double)INFINITY;
    else if (biased == 0)
        x = ldexpl((long double)mantissa, f.least - fraction);
    else
        x = ldexpl((long double)(mantissa + (1 << fraction)), biased - 1 + f.least - fraction);
    return bits & 0x8000 ? -x : x;
}

/* Of the integers: their bits, and whether the first of them is a sign. */
typedef struct integer {
    int bits;
    bool is_signed;
} integer;

static integer integer_of(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_I8:
        return (integer){8, true};
    case TDM_I16:
        return (integer){16, true};
    case TDM_I32:
        return (integer){32, true};
    case TDM_I64:
        return (integer){64, true};
    case TDM_U16:
        return (integer){16, false};
    case TDM_U32:
        return (integer){32, false};
    case TDM_U64:
        return (integer){64, false};
    default: /* u8, and a bool's byte */
        return (integer){8, false};
    }
}

/* The bits of an integer in the machine's order of bytes. */
static uint64_t read_bits(int bits, const void *bytes) {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (bits) {
    case 8:
        memcpy(&u8, bytes, sizeof u8);
        return u8;
    case 16:
        memcpy(&u16, bytes, sizeof u16);
        return u16;
    case 32:
        memcpy(&u32, bytes, sizeof u32);
        return u32;
    default:
        memcpy(&u64, bytes, sizeof u64);
        return u64;
    }
}

static void write_bits(int bits, uint64_t value, void *bytes) {
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    memcpy(bytes,
           bits == 8    ? (void *)&u8
           : bits == 16 ? (void *)&u16
           : bits == 32 ? (void *)&u32
                        : (void *)&value,
           (size_t)bits / 8);
}

uint64_t decode_integer(tdm_dtype dtype, const void *bytes) {
    const integer i = integer_of(dtype);
    const uint64_t bits = read_bits(i.bits, bytes), sign = UINT64_C(1) << (i.bits - 1);
    if (dtype == TDM_BOOL) return bits != 0;
    return i.is_signed ? (bits ^ sign) - sign : bits;
}

long double decode(tdm_dtype dtype, const void *bytes) {
    float f32;
    double f64;
    uint16_t u16;
    switch (dtype) {
    case TDM_F32:
        memcpy(&f32, bytes, sizeof f32);
        return (long double)f32;
    case TDM_F64:
        memcpy(&f64, bytes, sizeof f64);
        return (long double)f64;
    case TDM_F16:
    case TDM_BF16:
        memcpy(&u16, bytes, sizeof u16);
        return widen(format_of(dtype), u16);
    default:
        break;
    }
    const uint64_t bits = decode_integer(dtype, bytes);
    return integer_of(dtype).is_signed ? (long double)(int64_t)bits : (long double)bits;
}

void decode_rows(tdm_dtype dtype, const void *bytes, int64_t first, int64_t rows, int64_t stride,
                 int64_t cols, double *out) {
    const size_t size = dtype_size(dtype);
    for (int64_t r = 0; r < rows; r++) {
        const unsigned char *row =
            (const unsigned char *)bytes + (size_t)(first + r * stride) * size;
        for (int64_t c = 0; c < cols; c++)
            *out++ = (double)decode(dtype, row + (size_t)c * size);
    }
}

/* An exponent of all ones is a NaN or an infinity. */
#define DEFINE_ALL_FINITE(type)                                                                    \
    static bool all_finite_##type(const type *bits, int64_t count, type exponent) {                \
        int bad = 0;                                                                               \
        for (int64_t i = 0; i < count; i++)                                                        \
            bad |= (bits[i] & exponent) == exponent;                                               \
        return !bad;                                                                               \
    }
DEFINE_ALL_FINITE(uint16_t)
DEFINE_ALL_FINITE(uint32_t)
DEFINE_ALL_FINITE(uint64_t)

bool all_finite(tdm_dtype dtype, const void *bytes, int64_t count) {
    if (!dtype_is_float(dtype)) return true;
    const format f = format_of(dtype);
    const uint64_t exponent = (2u * (unsigned)f.most + 1ull) << (f.digits - 1);
    const size_t size = dtype_size(dtype);
    if (size == 8) return all_finite_uint64_t(bytes, count, exponent);
    if (size == 4) return all_finite_uint32_t(bytes, count, (uint32_t)exponent);
    return all_finite_uint16_t(bytes, count, (uint16_t)exponent);
}

void encode_integer(tdm_dtype dtype, uint64_t x, void *bytes) {
    if (dtype == TDM_BOOL) x = x != 0;
    write_bits(integer_of(dtype).bits, x, bytes);
}

/* Truncated, and held within the integer's limits; NaN gives 0. */
static uint64_t saturated(integer i, long double x) {
    const long double half = ldexpl(1, i.bits - 1);
    const long double least = i.is_signed ? -half : 0, most = (i.is_signed ? half : 2 * half) - 1;
    if (isnan(x)) return 0;
    if (x < least) x = least;
    if (x > most) x = most;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

void encode(tdm_dtype dtype, long double x, void *bytes) {
    if (dtype == TDM_F32) {
        float f32 = (float)x;
        memcpy(bytes, &f32, sizeof f32);
    } else if (dtype == TDM_F64) {
        double f64 = (double)x;
        memcpy(bytes, &f64, sizeof f64);
    } else if (dtype == TDM_F16 || dtype == TDM_BF16) {
        uint16_t u16 = narrow(format_of(dtype), x);
        memcpy(bytes, &u16, sizeof u16);
    } else if (dtype == TDM_BOOL) {
        encode_integer(dtype, isnan(x) || x != 0, bytes);
    } else {
        encode_integer(dtype, saturated(integer_of(dtype), x), bytes);
    }
}

double rounded(tdm_dtype dtype, double x) {
    unsigned char bytes[8];
    encode(dtype, x, bytes);
    return (double)decode(dtype, bytes);
}
