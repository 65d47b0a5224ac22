/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Conversions between numbers and the bytes of a dtype. */
#include "reference/values.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A binary format as IEEE 754 defines it: digits of the significand, smallest normal exponent,
 * largest exponent. bf16 is f32's first 16 bits. */
typedef struct format {
    int digits, least, most;
} format;

static inline format format_of(tdm_dtype dtype) {
    const format f64 = {53, -1022, 1023}, f16 = {11, -14, 15}, bf16 = {8, -126, 127},
                 f32 = {24, -126, 127};
    return dtype == TDM_F64 ? f64 : dtype == TDM_F16 ? f16 : dtype == TDM_BF16 ? bf16 : f32;
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

/* x as a double: its digits, and 1 as the last of them where some were lost, so that what is rounded once more is
 * rounded as x itself is (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static uint64_t odd_bits(long double x) {
    const double d = (double)x;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    if ((long double)d == x || isnan(x)) return bits;
    if (fabsl((long double)d) > fabsl(x)) bits--;
    return bits | 1;
}

/* The 16-bit pattern of a double, given by its bits, rounded to nearest, ties to even. */
static uint16_t narrow(format f, uint64_t from) {
    const int fraction = f.digits - 1;
    const unsigned infinity = (2u * (unsigned)f.most + 1u) << fraction;
    const uint64_t one = UINT64_C(1) << 52;
    if ((from & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff) << 52) /* NaN */
        return (uint16_t)(infinity | (1u << (fraction - 1)));
    const unsigned sign = from >> 63 ? 0x8000u : 0u;
    const int stored = (int)(from >> 52 & 0x7ff), exponent = stored - 1023;
    if (exponent > f.most) return (uint16_t)(sign | infinity);
    /* The fewer digits, the further below the normal numbers it is. */
    const int lost = 52 - fraction + (exponent < f.least ? f.least - exponent : 0);
    if (lost > 53 || stored == 0) return (uint16_t)sign; /* less than half of the smallest */
    const uint64_t digits = (from & (one - 1)) | one, half = UINT64_C(1) << (lost - 1);
    const uint64_t kept = digits >> lost, rest = digits & (2 * half - 1);
    const bool up = rest > half || (rest == half && (kept & 1));
    /* A subnormal has biased exponent 0 and no hidden bit; a carry moves into the exponent. */
    const unsigned biased = exponent < f.least ? 0u : (unsigned)(exponent - f.least);
    return (uint16_t)(sign | ((biased << fraction) + (unsigned)kept + up));
}

/* Read as f32, which bf16 is the upper half of; f16, moved to its places, is too small by a power of two. */
static long double widen(format f, uint16_t bits) {
    const int fraction = f.digits - 1;
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t magnitude = (uint32_t)(bits & 0x7fff) << (23 - fraction);
    const bool special = (bits & 0x7fff) >> fraction == 2 * f.most + 1;
    const uint32_t whole = sign | magnitude | (special ? 0x7f800000u : 0u);
    float value;
    memcpy(&value, &whole, sizeof value);
    return f.most == 127 || special ? (long double)value : (long double)value * 0x1p112L;
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

void decode_run(tdm_dtype dtype, const void *bytes, ptrdiff_t stride, int64_t count, double *out) {
    const unsigned char *from = bytes;
    const format f = format_of(dtype);
#define EACH(type, value)                                                                          \
    for (int64_t i = 0; i < count; i++, from += stride) {                                          \
        type element;                                                                              \
        memcpy(&element, from, sizeof element);                                                    \
        out[i] = (double)(value);                                                                  \
    }                                                                                              \
    break
    switch (dtype) {
    case TDM_F32:
        EACH(float, element);
    case TDM_F64:
        EACH(double, element);
    case TDM_F16:
    case TDM_BF16:
        EACH(uint16_t, widen(f, element));
    default:
        for (int64_t i = 0; i < count; i++, from += stride)
            out[i] = (double)decode(dtype, from);
    }
#undef EACH
}

void decode_rows(tdm_dtype dtype, const void *bytes, int64_t first, int64_t rows, int64_t stride,
                 int64_t cols, double *out) {
    const size_t size = dtype_size(dtype);
    for (int64_t r = 0; r < rows; r++) {
        const unsigned char *row =
            (const unsigned char *)bytes + (size_t)(first + r * stride) * size;
        decode_run(dtype, row, (ptrdiff_t)size, cols, out);
        out += cols;
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
    const long double half = (long double)(UINT64_C(1) << (i.bits - 1));
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
        uint16_t u16 = narrow(format_of(dtype), odd_bits(x));
        memcpy(bytes, &u16, sizeof u16);
    } else if (dtype == TDM_BOOL) {
        encode_integer(dtype, isnan(x) || x != 0, bytes);
    } else {
        encode_integer(dtype, saturated(integer_of(dtype), x), bytes);
    }
}

void encode_run(tdm_dtype dtype, const double *x, int64_t count, void *bytes, ptrdiff_t stride) {
    unsigned char *to = bytes;
    const format f = format_of(dtype);
    const integer n = integer_of(dtype);
    /* Between these truncating is all. */
    const double most = ldexp(1, n.bits < 64 ? n.bits - n.is_signed : 62) - 1;
    const double least = n.is_signed ? -most - 1 : 0;
    uint64_t bits;
#define WHOLE(v)                                                                                   \
    ((v) >= least && (v) <= most ? (uint64_t)(int64_t)(v) : saturated(n, (long double)(v)))
#define EACH(type, value)                                                                          \
    for (int64_t i = 0; i < count; i++, to += stride) {                                            \
        const type element = (type)(value);                                                        \
        memcpy(to, &element, sizeof element);                                                      \
    }                                                                                              \
    break
    switch (dtype) {
    case TDM_F32:
        EACH(float, x[i]);
    case TDM_F64:
        EACH(double, x[i]);
    case TDM_F16:
    case TDM_BF16:
        EACH(uint16_t, (memcpy(&bits, &x[i], sizeof bits), narrow(f, bits)));
    case TDM_BOOL:
        EACH(uint8_t, isnan(x[i]) || x[i] != 0);
    case TDM_I8:
    case TDM_U8:
        EACH(uint8_t, WHOLE(x[i]));
    case TDM_I16:
    case TDM_U16:
        EACH(uint16_t, WHOLE(x[i]));
    case TDM_I32:
    case TDM_U32:
        EACH(uint32_t, WHOLE(x[i]));
    default:
        EACH(uint64_t, WHOLE(x[i]));
    }
#undef WHOLE
#undef EACH
}

double rounded(tdm_dtype dtype, double x) {
    unsigned char bytes[8];
    encode(dtype, x, bytes);
    return (double)decode(dtype, bytes);
}
