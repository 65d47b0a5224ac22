/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Macros of the dialect that compute with one number, and those that describe a dtype. */
#include <criterion/criterion.h>
#include <math.h>

#include "operations/formulas.h"
#include "reference/bounds.h"
#include "suite/source_call.h"

TestSuite(source_numbers, .init = device_open, .fini = device_close,
          TAGS("compiler compiled texts"));

enum { COLS = 321 };

static void on_floats(void (*check)(tdm_dtype dtype)) {
    for (int d = 0; d < float_dtype_count; d++) {
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        check(float_dtypes[d]);
        array_free_all();
    }
}

/* The power of two of a number that is not 0. */
static int power_of(double v) {
    int power;
    frexp(v, &power);
    return power - 1;
}

/* The largest power of two that is a number of the dtype. */
static int most_power(tdm_dtype dtype) {
    return dtype == TDM_F16 ? 15 : dtype == TDM_F64 ? 1023 : 127;
}

/* ACTIVATE: each of them, by its number. */
Test(source_numbers, activations) {
    static const char text[] =
        "KERNEL(activated)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
        "        GLOBAL const T *const xr = ROW(x, row);\n        GLOBAL T *const yr = ROW(y, "
        "row);\n"
        "        FOR_LANES_WRITE(yr, j, COLS, NOTHING_AHEAD, READ(xr))\n        {\n"
        "            WRITE(yr, j, ACTIVATE(args.which, AT(xr, j)));\n        }\n    }\n}\n";
    for (int d = 0; d < float_dtype_count; d++)
        for (int which = 0; which < TDM_ACTIVATION_COUNT; which++) {
            const tdm_dtype dtype = float_dtypes[d];
            check_case("activation %d of %s", which, tdm_dtype_name(dtype));
            array *x = array_2d(dtype, 2, COLS, COLS + 1), *y = array_2d(dtype, 2, COLS, COLS);
            double *want = numbers(x->count), *bound = numbers(x->count);
            array_uniform(x, -12, 12);
            for (int64_t i = 0; i < x->count; i++) {
                const tdm_activation activation = (tdm_activation)which;
                want[i] = ref_activation(activation, x->v[i]);
                bound[i] = stored(dtype, want[i],
                                  ref_activation_bound(activation, x->v[i], 0, compute_eps(dtype)));
            }
            if (RUN_SOURCE(text, "activated", OUT("y", y), IN("x", x), INTEGER("which", which)))
                ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
}

/* RESCALE: x, whatever its power of two, is near 2^40 then. SAFE_SQUARES: whether x, as a sum of squares, lost
 * nothing. */
static void check_scaled(tdm_dtype dtype) {
    static const char text[] =
        "KERNEL(scaled)\n{\n    const ACC unit = SQUARE((ACC)1048576);\n"
        "    FOR_ROWS(row, ROWS)\n    {\n        GLOBAL const T *const xr = ROW(x, row);\n"
        "        GLOBAL T *const yr = ROW(y, row);\n        GLOBAL T *const zr = ROW(z, row);\n"
        "        FOR_LANES_APART(j, COLS)\n        {\n            const ACC v = LOAD(xr, j);\n"
        "            STORE(yr, j, v * RESCALE(MAGNITUDE_KEY(v)) / unit);\n"
        "            STORE(zr, j, SAFE_SQUARES(v) ? (ACC)1 : (ACC)0);\n        }\n    }\n}\n";
    array *x = array_2d(dtype, 2, COLS, COLS + 1);
    array *y = array_2d(dtype, 2, COLS, COLS), *z = array_2d(dtype, 2, COLS, COLS + 3);
    double *values = numbers(x->count), *want_y = numbers(x->count), *want_z = numbers(x->count);
    /* below 2^(40 - most) no factor is large enough; f16 has its factors in f32 */
    const int least = dtype == TDM_F16 ? -14 : 40 - most_power(dtype);
    const int range = most_power(dtype) - least + 1;
    const double safe = dtype == TDM_F64 ? 1e-290 : 1e-20;
    for (int64_t i = 0; i < x->count; i++) {
        const double mantissa = (1 + (double)(i % 8) / 8) * (i % 3 ? 1 : -1);
        values[i] = ldexp(mantissa, least + (int)(i * 7 % range));
        want_y[i] = mantissa;
        want_z[i] = values[i] >= safe;
    }
    /* no number, for which the factor means nothing */
    values[5] = NAN;
    values[6] = INFINITY;
    want_y[5] = NAN;
    want_y[6] = INFINITY;
    want_z[5] = want_z[6] = 0;
    array_set(x, values);
    if (RUN_SOURCE(text, "scaled", OUT("y", y), OUT("z", z), IN("x", x)) &&
        ARRAY_CHECK(y, want_y, NULL))
        ARRAY_CHECK(z, want_z, NULL);
}
Test(source_numbers, scaled) { on_floats(check_scaled); }

/* BITS_KEY: the bits of ACC. LOST: the number, and nothing where it is none. */
static void check_keys(tdm_dtype dtype) {
    static const char text[] =
        "KERNEL(keys)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
        "        GLOBAL const T *const xr = ROW(x, row);\n"
        "        FOR_LANES_APART(j, COLS)\n        {\n            const ACC v = LOAD(xr, j);\n"
        "            STORE(ROW(y, row), j, LOST(v));\n"
        "            ROW(k, row)[j] = (tdm_i64)BITS_KEY(v);\n        }\n    }\n}\n";
    array *x = array_2d(dtype, 2, COLS, COLS + 1), *y = array_2d(dtype, 2, COLS, COLS);
    array *k = array_2d(TDM_I64, 2, COLS, COLS);
    double *values = numbers(x->count), *want_y = numbers(x->count), *want_k = numbers(x->count);
    for (int64_t i = 0; i < x->count; i++)
        values[i] =
            i % 5 == 4 ? (i % 2 ? INFINITY : -INFINITY) : ldexp((double)(i % 9) - 4, (int)(i % 11));
    array_set(x, values);
    for (int64_t i = 0; i < x->count; i++) {
        want_y[i] = isfinite(values[i]) ? values[i] : 0;
        const int64_t sign = signbit(values[i]) ? 1 : 0;
        const bool is_double = dtype == TDM_F64;
        const int digits = is_double ? 52 : 23, middle = is_double ? 1023 : 127;
        /* of few digits, so that a key is exact in a double as well */
        int64_t key = 0;
        if (!isfinite(values[i])) {
            key = (int64_t)(2 * middle + 1) << digits;
        } else if (values[i] != 0) {
            const int power = power_of(values[i]);
            key = ((int64_t)(power + middle) << digits) +
                  (int64_t)ldexp(ldexp(fabs(values[i]), -power) - 1, digits);
        }
        if (sign) key |= is_double ? INT64_MIN : -((int64_t)1 << 31);
        want_k[i] = (double)key;
    }
    if (RUN_SOURCE(text, "keys", OUT("y", y), OUT_OF("k", k), IN("x", x)) &&
        ARRAY_CHECK(y, want_y, NULL))
        ARRAY_CHECK(k, want_k, NULL);
}
Test(source_numbers, keys) { on_floats(check_keys); }

/* GET_F16, PUT_F16: bits of an f16 to f32 and back, of all there are but NaN. */
Test(source_numbers, halves) {
    static const char text[] =
        "KERNEL(halves)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
        "        FOR_LANES_APART(j, COLS)\n        {\n"
        "            const tdm_u16 bits = (tdm_u16)ROW(x, row)[j];\n"
        "            const float v = GET_F16(bits);\n            ROW(y, row)[j] = v;\n"
        "            ROW(z, row)[j] = PUT_F16(v * 1.00001f);\n        }\n    }\n}\n";
    enum { INFINITE = 0x7c00 };
    array *x = array_2d(TDM_I32, 2, INFINITE + 1, INFINITE + 1);
    array *y = array_2d(TDM_F32, 2, INFINITE + 1, INFINITE + 1),
          *z = array_2d(TDM_I32, 2, INFINITE + 1, INFINITE + 2);
    double *bits = numbers(x->count), *want = numbers(x->count);
    for (int64_t i = 0; i < x->count; i++) {
        const int64_t magnitude = i % (INFINITE + 1), sign = i / (INFINITE + 1);
        const int power = (int)(magnitude >> 10);
        bits[i] = (double)(magnitude | sign << 15);
        const double v = magnitude == INFINITE ? INFINITY
                         : power ? ldexp((double)(1024 + (magnitude & 1023)), power - 25)
                                 : ldexp((double)magnitude, -24);
        want[i] = sign ? -v : v;
    }
    array_set(x, bits);
    if (RUN_SOURCE(text, "halves", OUT_OF("y", y), OUT_OF("z", z), IN_OF("x", x)) &&
        ARRAY_CHECK(y, want, NULL))
        ARRAY_CHECK(z, bits, NULL); /* the addend is less than half of a place */
    array_free_all();
}

/* T_SIZE and T_DIGITS, where #if compares them; T is a float in users' kernels. */
static void check_dtypes(tdm_dtype dtype) {
    static const char text[] = "#if !T_IS_FLOAT || T_KIND != 0\n#error\n#endif\n"
                               "#if T_SIZE == 2 && T_DIGITS == 11\n#define CODE 1\n"
                               "#elif T_SIZE == 2 && T_DIGITS == 8\n#define CODE 2\n"
                               "#elif T_SIZE == 4 && T_DIGITS == 24\n#define CODE 3\n"
                               "#elif T_SIZE == 8 && T_DIGITS == 53\n#define CODE 4\n#endif\n"
                               "KERNEL(codes)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
                               "        if (LANE == 0) ROW(codes, row)[0] = CODE;\n    }\n}\n";
    array *x = array_2d(dtype, 3, 4, 4), *codes = array_2d(TDM_I32, 3, 1, 2);
    const double code = dtype == TDM_F16 ? 1 : dtype == TDM_BF16 ? 2 : dtype == TDM_F32 ? 3 : 4;
    const double want[] = {code, code, code};
    if (RUN_SOURCE(text, "codes", IN("x", x), OUT_OF("codes", codes)))
        ARRAY_CHECK(codes, want, NULL);
}
Test(source_numbers, dtypes) { on_floats(check_dtypes); }
