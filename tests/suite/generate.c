/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranges and random numbers: every dtype, the same numbers on every device. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/philox.h"
#include "support/array.h"

TestSuite(generate, .init = device_open, .fini = device_close, TAGS("device kernels"));

/* The known answers of Random123, for the reference that judges the library. */
Test(generate, known_answers, TAGS("lanes")) {
    static const uint32_t cases[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t words[4];
        philox(cases[i], cases[i] + 4, words);
        CHECK(memcmp(words, cases[i] + 6, sizeof words) == 0, "known answer %d", i);
    }
    array *y = array_1d(TDM_I32, 4);
    tdm_generator generator = {0, 0};
    OK(tdm_fill_uniform(queue, &generator, 0, 1, &y->t));
    double want[4];
    for (int i = 0; i < 4; i++)
        want[i] = (double)(int32_t)cases[0][6 + i];
    ARRAY_CHECK(y, want, NULL);
    CHECK(generator.next == 4, "next is %llu", (unsigned long long)generator.next);
}

/* Fills y, and checks every byte of its buffer: the elements are the stream's, and all else is as it was. */
static void check_uniform(uint64_t seed, uint64_t first, double low, double high, array *y) {
    tdm_generator generator = {seed, first};
    check_case("%s, %lld elements from %llu of seed %llu in [%g, %g)", tdm_dtype_name(y->t.dtype),
               (long long)y->count, (unsigned long long)first, (unsigned long long)seed, low, high);
    if (!OK(tdm_fill_uniform(queue, &generator, low, high, &y->t))) return;
    CHECK(generator.next == first + (uint64_t)y->count, "next was not moved on");
    for (int64_t i = 0; i < y->count; i++)
        philox_uniform(seed, first + (uint64_t)i, y->t.dtype, low, high,
                       y->image + element_offset(&y->t, i));
    ARRAY_SAME(y);
}

static uint64_t random_first(int turn) {
    static const uint64_t starts[] = {0, 1, UINT64_C(0x3fffffffd), UINT64_MAX - 77};
    return turn < 4 ? starts[turn] : random_bits() >> random_integer(0, 60);
}

/* Bit for bit, of every dtype: sizes around a block, a tile and a chunk, any first number, any
 * range, rows with gaps. */
Test(generate, uniform, TAGS("lanes")) {
    static const int64_t sizes[] = {1, 3, 64, 255, 256, 1000, 4097, 70001};
    for (int d = 0; d < dtype_count; d++) {
        for (int s = 0; s < (small ? 6 : 8); s++) {
            const double low = s % 2 ? random_uniform(-3, 3) : 0,
                         high = s % 2 ? low + random_uniform(0, 5) : 1;
            array *y = s % 3 == 1 ? array_2d(dtypes[d], 3, sizes[s], sizes[s] + 5)
                                  : array_1d(dtypes[d], sizes[s]);
            check_uniform(random_bits(), random_first(s), low, high, y);
            array_free_all();
        }
    }
}

/* So many that outputs are streamed and cut into chunks. */
Test(generate, uniform_large) {
    array *y = array_1d(TDM_F32, simulator ? 20001 : small ? 300001 : 20000003);
    check_uniform(random_bits(), random_first(9), 0, 1, y);
}

/* Filled in parts, of any sizes, equals filled whole, for both distributions. */
Test(generate, parts_equal_whole) {
    for (int d = 0; d < dtype_count; d++) {
        tdm_dtype dtype = dtypes[d];
        for (int normal = 0; normal < (dtype_is_float(dtype) ? 2 : 1); normal++) {
            array *whole = array_1d(dtype, 2000), *parts = array_1d(dtype, 2000);
            tdm_generator a = {random_bits(), random_first(random_bits() % 8)}, b = a;
            check_case("%s %s from %llu of %llu", tdm_dtype_name(dtype),
                       normal ? "normal" : "uniform", (unsigned long long)a.next,
                       (unsigned long long)a.seed);
            OK(normal ? tdm_fill_normal(queue, &a, 1, 2, &whole->t)
                      : tdm_fill_uniform(queue, &a, -1, 2, &whole->t));
            for (int64_t at = 0; at < 2000;) {
                int64_t n = random_integer(1, 700);
                if (n > 2000 - at) n = 2000 - at;
                tdm_tensor part;
                OK(tdm_tensor_slice(&parts->t, 0, at, n, 1, &part));
                OK(normal ? tdm_fill_normal(queue, &b, 1, 2, &part)
                          : tdm_fill_uniform(queue, &b, -1, 2, &part));
                at += n;
            }
            CHECK(a.next == b.next, "the parts moved the generator elsewhere");
            CHECK(memcmp(array_bytes(whole) + element_offset(&whole->t, 0),
                         array_bytes(parts) + element_offset(&parts->t, 0),
                         2000 * tdm_dtype_size(dtype)) == 0,
                  "the parts differ from the whole");
            array_free_all();
        }
    }
}

