/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows that indices name: gather_rows and one_hot. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/array.h"

TestSuite(gather, .init = device_open, .fini = device_close, TAGS("device lanes"));

static const tdm_dtype index_dtypes[2] = {TDM_I32, TDM_I64};

/* The rows of `cols` elements that the indices choose; for an index outside the table NaN, or 0 of integers. */
static double *rows_of(const array *table, const array *indices, int64_t cols) {
    double *want = numbers(indices->count * cols);
    for (int64_t i = 0; i < indices->count * cols; i++) {
        const double index = indices->v[i / cols];
        const bool inside = index >= 0 && index < (double)table->t.shape[0];
        want[i] = inside                           ? table->v[(int64_t)index * cols + i % cols]
                  : dtype_is_float(table->t.dtype) ? NAN
                                                   : 0.0;
    }
    return want;
}

static bool gather_case(tdm_dtype dtype, tdm_dtype index_dtype, int64_t n, int64_t count,
                        int64_t cols, int64_t gap) {
    check_case("%s of %lld rows of %lld, gap %lld, by %lld indices in %s", tdm_dtype_name(dtype),
               (long long)n, (long long)cols, (long long)gap, (long long)count,
               tdm_dtype_name(index_dtype));
    array *table = array_2d(dtype, n, cols, cols + gap);
    array *indices = array_1d(index_dtype, count), *y = array_2d(dtype, count, cols, cols + gap);
    array_integers(table, 0, 100);
    array_indices(indices, n, n);
    bool right = OK(tdm_gather_rows(queue, &table->t, &indices->t, &y->t)) &&
                 ARRAY_CHECK(y, rows_of(table, indices, cols), NULL);
    right = ARRAY_SAME(table) && right;
    right = ARRAY_SAME(indices) && right;
    array_free_all();
    return right;
}

/* Every dtype, by both kinds of indices; aligned rows and others; long rows, which are cut; a table without rows. */
Test(gather, rows, TAGS("few")) {
    static const int64_t extents[][4] = {/* rows of the table, indices, columns, gap */
                                         {1, 1, 1, 0},    {10, 33, 1, 0},     {7, 20, 5, 2},
                                         {50, 90, 64, 0}, {9, 40, 257, 1},    {3, 2, 30000, 0},
                                         {0, 5, 8, 0},    {2000, 3000, 16, 0}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < sizeof extents / sizeof *extents - (small ? 1 : 0); i++)
                if (is_wanted((tdm_dtype)d) && in_turn(d + k + (int)i) &&
                    !gather_case((tdm_dtype)d, index_dtypes[k], extents[i][0], extents[i][1],
                                 extents[i][2], extents[i][3]))
                    return;
}

/* Indices of two dimensions with a gap, a table of three, y's rows from among others'. */
Test(gather, dimensions) {
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const int64_t table_shape[] = {6, 3, 4}, y_shape[] = {2, 5, 3, 4};
        const int64_t y_strides[] = {100, 20, 4, 1}, index_strides[] = {10, 2};
        check_case("%s of [6, 3, 4] by [2, 5]", tdm_dtype_name(dtype));
        array *table = array_new(dtype, 3, table_shape, NULL);
        array *indices = array_new(TDM_I32, 2, y_shape, index_strides);
        array *y = array_new(dtype, 4, y_shape, y_strides);
        array_uniform(table, -3.0, 3.0);
        array_indices(indices, 6, 6);
        OK(tdm_gather_rows(queue, &table->t, &indices->t, &y->t));
        ARRAY_CHECK(y, rows_of(table, indices, 12), NULL);
        array_free_all();
    }
}

Test(gather, one_hot) {
    static const int64_t extents[][3] = {/* indices, columns, gap */
                                         {1, 1, 0},
                                         {5, 3, 0},
                                         {40, 64, 0},
                                         {33, 257, 3},
                                         {2, 40000, 0}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int k = 0; k < 2; k++)
            for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
                if (!is_wanted((tdm_dtype)d) || !in_turn(d + k + (int)e)) continue;
                const int64_t count = extents[e][0], cols = extents[e][1];
                check_case("one_hot of %lld %s in %s [%lld], gap %lld", (long long)count,
                           tdm_dtype_name(index_dtypes[k]), tdm_dtype_name((tdm_dtype)d),
                           (long long)cols, (long long)extents[e][2]);
                array *indices = array_1d(index_dtypes[k], count);
                array *y = array_2d((tdm_dtype)d, count, cols, cols + extents[e][2]);
                array_indices(indices, cols, cols);
                double *want = numbers(y->count);
                for (int64_t i = 0; i < y->count; i++)
                    want[i] = (double)(i % cols) == indices->v[i / cols];
                bool right =
                    OK(tdm_one_hot(queue, &indices->t, &y->t)) && ARRAY_CHECK(y, want, NULL);
                right = ARRAY_SAME(indices) && right;
                array_free_all();
                if (!right) return;
            }
}

