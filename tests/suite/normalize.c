/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm, RMSNorm, batch normalisation, L2-normalise and softmax. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(normalize, .init = device_open, .fini = device_close);

static const int64_t shapes[][3] = {/* rows, cols, gap between rows */
                                    {1, 1, 0},    {4, 2, 0},    {3, 3, 1},     {8, 8, 0},
                                    {5, 63, 1},   {6, 64, 0},   {2, 65, 2},    {3, 127, 0},
                                    {2, 256, 0},  {2, 257, 3},  {300, 17, 0},  {3, 1000, 0},
                                    {2, 4096, 0}, {2, 4099, 1}, {1, 65536, 0}, {3, 65535, 1},
                                    {20000, 5, 0}};

static size_t shape_count(void) { return small ? 12 : sizeof shapes / sizeof shapes[0]; }

/* x, or a copy of its layout for the output. */
static array *output(array *x, bool in_place) {
    return in_place ? x : array_2d(x->t.dtype, x->t.shape[0], x->t.shape[1], x->t.strides[0]);
}

static bool layer_norm_case(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t gap, int flags) {
    bool has_weight = flags & 1, has_bias = flags & 2, in_place = flags & 4;
    double epsilon = flags & 8 ? 1e-5 : 1e-12;
    check_case("%s layer_norm %lldx%lld gap %lld weight %d bias %d in place %d",
               tdm_dtype_name(dtype), (long long)rows, (long long)cols, (long long)gap, has_weight,
               has_bias, in_place);
    array *x = array_2d(dtype, rows, cols, cols + gap), *y = output(x, in_place);
    array *weight = has_weight ? array_1d(dtype, cols) : NULL;
    array *bias = has_bias ? array_1d(dtype, cols) : NULL;
    array_uniform(x, -3.0, 5.0);
    if (weight) array_uniform(weight, -2.0, 2.0);
    if (bias) array_uniform(bias, -1.0, 1.0);
    if (cols == 1) epsilon = 1.0; /* the variance of one element is 0 */
    double *want = numbers(x->count), *bound = numbers(x->count);
    ref_layer_norm(dtype, rows, cols, x->v, weight ? weight->v : NULL, bias ? bias->v : NULL,
                   epsilon, want, bound);
    bool right = OK(tdm_layer_norm(queue, &x->t, weight ? &weight->t : NULL, bias ? &bias->t : NULL,
                                   epsilon, &y->t)) &&
                 ARRAY_CHECK(y, want, bound);
    if (!in_place) right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

/* Every dtype and row length, with and without weight and bias, in place, gaps between rows. */
Test(normalize, layer_norm) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < shape_count(); i++) {
            if (!in_turn(d + (int)i)) continue;
            bool right = true;
            for (int flags = 0; flags < 16 && right; flags += small ? 5 : 3) {
                right = layer_norm_case(float_dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2],
                                        flags);
            }
            if (!right) break;
        }
    }
}

/* A large mean: two passes, centred. 1e6 ± 1e-3 in f64 and 1e4 ± 1 in f32 are right; a constant row
 * gives exactly the bias. */
