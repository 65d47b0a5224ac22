/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dtypes on the host: names, sizes, kinds, and elements from and to numbers. */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    tdmi_dtype_kind kind;
} dtypes[] = {
#define ROW(NAME, name, bytes, kind) {name, bytes, TDMI_KIND_##kind},
    TDM_DTYPE_LIST(ROW)
#undef ROW
};

static bool is_known(tdm_dtype dtype) { return (unsigned)dtype < TDM_DTYPE_COUNT; }

const char *tdm_dtype_name(tdm_dtype dtype) {
    return is_known(dtype) ? dtypes[dtype].name : "unknown";
}

size_t tdm_dtype_size(tdm_dtype dtype) { return is_known(dtype) ? dtypes[dtype].size : 0; }

bool tdm_dtype_is_float(tdm_dtype dtype) {
    return is_known(dtype) && dtypes[dtype].kind == TDMI_KIND_FLOAT;
}

tdmi_dtype_kind tdmi_dtype_kind_of(tdm_dtype dtype) { return dtypes[dtype].kind; }

tdm_dtype tdmi_dtype_bits(tdm_dtype dtype) {
    static const tdm_dtype by_size[] = {[1] = TDM_U8, [2] = TDM_U16, [4] = TDM_U32, [8] = TDM_U64};
    return by_size[dtypes[dtype].size];
}

tdm_dtype tdmi_dtype_stored(tdm_dtype dtype) {
    return dtypes[dtype].kind == TDMI_KIND_SIGNED ? tdmi_dtype_bits(dtype) : dtype;
}

int64_t tdmi_to_i64(double value) {
    if (isnan(value)) return 0;
    if (value >= 0x1p63) return INT64_MAX;
    if (value < -0x1p63) return INT64_MIN;
    return (int64_t)value;
}

/* A binary format of 16 bits: bits of its fraction, and the largest exponent, which is the bias. */
typedef struct narrow_format {
    int fraction, bias;
} narrow_format;

static const narrow_format f16 = {10, 15}, bf16 = {7, 127};

/* Rounded to nearest, ties to even, by integers: in one step, and whatever the rounding mode is. */
static uint64_t narrow(narrow_format format, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t sign = bits >> 63 << 15, infinity = (2u * (unsigned)format.bias + 1u)
                                                       << format.fraction;
    if (isnan(value)) return sign | infinity | UINT64_C(1) << (format.fraction - 1);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - format.bias;
    if (exponent > format.bias) return sign | infinity;
    const uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int shift = 52 - format.fraction + (exponent < least ? least - exponent : 0);
    if (shift > 54) shift = 54; /* to where all that can be left is less than a half */
    const uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1)
                                                                          << (shift - 1);
    uint64_t kept = mantissa >> shift;
    kept += rest > half || (rest == half && (kept & 1));
    /* a normal number's leading 1 adds one to the exponent, and so does a carry */
    const uint64_t power = exponent < least ? 0 : (uint64_t)(exponent + format.bias - 1);
    return sign | ((power << format.fraction) + kept);
}

static double widen(narrow_format format, uint16_t bits) {
    const int fraction = format.fraction, mantissa = bits & ((1 << fraction) - 1);
    const int power = (bits & 0x7fff) >> fraction;
    double magnitude;
    if (power == 2 * format.bias + 1)
        magnitude = mantissa ? NAN : INFINITY;
    else
        magnitude = ldexp(power ? mantissa + (1 << fraction) : mantissa,
                          (power ? power : 1) - format.bias - fraction);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint64_t float_bits(tdm_dtype dtype, double value) {
    uint64_t bits = 0;
    uint32_t word;
    const float f32 = (float)value;
    switch (dtype) {
    case TDM_F64:
        memcpy(&bits, &value, sizeof bits);
        return bits;
    case TDM_F16:
        return narrow(f16, value);
    case TDM_BF16:
        return narrow(bf16, value);
    default:
        memcpy(&word, &f32, sizeof word);
        return word;
    }
}

static int64_t held(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

uint64_t tdmi_element_bits(tdm_dtype dtype, double value) {
    const int digits = 8 * (int)dtypes[dtype].size;
    const int64_t half = INT64_MAX >> (64 - digits); /* the most of a signed integer */
    switch (dtypes[dtype].kind) {
    case TDMI_KIND_SIGNED:
        return (uint64_t)held(tdmi_to_i64(value), -half - 1, half);
    case TDMI_KIND_UNSIGNED:
        if (digits == 64 && value >= 0x1p63) return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
        return (uint64_t)held(tdmi_to_i64(value), 0, digits == 64 ? INT64_MAX : 2 * half + 1);
    case TDMI_KIND_BOOL:
        return value != 0;
    case TDMI_KIND_FLOAT:
        break;
    }
    return float_bits(dtype, value);
}

tdmi_ranks tdmi_ranks_of(tdm_dtype dtype) {
    const size_t size = tdm_dtype_size(dtype);
    const tdmi_dtype_kind kind = tdmi_dtype_kind_of(dtype);
    const bool is_float = kind == TDMI_KIND_FLOAT;
    const int64_t highest = size == 8 ? INT64_MAX : INT32_MAX, lowest = -highest - 1;
    const unsigned shift = size < 4 ? 32 - 8 * (unsigned)size : 0;
    return (tdmi_ranks){
        .fold = is_float ? highest : 0,
        .turn = kind == TDMI_KIND_UNSIGNED || kind == TDMI_KIND_BOOL ? lowest : 0,
        .above = is_float ? (int64_t)(tdmi_element_bits(dtype, INFINITY) << shift) : highest,
        .zero = is_float ? lowest : 0,
        .limit = kind == TDMI_KIND_BOOL ? 1 : 255,
    };
}

double tdmi_element_float(tdm_dtype dtype, const void *element) {
    double f64;
    float f32;
    uint16_t bits;
    switch (dtype) {
    case TDM_F64:
        memcpy(&f64, element, sizeof f64);
        return f64;
    case TDM_F16:
    case TDM_BF16:
        memcpy(&bits, element, sizeof bits);
        return widen(dtype == TDM_F16 ? f16 : bf16, bits);
    default:
        memcpy(&f32, element, sizeof f32);
        return (double)f32;
    }
}

int64_t tdmi_element_integer(tdm_dtype dtype, const void *element) {
    const bool is_signed = dtypes[dtype].kind == TDMI_KIND_SIGNED;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    int64_t i64;
    switch (dtypes[dtype].size) {
    case 1:
        memcpy(&u8, element, sizeof u8);
        if (dtypes[dtype].kind == TDMI_KIND_BOOL) return u8 != 0;
        return is_signed ? (int8_t)u8 : u8;
    case 2:
        memcpy(&u16, element, sizeof u16);
        return is_signed ? (int16_t)u16 : u16;
    case 4:
        memcpy(&u32, element, sizeof u32);
        return is_signed ? (int32_t)u32 : (int64_t)u32;
    default:
        memcpy(&i64, element, sizeof i64);
        return i64;
    }
}

const char *tdmi_float_dtypes(void) {
#define NAME_FLOAT(name) ", " name
#define NAME_SIGNED(name)
#define NAME_UNSIGNED(name)
#define NAME_BOOL(name)
#define NAME(NAME, name, bytes, kind) NAME_##kind(name)
    static const char names[] = TDM_DTYPE_LIST(NAME);
    return names + strlen(", ");
}
