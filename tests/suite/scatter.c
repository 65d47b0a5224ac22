/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows added to those that indices name. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/array.h"

TestSuite(scatter, .init = device_open, .fini = device_close, TAGS("lanes"));

/* Sums in float64, with a bound for those in the arithmetic of the dtype, which are rounded once. */
static void add_up(const array *source, const array *indices, const array *y, int64_t cols,
                   double *want, double *bound) {
    const tdm_dtype dtype = y->t.dtype;
    double *sizes = numbers(y->count), *terms = numbers(y->count);
    for (int64_t i = 0; i < y->count; i++) {
        want[i] = y->v[i];
        sizes[i] = fabs(y->v[i]);
        terms[i] = 1;
    }
    for (int64_t i = 0; i < source->count; i++) {
        const double index = indices->v[i / cols];
        if (!(index >= 0 && index < (double)(y->count / cols))) continue;
        const int64_t at = (int64_t)index * cols + i % cols;
        want[at] += source->v[i];
        sizes[at] += fabs(source->v[i]);
        terms[at]++;
    }
    for (int64_t i = 0; i < y->count; i++) {
        const double error = (terms[i] - 1) * compute_eps(dtype) / 2 * sizes[i];
        bound[i] = terms[i] == 1 ? 0.0 : error + half_ulp(dtype, fabs(want[i]) + error);
    }
}

static bool scatter_case(tdm_dtype dtype, tdm_dtype index_dtype, int64_t n, int64_t count,
                         int64_t cols, int64_t gap, bool few) {
    check_case("%s of %lld rows of %lld, gap %lld, to %lld by %s, few %d", tdm_dtype_name(dtype),
               (long long)count, (long long)cols, (long long)gap, (long long)n,
               tdm_dtype_name(index_dtype), few);
    array *source = array_2d(dtype, count, cols, cols + gap),
          *y = array_2d(dtype, n, cols, cols + gap);
    array *indices = array_1d(index_dtype, count);
    array_uniform(source, -2.0, 2.0);
    array_uniform(y, -2.0, 2.0);
    array_indices(indices, n, few && n > 2 ? 2 : n);
    double *want = numbers(y->count), *bound = numbers(y->count);
    add_up(source, indices, y, cols, want, bound);
    bool right = OK(tdm_scatter_add_rows(queue, &source->t, &indices->t, &y->t)) &&
                 ARRAY_CHECK(y, want, bound);
    right = ARRAY_SAME(source) && right;
    right = ARRAY_SAME(indices) && right;
    array_free_all();
    return right;
}

Test(scatter, rows, TAGS("few")) {
    static const int64_t extents[][4] = {/* rows of y, indices, columns, gap */
                                         {1, 1, 1, 0},        {10, 33, 1, 0},    {7, 20, 5, 2},
                                         {50, 90, 64, 0},     {9, 40, 257, 1},   {300, 1000, 33, 0},
                                         {40, 9000, 7, 1},    {70, 100, 131, 0}, {3, 5, 20000, 0},
                                         {5000, 3000, 16, 0}, {5000, 9000, 3, 1}};
    for (int d = 0; d < float_dtype_count; d++)
        for (int k = 0; k < 4; k++)
            for (size_t i = 0; i < sizeof extents / sizeof *extents - (small ? 3 : 0); i++)
                if (in_turn(d + k + (int)i) &&
                    !scatter_case(float_dtypes[d], k & 1 ? TDM_I64 : TDM_I32, extents[i][0],
                                  extents[i][1], extents[i][2], extents[i][3], k & 2))
                    return;
}