Test(normalize, layer_norm_large_mean) {
    static const struct {
        tdm_dtype dtype;
        double mean, spread;
    } kinds[] = {{TDM_F64, 1e6, 1e-3},  {TDM_F64, -1e9, 1.0},   {TDM_F32, 1e4, 1.0},
                 {TDM_F32, -3e5, 10.0}, {TDM_F16, 1000.0, 8.0}, {TDM_BF16, 100.0, 8.0}};
    static const int64_t lengths[] = {7, 64, 1000, 20000};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!computes_with(kinds[i].dtype)) continue;
        for (int l = 0; l < (small ? 3 : 4); l++) {
            int64_t cols = lengths[l];
            check_case("%s layer_norm of %g +- %g, %lld columns", tdm_dtype_name(kinds[i].dtype),
                       kinds[i].mean, kinds[i].spread, (long long)cols);
            array *x = array_2d(kinds[i].dtype, 2, cols, cols);
            array *y = array_2d(kinds[i].dtype, 2, cols, cols);
            array_uniform(x, kinds[i].mean - kinds[i].spread, kinds[i].mean + kinds[i].spread);
            double *want = numbers(x->count), *bound = numbers(x->count);
            ref_layer_norm(kinds[i].dtype, 2, cols, x->v, NULL, NULL, 1e-12, want, bound);
            OK(tdm_layer_norm(queue, &x->t, NULL, NULL, 1e-12, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
    for (int d = 0; d < float_dtype_count; d++) {
        check_case("%s layer_norm of a constant row", tdm_dtype_name(float_dtypes[d]));
        array *x = array_2d(float_dtypes[d], 2, 512, 512), *bias = array_1d(float_dtypes[d], 512);
        array_constant(x, 1024.0);
        array_uniform(bias, -1.0, 1.0);
        double *want = numbers(1024);
        for (int i = 0; i < 1024; i++)
            want[i] = bias->v[i % 512];
        OK(tdm_layer_norm(queue, &x->t, NULL, &bias->t, 1e-5, &x->t));
        ARRAY_CHECK(x, want, NULL);
        array_free_all();
    }
}

/* LayerNorm of v, four rows, without weight and bias. */
static void check_four_rows(tdm_dtype dtype, int64_t cols, const double *v) {
    array *x = array_2d(dtype, 4, cols, cols), *y = array_2d(dtype, 4, cols, cols);
    double *want = numbers(4 * cols), *bound = numbers(4 * cols);
    array_set(x, v);
    ref_layer_norm(dtype, 4, cols, x->v, NULL, NULL, 0.0, want, bound);
    OK(tdm_layer_norm(queue, &x->t, NULL, NULL, 0.0, &y->t));
    ARRAY_CHECK(y, want, bound);
    array_free_all();
}

/* Those whose digits show what was lost on the way. */
static const tdm_dtype wide_dtypes[2] = {TDM_F32, TDM_F64};

/* Rows with one element far from the others, first, in the middle or last, and rows that rise: what
 * a single pass around a pivot or an early mean gets wrong. */
Test(normalize, layer_norm_outliers) {
    static const int64_t lengths[] = {100, 1000, 20000};
    for (int d = 0; d < 2; d++) {
        if (!computes_with(wide_dtypes[d])) continue;
        for (int l = 0; l < (small ? 2 : 3); l++) {
            int64_t cols = lengths[l];
            check_case("%s layer_norm of rows with outliers, %lld columns",
                       tdm_dtype_name(wide_dtypes[d]), (long long)cols);
            double *v = numbers(4 * cols);
            for (int64_t i = 0; i < 4 * cols; i++)
                v[i] = i < 3 * cols ? random_uniform(-1.0, 1.0) : (double)(i - 3 * cols);
            v[0] = 1e4;
            v[cols + cols / 2] = -1e4;
            v[3 * cols - 1] = 1e4;
            check_four_rows(wide_dtypes[d], cols, v);
        }
    }
}

/* Values on a coarse grid and a first element off it, so that their differences from it are all
 * rounded in one direction when they are summed: long chains of additions miss the mean. */
Test(normalize, layer_norm_leaning_sums) {
    static const int64_t lengths[] = {1000, 4096, 65536, 1 << 20};
    for (int d = 0; d < 2; d++) {
        if (!computes_with(wide_dtypes[d])) continue;
        for (int l = 0; l < (small ? 2 : 4); l++) {
            int64_t cols = lengths[l];
            check_case("%s layer_norm of values on a grid, %lld columns",
                       tdm_dtype_name(wide_dtypes[d]), (long long)cols);
            double *v = numbers(4 * cols);
            for (int64_t i = 0; i < 4 * cols; i++) {
                v[i] = i % cols == 0 ? random_uniform(-0.02, 0.02)
                                     : round(random_uniform(-12.0, 20.0)) / 4.0;
            }
            check_four_rows(wide_dtypes[d], cols, v);
        }
    }
}

static bool rms_norm_case(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t gap, int flags) {
    bool has_weight = flags & 1, has_residual = flags & 2, has_sum = flags & 4;
    int place = flags >> 3; /* 0: y apart, 1: y on x, 2: y on residual, sum on x */
    check_case("%s rms_norm %lldx%lld gap %lld weight %d residual %d sum %d place %d",
               tdm_dtype_name(dtype), (long long)rows, (long long)cols, (long long)gap, has_weight,
               has_residual, has_sum, place);
    array *x = array_2d(dtype, rows, cols, cols + gap);
    array *weight = has_weight ? array_1d(dtype, cols) : NULL;
    array *residual = has_residual ? array_2d(dtype, rows, cols, cols + 2 * gap) : NULL;
    array *y = place == 2 && residual ? residual : output(x, place == 1);
    array *sum = !has_sum ? NULL : place == 2 ? x : array_2d(dtype, rows, cols, cols + gap);
    array_uniform(x, -3.0, 3.0);
    if (weight) array_uniform(weight, -2.0, 2.0);
    if (residual) array_uniform(residual, -1.0, 1.0);
    double *want = numbers(x->count), *bound = numbers(x->count), *want_sum = numbers(x->count);
    ref_rms_norm(dtype, rows, cols, x->v, residual ? residual->v : NULL, weight ? weight->v : NULL,
                 1e-6, want_sum, want, bound);
    bool right = OK(tdm_rms_norm(queue, &x->t, residual ? &residual->t : NULL,
                                 weight ? &weight->t : NULL, 1e-6, sum ? &sum->t : NULL, &y->t)) &&
                 ARRAY_CHECK(y, want, bound);
    /* The sum is one addition, rounded once: exact. */
    if (sum) right = ARRAY_CHECK(sum, want_sum, NULL) && right;
    if (y != x && sum != x) right = ARRAY_SAME(x) && right;
    if (residual && y != residual) right = ARRAY_SAME(residual) && right;
    array_free_all();
    return right;
}

/* Every dtype, row length and combination of operands, in place on either input. */
Test(normalize, rms_norm) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < shape_count(); i++) {
            if (!in_turn(d + (int)i)) continue;
            bool right = true;
            for (int flags = 0; flags < 24 && right; flags++) {
                if ((flags & 4) && !(flags & 2)) continue;
                if (i % 3 != 0 && flags % 5 != (int)(i % 5)) continue;
                if (small && flags % 4 != (int)(i % 4)) continue;
                right =
                    rms_norm_case(float_dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2], flags);
            }
            if (!right) break;
        }
    }
}