/* Nothing to do succeeds and writes nothing. */
Test(gather, zero_dimensions) {
    array *table = array_2d(TDM_F32, 4, 0, 4), *none = array_1d(TDM_I32, 0);
    array *y = array_2d(TDM_F32, 3, 0, 4), *indices = array_1d(TDM_I32, 3);
    array *rows = array_2d(TDM_F32, 4, 4, 4), *y_none = array_2d(TDM_F32, 0, 4, 4);
    array_constant(indices, 1);
    OK(tdm_gather_rows(queue, &table->t, &indices->t, &y->t));
    OK(tdm_gather_rows(queue, &rows->t, &none->t, &y_none->t));
    OK(tdm_one_hot(queue, &none->t, &y_none->t));
    OK(tdm_one_hot(queue, &indices->t, &y->t));
    ARRAY_SAME(y);
    ARRAY_SAME(y_none);
    array_free_all();
}

Test(gather, refusals) {
    array *table = array_2d(TDM_F32, 4, 6, 6), *y = array_2d(TDM_F32, 3, 6, 6);
    array *indices = array_1d(TDM_I32, 3), *floats = array_1d(TDM_F32, 3);
    array *half = array_2d(TDM_F16, 3, 6, 6), *wrong = array_2d(TDM_F32, 3, 5, 5);
    array_constant(indices, 2);
    const tdm_status dtype = TDM_ERROR_INVALID_DTYPE, shape = TDM_ERROR_INVALID_SHAPE;
    REFUSED(tdm_gather_rows(queue, &table->t, &floats->t, &y->t), dtype, "indices|f32|i32|i64");
    REFUSED(tdm_gather_rows(queue, &table->t, &indices->t, &half->t), dtype, "y|f16|f32");
    REFUSED(tdm_gather_rows(queue, &table->t, &indices->t, &wrong->t), shape, "y|[3, 5]|[3, 6]");
    REFUSED(tdm_gather_rows(queue, NULL, &indices->t, &y->t), TDM_ERROR_INVALID_ARGUMENT, "table");
    REFUSED(tdm_gather_rows(queue, &y->t, &indices->t, &y->t), TDM_ERROR_OVERLAP, "y|table");
    REFUSED(tdm_one_hot(queue, &floats->t, &y->t), dtype, "indices|f32");
    REFUSED(tdm_one_hot(queue, &indices->t, &floats->t), shape, "y|[3]");
    tdm_tensor turned, turned_y;
    array *square = array_2d(TDM_F32, 3, 3, 4), *y3 = array_2d(TDM_F32, 3, 3, 4);
    OK(tdm_tensor_transpose(&square->t, 0, 1, &turned));
    OK(tdm_tensor_transpose(&y3->t, 0, 1, &turned_y));
    REFUSED(tdm_gather_rows(queue, &turned, &indices->t, &y3->t), TDM_ERROR_UNSUPPORTED,
            "table|stride|tdm_cast");
    REFUSED(tdm_gather_rows(queue, &square->t, &indices->t, &turned_y), TDM_ERROR_UNSUPPORTED,
            "y|stride|tdm_cast");
    REFUSED(tdm_one_hot(queue, &indices->t, &turned_y), TDM_ERROR_UNSUPPORTED, "y|stride");
    array *deep = array_new(TDM_I32, 6, (const int64_t[]){1, 1, 1, 1, 1, 3}, NULL);
    array *cube = array_new(TDM_F32, 3, (const int64_t[]){4, 2, 2}, NULL);
    REFUSED(tdm_gather_rows(queue, &cube->t, &deep->t, &y->t), shape, "y|8|dimensions");
    ARRAY_SAME(y);
    ARRAY_SAME(y3);
    array_free_all();
}