/* The order is that of the source: 1 is lost when added to 2^30 in f32, but not after its opposite. */
Test(scatter, order) {
    const double v[] = {0x1p30, 1.0, -0x1p30, 1.0, NAN, 2.0}, want[] = {1.0, NAN, 0.0};
    array *source = array_2d(TDM_F32, 6, 1, 1), *y = array_2d(TDM_F32, 3, 1, 1);
    array *indices = array_1d(TDM_I32, 6);
    check_case("the order of the source");
    array_set(source, v);
    array_constant(y, 0.0);
    array_set(indices, (const double[]){0, 0, 0, 0, 1, 1});
    OK(tdm_scatter_add_rows(queue, &source->t, &indices->t, &y->t));
    ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

/* One or two rows to each of y's, in the order of the source, and none: sums of up to three terms are rounded once, so
 * that 16-bit ones are those of f32. */
Test(scatter, few_to_each) {
    const int64_t n = 600, cols = 45;
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        check_case("%s of one or two rows to each", tdm_dtype_name(dtype));
        array *source = array_2d(dtype, n, cols, cols), *y = array_2d(dtype, n, cols, cols + 3);
        array *indices = array_1d(TDM_I32, n);
        array_uniform(source, -2.0, 2.0);
        array_uniform(y, -2.0, 2.0);
        for (int64_t i = 0; i < n; i++)
            indices->v[i] = (double)(i < 400 ? (n - 1 - i) : (n - 1) - (i - 400) * 2);
        array_set(indices, indices->v);
        double *want = numbers(y->count);
        for (int64_t i = 0; i < y->count; i++)
            want[i] = y->v[i];
        for (int64_t i = 0; i < source->count; i++) {
            const int64_t at = (int64_t)indices->v[i / cols] * cols + i % cols;
            want[at] = dtype == TDM_F64 ? want[at] + source->v[i]
                                        : (double)((float)want[at] + (float)source->v[i]);
        }
        for (int64_t i = 0; i < y->count; i++)
            want[i] = rounded(dtype, want[i]);
        OK(tdm_scatter_add_rows(queue, &source->t, &indices->t, &y->t));
        ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}

/* Indices of two dimensions that are far apart, rows of two. */
Test(scatter, dimensions) {
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const int64_t shape[] = {2, 5, 3, 4}, y_shape[] = {6, 3, 4}, strides[] = {10, 2};
        check_case("%s of [2, 5, 3, 4] to [6, 3, 4]", tdm_dtype_name(dtype));
        array *source = array_new(dtype, 4, shape, NULL), *y = array_new(dtype, 3, y_shape, NULL);
        array *indices = array_new(TDM_I64, 2, shape, strides);
        array_uniform(source, -3.0, 3.0);
        array_uniform(y, -3.0, 3.0);
        array_indices(indices, 6, 6);
        double *want = numbers(y->count), *bound = numbers(y->count);
        add_up(source, indices, y, 12, want, bound);
        OK(tdm_scatter_add_rows(queue, &source->t, &indices->t, &y->t));
        ARRAY_CHECK(y, want, bound);
        array_free_all();
    }
}

Test(scatter, refusals) {
    array *source = array_2d(TDM_F32, 3, 6, 6), *y = array_2d(TDM_F32, 4, 6, 6);
    array *indices = array_1d(TDM_I32, 3), *floats = array_1d(TDM_F32, 3);
    array *half = array_2d(TDM_F16, 4, 6, 6), *wrong = array_2d(TDM_F32, 4, 5, 5);
    array *integers = array_2d(TDM_I32, 3, 6, 6), *none = array_2d(TDM_F32, 0, 6, 6);
    array_constant(indices, 2);
    const tdm_status dtype = TDM_ERROR_INVALID_DTYPE, shape = TDM_ERROR_INVALID_SHAPE;
    REFUSED(tdm_scatter_add_rows(queue, &source->t, &floats->t, &y->t), dtype, "indices|f32|i32");
    REFUSED(tdm_scatter_add_rows(queue, &source->t, &indices->t, &half->t), dtype, "y|f16|f32");
    REFUSED(tdm_scatter_add_rows(queue, &integers->t, &indices->t, &y->t), dtype, "source|i32");
    REFUSED(tdm_scatter_add_rows(queue, &source->t, &indices->t, &wrong->t), shape,
            "source|[3, 6]|[3, 5]");
    REFUSED(tdm_scatter_add_rows(queue, &source->t, &indices->t, &source->t), TDM_ERROR_OVERLAP,
            "y|source");
    OK(tdm_scatter_add_rows(queue, &source->t, &indices->t, &none->t));
    ARRAY_SAME(y);
    ARRAY_SAME(none);
    array_free_all();
}
