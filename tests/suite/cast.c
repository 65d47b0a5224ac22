/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* cast: all pairs of dtypes (49 where the device has f64), edge values and layouts, bit for bit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(cast, .init = device_open, .fini = device_close, TAGS("kernels"));

/* Converts the element at `from`, as the cast should, to `to`. */
static void convert(tdm_dtype source, const unsigned char *from, tdm_dtype target,
                    unsigned char *to) {
    if (source == target)
        memcpy(to, from, tdm_dtype_size(target)); /* a copy, of any bits */
    else if (dtype_is_float(source) || dtype_is_float(target))
        encode(target, decode(source, from), to);
    else
        encode_integer(target, decode_integer(source, from), to);
}

static bool same_element(tdm_dtype dtype, const unsigned char *a, const unsigned char *b) {
    if (memcmp(a, b, tdm_dtype_size(dtype)) == 0) return true;
    /* Which NaN is not promised. */
    return dtype_is_float(dtype) && isnan((double)decode(dtype, a)) &&
           isnan((double)decode(dtype, b));
}

/* Casts x, whose image is filled in, to y, and compares every byte of y's buffer. */
static bool cast_and_check(array *x, array *y) {
    OK(tdm_buffer_write(queue, x->t.buffer, 0, x->image, x->bytes));
    if (!OK(tdm_cast(queue, &x->t, &y->t))) return false;
    unsigned char *const got = array_bytes(y);
    size_t size = tdm_dtype_size(y->t.dtype);
    bool right = true;
    for (int64_t i = 0; i < y->count && right; i++) {
        unsigned char want[8];
        const unsigned char *from = x->image + element_offset(&x->t, i);
        size_t at = element_offset(&y->t, i);
        convert(x->t.dtype, from, y->t.dtype, want);
        right = same_element(y->t.dtype, got + at, want);
        if (!right && simulator && tdm_dtype_size(x->t.dtype) == 8) {
            /* Oclgrind itself rounds 64 bits to f64 before it rounds to f32. */
            encode(y->t.dtype, (long double)(double)decode(x->t.dtype, from), want);
            right = same_element(y->t.dtype, got + at, want);
        }
        CHECK(right, "element %lld, %.21Lg, became %.21Lg, not %.21Lg", (long long)i,
              decode(x->t.dtype, from), decode(y->t.dtype, got + at), decode(y->t.dtype, want));
        memcpy(got + at, y->image + at, size);
    }
    if (right) {
        right = memcmp(got, y->image, y->bytes) == 0;
        CHECK(right, "bytes outside y were written");
    }
    return right && ARRAY_SAME(x);
}

/* Values at which conversions go wrong: ties, the edges of every type, subnormals. */
static const double points[] = {0.0,
                                1.0,
                                2049.0,
                                2051.0,
                                65504.0,
                                65519.0,
                                65520.0,
                                65535.0,
                                65536.0,
                                255.0,
                                255.5,
                                255.99,
                                256.0,
                                257.0,
                                2147483647.,
                                2147483648.,
                                2147483520.,
                                4294967296.,
                                9223372036854775807.,
                                9223371487098961920.,
                                16777217.,
                                16777219.,
                                0.5,
                                0.99999,
                                1.5,
                                2.5,
                                3.5,
                                1e10,
                                1e20,
                                3.4028235677973366e38,
                                3.4028234e38,
                                1e39,
                                1e300,
                                1e-10,
                                0x1p-14,
                                0x1p-24,
                                0x1p-25,
                                0x1.8p-25,
                                0x1p-26,
                                0x1.8p-24,
                                0x1p-126,
                                0x1p-127,
                                0x1p-133,
                                0x1p-134,
                                0x1.8p-134,
                                0x1p-149,
                                0x1p-150,
                                0x1.8p-150,
                                1e-310,
                                1.00390625,
                                1.01171875,
                                1.00048828125,
                                1.00146484375,
                                1.000488281250001,
                                1.00390625000001,
                                0x1.01p0,
                                0x1.0100001p0,
                                0x1.002001p0,
                                6.1035e-5};