/* The moments of the numbers drawn, at five standard errors. */
Test(generate, moments) {
    const int64_t n = small ? 20000 : 1000000;
    for (int normal = 0; normal < 2; normal++) {
        array *y = array_1d(TDM_F32, n);
        tdm_generator generator = {random_bits(), 0};
        check_case("%s of seed %llu", normal ? "normal" : "uniform",
                   (unsigned long long)generator.seed);
        OK(normal ? tdm_fill_normal(queue, &generator, 3, 2, &y->t)
                  : tdm_fill_uniform(queue, &generator, 0, 1, &y->t));
        const double *const v = array_values(y);
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; i++)
            mean += v[i] / (double)n;
        for (int64_t i = 0; i < n; i++)
            variance += (v[i] - mean) * (v[i] - mean) / (double)n;
        double right_mean = normal ? 3 : 0.5, right_variance = normal ? 4 : 1.0 / 12;
        /* the variance of a variance is (kurtosis - 1) σ⁴ / n: 2 and 0.8 σ⁴ / n */
        double spread = sqrt((normal ? 2 : 0.8) / (double)n) * right_variance;
        CHECK(fabs(mean - right_mean) < 5 * sqrt(right_variance / (double)n), "mean %g", mean);
        CHECK(fabs(variance - right_variance) < 5 * spread, "variance %g", variance);
        array_free_all();
    }
}

static void range_element(tdm_dtype dtype, double start, double step, int64_t index, void *bytes) {
    if (dtype == TDM_F64) {
        double v = fma((double)index, step, start);
        memcpy(bytes, &v, sizeof v);
    } else if (dtype_is_float(dtype)) {
        encode(dtype, (long double)fmaf((float)index, (float)step, (float)start), bytes);
    } else {
        encode_integer(dtype, (uint64_t)((int64_t)start + index * (int64_t)step), bytes);
    }
}

Test(generate, range, TAGS("lanes few")) {
    static const double steps[] = {1, -3, 0.1, 1000003};
    for (int d = 0; d < dtype_count; d++) {
        for (int s = 0; s < 4; s++) {
            const double start = s == 2 ? 0.25 : -5;
            array *y = s == 1 ? array_2d(dtypes[d], 7, 41, 50) : array_1d(dtypes[d], 9001);
            check_case("%s from %g by %g", tdm_dtype_name(dtypes[d]), start, steps[s]);
            OK(tdm_fill_range(queue, start, steps[s], &y->t));
            for (int64_t i = 0; i < y->count; i++)
                range_element(dtypes[d], start, steps[s], i, y->image + element_offset(&y->t, i));
            ARRAY_SAME(y);
            array_free_all();
        }
    }
}

Test(generate, refusals) {
    array *y = array_1d(TDM_F32, 10), *i = array_1d(TDM_I32, 10);
    tdm_generator g = {1, 5};
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT;
    REFUSED(tdm_fill_uniform(queue, NULL, 0, 1, &y->t), argument, "generator|NULL");
    REFUSED(tdm_fill_uniform(queue, &g, 2, 1, &y->t), argument, "high is 1|low|2");
    REFUSED(tdm_fill_uniform(queue, &g, 0, INFINITY, &y->t), argument, "high|finite");
    REFUSED(tdm_fill_uniform(queue, &g, NAN, 1, &y->t), argument, "low|finite");
    REFUSED(tdm_fill_uniform(queue, &g, -3e38, 3e38, &y->t), argument, "high - low|f32");
    REFUSED(tdm_fill_normal(queue, &g, 0, 1e39, &y->t), argument, "deviation|f32");
    REFUSED(tdm_fill_normal(queue, &g, 0, -1, &y->t), argument, "deviation|-1");
    REFUSED(tdm_fill_normal(queue, &g, 0, 1, &i->t), TDM_ERROR_INVALID_DTYPE, "y|i32");
    REFUSED(tdm_fill_normal(queue, &g, 0, 1, NULL), argument, "y is NULL");
    REFUSED(tdm_fill_range(queue, 0, 1, NULL), argument, "y is NULL");
    REFUSED(tdm_fill_range(NULL, 0, 1, &y->t), argument, "queue is NULL");
    tdm_tensor gaps;
    OK(tdm_tensor_view(&y->t, 1, (int64_t[]){5}, (int64_t[]){2}, 0, &gaps));
    REFUSED(tdm_fill_uniform(queue, &g, 0, 1, &gaps), TDM_ERROR_UNSUPPORTED, "y|stride 2");
    CHECK(g.next == 5, "a refused call moved the generator");
    tdm_tensor empty;
    OK(tdm_tensor_slice(&y->t, 0, 0, 0, 1, &empty));
    OK(tdm_fill_uniform(queue, &g, 0, 1, &empty));
    OK(tdm_fill_normal(queue, &g, 0, 1, &empty));
    OK(tdm_fill_range(queue, 0, 1, &empty));
    CHECK(g.next == 5, "nothing was drawn");
    ARRAY_SAME(y);
}