/* Batch normalisation at inference of [N, C] and [N, C, H, W], and of sizes with tails. */
Test(normalize, batch_norm) {
    static const int64_t sizes[][4] = {
        {1, 1, 1, 1},     {5, 7, 1, 1},     {64, 33, 1, 1},  {2, 3, 4, 5},   {3, 17, 1, 9},
        {1, 2, 63, 65},   {4, 5, 16, 16},   {2, 1, 1, 1},    {2, 300, 2, 2}, {1, 3, 200, 200},
        {2000, 70, 1, 1}, {1, 70001, 1, 1}, {3, 40000, 1, 1}};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < (small ? 8 : sizeof sizes / sizeof sizes[0]); i++) {
            if (!in_turn(d + (int)i)) continue;
            for (int flags = 0; flags < 8; flags += 1 + (int)(i % 2)) {
                const int64_t *s = sizes[i];
                tdm_dtype dtype = float_dtypes[d];
                bool flat = s[2] * s[3] == 1;
                check_case("%s batch_norm %lldx%lldx%lldx%lld weight %d bias %d in place %d",
                           tdm_dtype_name(dtype), (long long)s[0], (long long)s[1], (long long)s[2],
                           (long long)s[3], flags & 1, flags >> 1 & 1, flags >> 2);
                array *x = array_new(dtype, flat ? 2 : 4, s, NULL);
                array *y = flags & 4 ? x : array_new(dtype, flat ? 2 : 4, s, NULL);
                array *mean = array_1d(dtype, s[1]), *variance = array_1d(dtype, s[1]);
                array *weight = flags & 1 ? array_1d(dtype, s[1]) : NULL;
                array *bias = flags & 2 ? array_1d(dtype, s[1]) : NULL;
                array_uniform(x, -3.0, 3.0);
                array_uniform(mean, -1.0, 1.0);
                array_uniform(variance, 0.1, 2.0);
                if (weight) array_uniform(weight, -2.0, 2.0);
                if (bias) array_uniform(bias, -1.0, 1.0);
                ref_channels channels = {mean->v, variance->v, weight ? weight->v : NULL,
                                         bias ? bias->v : NULL, 1e-3};
                double *want = numbers(x->count), *bound = numbers(x->count);
                ref_batch_norm(dtype, s[0], s[1], s[2] * s[3], x->v, &channels, want, bound);
                OK(tdm_batch_norm(queue, &x->t, &mean->t, &variance->t, weight ? &weight->t : NULL,
                                  bias ? &bias->t : NULL, 1e-3, &y->t));
                ARRAY_CHECK(y, want, bound);
                ARRAY_SAME(mean);
                ARRAY_SAME(variance);
                array_free_all();
            }
        }
    }
}

/* Rows whose squares overflow or underflow normalise as well as any; below epsilon they are
 * divided by it; zeros stay zeros. */