enum { POINTS = sizeof points / sizeof points[0] };

/* These of both signs, NaN, Inf, and integers of 64 bits. */
static int64_t edge_values(tdm_dtype dtype, array *x) {
    int64_t n = 0, count = POINTS;
    for (int sign = 0; sign < 2; sign++) {
        for (int64_t i = 0; i < count && n < x->count; i++) {
            encode(dtype, sign ? -(long double)points[i] : (long double)points[i],
                   x->image + element_offset(&x->t, n++));
        }
    }
    long double special[] = {(long double)NAN, (long double)INFINITY, -(long double)INFINITY};
    for (int i = 0; i < 3 && n < x->count; i++)
        encode(dtype, special[i], x->image + element_offset(&x->t, n++));
    static const int64_t integers[] = {INT64_MIN,
                                       INT64_MAX,
                                       INT64_MAX - 511,
                                       INT64_MAX - 512,
                                       (1ll << 53) + 1,
                                       -(1ll << 53) - 1,
                                       (1ll << 24) + 1,
                                       (1ll << 40) + 12345,
                                       INT32_MAX,
                                       INT32_MIN,
                                       (1ll << 31),
                                       (1ll << 32) + 7,
                                       (1ll << 56) + (1ll << 48) + 1,
                                       -0x7f7fffffffffffffll,
                                       (1ll << 60) + (1ll << 36) + 1};
    for (int i = 0; i < 15 && n < x->count; i++) {
        unsigned char *at = x->image + element_offset(&x->t, n++);
        if (dtype_is_float(dtype))
            encode(dtype, (long double)integers[i], at);
        else
            encode_integer(dtype, (uint64_t)integers[i], at);
    }
    return n;
}

/* All pairs: edge values, then random bit patterns (which have every exponent). */
Test(cast, all_pairs, TAGS("lanes")) {
    for (int s = 0; s < dtype_count; s++) {
        for (int t = 0; t < dtype_count; t++) {
            tdm_dtype source = dtypes[s], target = dtypes[t];
            int64_t n = small ? 300 : 20000;
            check_case("cast %s to %s", tdm_dtype_name(source), tdm_dtype_name(target));
            array *x = array_1d(source, n), *y = array_1d(target, n);
            for (int64_t i = 0; i < n; i++) {
                unsigned char *at = x->image + element_offset(&x->t, i);
                if (i % 2)
                    random_bytes(at, tdm_dtype_size(source));
                else
                    encode(source, (long double)random_uniform(-300.0, 300.0), at);
            }
            edge_values(source, x);
            cast_and_check(x, y);
            array_free_all();
        }
    }
}

/* Every 16-bit pattern to every other type, and back through f32. */
Test(cast, every_16_bit_pattern) {
    static const tdm_dtype sources[] = {TDM_F16, TDM_BF16};
    int64_t n = 65536;
    for (int s = 0; s < 2; s++) {
        for (int t = 0; t < dtype_count; t++) {
            if (small && t > 0 && t < dtype_count - 1) continue;
            check_case("cast of every %s to %s", tdm_dtype_name(sources[s]),
                       tdm_dtype_name(dtypes[t]));
            array *x = array_1d(sources[s], n), *y = array_1d(dtypes[t], n);
            for (int64_t i = 0; i < n; i++) {
                uint16_t bits = (uint16_t)i;
                memcpy(x->image + element_offset(&x->t, i), &bits, 2);
            }
            cast_and_check(x, y);
            array_free_all();
        }
    }
}