Test(normalize, l2_normalize) {
    static const double scales[] = {1.0, 1e30, 1e-25, 0.0, 1e-13};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < shape_count(); i++) {
            if (!in_turn(d + (int)i)) continue;
            for (int k = 0; k < 5; k++) {
                tdm_dtype dtype = float_dtypes[d];
                double scale = dtype == TDM_F16 && k > 0 ? (k == 1 ? 6e4 : scales[k]) : scales[k];
                double epsilon = k == 2 ? 0.0 : 1e-12;
                if (dtype == TDM_F64 && k == 1) scale = 1e200;
                int64_t rows = shapes[i][0], cols = shapes[i][1];
                /* 0 / 0 is NaN: with an epsilon of 0 every row must have something. */
                if (dtype == TDM_F16 && k == 2) continue;
                check_case("%s l2_normalize %lldx%lld of size %g, epsilon %g",
                           tdm_dtype_name(dtype), (long long)rows, (long long)cols, scale, epsilon);
                array *x = array_2d(dtype, rows, cols, cols + shapes[i][2]);
                array *y = output(x, k % 2);
                for (int64_t j = 0; j < x->count; j++)
                    x->v[j] = scale * random_uniform(0.5, 1.0) * (random_bits() & 1 ? 1.0 : -1.0);
                array_set(x, x->v);
                double *want = numbers(x->count), *bound = numbers(x->count);
                ref_l2_normalize(dtype, rows, cols, x->v, epsilon, want, bound);
                OK(tdm_l2_normalize(queue, &x->t, epsilon, &y->t));
                bool right = ARRAY_CHECK(y, want, bound);
                array_free_all();
                if (!right) break;
            }
        }
    }
}

/* Every row length; arguments that overflow exp; one element much larger than the rest; -Inf. */
Test(normalize, softmax) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < shape_count(); i++) {
            if (!in_turn(d + (int)i)) continue;
            for (int k = 0; k < 4; k++) {
                tdm_dtype dtype = float_dtypes[d];
                int64_t rows = shapes[i][0], cols = shapes[i][1];
                check_case("%s softmax %lldx%lld kind %d", tdm_dtype_name(dtype), (long long)rows,
                           (long long)cols, k);
                array *x = array_2d(dtype, rows, cols, cols + shapes[i][2]);
                array *y = output(x, k & 1);
                double range = k == 1 ? 1000.0 : k == 2 ? 30000.0 : 3.0;
                for (int64_t j = 0; j < x->count; j++) {
                    x->v[j] = random_uniform(-range, range);
                    /* Masked attention: some are -Inf, never the whole row. */
                    if (k == 3 && j % cols != 0 && j % 3 == 0) x->v[j] = -(double)INFINITY;
                }
                array_set(x, x->v);
                double *want = numbers(x->count), *bound = numbers(x->count);
                ref_softmax(dtype, rows, cols, x->v, want, bound);
                OK(tdm_softmax(queue, &x->t, &y->t));
                bool right = ARRAY_CHECK(y, want, bound);
                array_free_all();
                if (!right) break;
            }
        }
    }
}

/* Rows that a device cuts into chunks: chunks of -Inf alone, the largest element in any of them, rows with gaps,
 * and in place. */
Test(normalize, softmax_of_few_long_rows) {
    static const int64_t extents[][2] = {{1, 17000}, {2, 20003}, {1, 140000}, {3, 66666}};
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        for (int i = 0; i < (small ? 2 : 4); i++) {
            const int64_t rows = extents[i][0], cols = extents[i][1];
            for (int k = 0; k < 4; k++) {
                check_case("%s softmax %lldx%lld kind %d", tdm_dtype_name(dtype), (long long)rows,
                           (long long)cols, k);
                array *x = array_2d(dtype, rows, cols, cols + (k == 1 ? 8 : 0));
                array *y = output(x, k == 2);
                for (int64_t j = 0; j < x->count; j++) {
                    const bool masked = k == 3 && (j % cols < cols / 2 || j % cols > cols * 3 / 4);
                    x->v[j] = masked ? -(double)INFINITY : random_uniform(-20, 20);
                }
                if (k < 3) x->v[random_integer(0, x->count - 1)] = 100;
                array_set(x, x->v);
                double *want = numbers(x->count), *bound = numbers(x->count);
                ref_softmax(dtype, rows, cols, x->v, want, bound);
                OK(tdm_softmax(queue, &x->t, &y->t));
                const bool right = ARRAY_CHECK(y, want, bound);
                array_free_all();
                if (!right) return;
            }
        }
    }
}

/* Rows that rise all the way, so that each element is the largest so far: so slowly that exp of a step is 1,
 * as many steps are not, and so fast that what came before is next to nothing. */