/* A fill is the cast of one f64. */
Test(cast, fill) {
    static const int64_t many[] = {7, 19, 130};
    for (int k = 0; k < 2 * TDM_DTYPE_COUNT; k++) {
        const int t = k / 2, is_large = k % 2;
        array *y =
            is_large ? array_new((tdm_dtype)t, 3, many, NULL) : array_2d((tdm_dtype)t, 3, 5, 7);
        const size_t size = tdm_dtype_size((tdm_dtype)t);
        for (int i = 0; i < 2 * POINTS + 3; i++) {
            static const double special[] = {NAN, INFINITY, -INFINITY};
            double value = i < POINTS       ? points[i]
                           : i < 2 * POINTS ? -points[i - POINTS]
                                            : special[i - 2 * POINTS];
            unsigned char want[8];
            if ((small || is_large) && i % 5 != 0) continue;
            check_case("%s filled with %.17g", tdm_dtype_name((tdm_dtype)t), value);
            encode((tdm_dtype)t, (long double)value, want);
            if (!OK(tdm_fill(queue, value, &y->t))) break;
            unsigned char *const got = array_bytes(y);
            for (int64_t e = 0; e < y->count; e++) {
                const size_t at = element_offset(&y->t, e);
                CHECK(same_element((tdm_dtype)t, got + at, want), "element %lld is %.21Lg",
                      (long long)e, decode((tdm_dtype)t, got + at));
                memcpy(got + at, y->image + at, size);
            }
            CHECK(memcmp(got, y->image, y->bytes) == 0, "bytes outside y were written");
        }
        array_free_all();
    }
    array *none = array_1d(TDM_U8, 0);
    OK(tdm_fill(queue, 1.0, &none->t));
    OK(tdm_cast(queue, &none->t, &none->t));
    ARRAY_SAME(none);
}

/* Copies of transposed matrices, in tiles: with other dimensions around, with gaps, of sizes around those of a
 * tile and of the squares in it. */
Test(cast, transposed_copies) {
    static const int64_t sizes[] = {4, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int i = 0; i < (small ? 12 : 200); i++) {
        const tdm_dtype dtype = dtypes[random_integer(0, dtype_count - 1)];
        const int64_t m = sizes[random_integer(0, SIZES - 1)],
                      n = sizes[random_integer(0, SIZES - 1)];
        const int64_t a = random_integer(1, 3), b = random_integer(1, 3);
        const int64_t row = m + random_integer(0, 3), gap = n + 64 / (1 + random_integer(0, 15));
        check_case("%s, %lldx%lld times %lldx%lld", tdm_dtype_name(dtype), (long long)m,
                   (long long)n, (long long)a, (long long)b);
        const int64_t shape[4] = {a, m, b, n};
        const int64_t source[4] = {b * n * row, 1, n * row, row};
        const int64_t target[4] = {m * b * gap, b * gap, gap, 1};
        array *x = array_new(dtype, 4, shape, source), *y = array_new(dtype, 4, shape, target);
        random_bytes(x->image, x->bytes);
        cast_and_check(x, y);
        array_free_all();
    }
}

/* cast copies any strided view: transposed, with gaps, repeated, six dimensions. */
Test(cast, layouts, TAGS("lanes few kinds")) {
    for (int i = 0; i < (small ? 20 : 150); i++) {
        tdm_dtype source = dtypes[random_integer(0, dtype_count - 1)],
                  target = dtypes[random_integer(0, dtype_count - 1)];
        int64_t r = random_integer(1, 60), c = random_integer(1, 60);
        check_case("cast %s to %s of %lldx%lld, layout %d", tdm_dtype_name(source),
                   tdm_dtype_name(target), (long long)r, (long long)c, i % 4);
        int64_t strides[4][2] = {{1, r}, {c + 3, 1}, {0, 2}, {3 * c + 1, 3}};
        array *x = array_new(source, 2, (int64_t[]){r, c}, strides[i % 4]);
        array *y = i & 4 ? array_new(target, 2, (int64_t[]){r, c}, (int64_t[]){1, r + 1})
                         : array_2d(target, r, c, c);
        random_bytes(x->image, x->bytes);
        cast_and_check(x, y);
        array_free_all();
    }
    check_case("six dimensions reversed");
    int64_t shape[6] = {2, 3, 4, 5, 2, 3}, strides[6] = {1, 2, 6, 24, 120, 240};
    array *x = array_new(TDM_F32, 6, shape, strides), *y = array_new(TDM_BF16, 6, shape, NULL);
    random_bytes(x->image, x->bytes);
    cast_and_check(x, y);
}