Test(normalize, softmax_of_rising_rows) {
    int64_t cols = simulator ? 6000 : small ? 20000 : 1 << 20;
    for (int d = 0; d < float_dtype_count; d++) {
        tdm_dtype dtype = float_dtypes[d];
        const double steps[] = {dtype == TDM_F64 ? 0x1p-64 : 0x1p-35, 0x1p-12, 0.5};
        for (int k = dtype_eps(dtype) > 1e-6 ? 1 : 0; k < 3; k++) {
            check_case("%s softmax of a row that rises by %g", tdm_dtype_name(dtype), steps[k]);
            array *x = array_1d(dtype, cols), *y = array_1d(dtype, cols);
            for (int64_t j = 0; j < cols; j++)
                x->v[j] = fmin(steps[k] * (double)j, 60000.0);
            array_set(x, x->v);
            double *want = numbers(cols), *bound = numbers(cols);
            ref_softmax(dtype, 1, cols, x->v, want, bound);
            OK(tdm_softmax(queue, &x->t, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* NaN and Inf in one row: that row is NaN as the formula says, on every device alike, and the rows
 * beside it are untouched by it. */
Test(normalize, nan_and_infinity) {
    static const int64_t lengths[] = {2, 64, 1000, 70000};
    for (int d = 0; d < float_dtype_count; d++) {
        for (int l = 0; l < (small ? 3 : 4); l++) {
            tdm_dtype dtype = float_dtypes[d];
            int64_t cols = lengths[l], count = 4 * cols;
            array *x = array_2d(dtype, 4, cols, cols), *y = array_2d(dtype, 4, cols, cols);
            for (int64_t i = 0; i < count; i++)
                x->v[i] = random_uniform(-2.0, 2.0);
            x->v[cols + random_integer(0, cols - 1)] = (double)NAN;
            x->v[3 * cols - 1] = (double)INFINITY;
            array_set(x, x->v);
            double *want = numbers(count), *bound = numbers(count), *sum = numbers(count);
            check_case("%s layer_norm with NaN and Inf, %lld columns", tdm_dtype_name(dtype),
                       (long long)cols);
            ref_layer_norm(dtype, 4, cols, x->v, NULL, NULL, 1e-5, want, bound);
            OK(tdm_layer_norm(queue, &x->t, NULL, NULL, 1e-5, &y->t));
            ARRAY_CHECK(y, want, bound);
            check_case("%s rms_norm with NaN and Inf, %lld columns", tdm_dtype_name(dtype),
                       (long long)cols);
            ref_rms_norm(dtype, 4, cols, x->v, NULL, NULL, 1e-6, sum, want, bound);
            OK(tdm_rms_norm(queue, &x->t, NULL, NULL, 1e-6, NULL, &y->t));
            ARRAY_CHECK(y, want, bound);
            check_case("%s softmax with NaN and Inf, %lld columns", tdm_dtype_name(dtype),
                       (long long)cols);
            ref_softmax(dtype, 4, cols, x->v, want, bound);
            OK(tdm_softmax(queue, &x->t, &y->t));
            ARRAY_CHECK(y, want, bound);
            check_case("%s l2_normalize with NaN and Inf, %lld columns", tdm_dtype_name(dtype),
                       (long long)cols);
            ref_l2_normalize(dtype, 4, cols, x->v, 1e-12, want, bound);
            OK(tdm_l2_normalize(queue, &x->t, 1e-12, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* Zero-size inputs succeed and touch nothing (they crash somebody's backends). */
Test(normalize, zero_dimensions) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < 3; i++) {
            int64_t rows = i == 0 ? 0 : 3, cols = i == 1 ? 0 : rows ? 0 : 4;
            check_case("%s %lldx%lld", tdm_dtype_name(float_dtypes[d]), (long long)rows,
                       (long long)cols);
            array *x = array_2d(float_dtypes[d], rows, cols, 4);
            array *w = array_1d(float_dtypes[d], cols);
            OK(tdm_layer_norm(queue, &x->t, &w->t, &w->t, 1e-5, &x->t));
            OK(tdm_layer_norm_residual(queue, &x->t, &x->t, &w->t, &w->t, 1e-5, NULL, &x->t));
            OK(tdm_rms_norm(queue, &x->t, NULL, &w->t, 1e-5, NULL, &x->t));
            OK(tdm_batch_norm(queue, &x->t, &w->t, &w->t, NULL, NULL, 1e-5, &x->t));
            OK(tdm_l2_normalize(queue, &x->t, 1e-5, &x->t));
            OK(tdm_softmax(queue, &x->t, &x->t));
            ARRAY_SAME(x);
            ARRAY_SAME(w);
            array_free_all();
        }
    }
}
