/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Where extremes are, dot products, and what reductions refuse. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/reduced.h"

TestSuite(reduce_places, .init = device_open, .fini = device_close);

/* Few values, so that the largest come several times. */
static void set_with_ties(array *x) {
    const bool is_bool = x->t.dtype == TDM_BOOL;
    array_integers(x, 0, is_bool ? 1 : 6);
}

/* Every dtype, along memory and in columns, short and long, with both kinds of indices. */
Test(reduce_places, shapes, TAGS("lanes few")) {
    static const int64_t shapes[][4] = {
        {1, 1, 1, 0},     {3, 64, 5, 1},   {3, 64, 5, 2},    {3, 64, 5, 0},    {2, 1, 7, 1},
        {65, 1030, 1, 0}, {1, 700, 33, 1}, {4, 20000, 1, 1}, {1, 60000, 3, 1}, {2, 2, 70000, 2}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes - (small ? 3 : 0); s++)
            for (int smallest = 0; smallest < 2; smallest++) {
                if (!is_wanted((tdm_dtype)d) || !in_turn(d + (int)s + smallest)) continue;
                array *x = array_new((tdm_dtype)d, 3, shapes[s], NULL);
                set_with_ties(x);
                const tdm_dtype indices = random_integer(0, 1) ? TDM_I32 : TDM_I64;
                const layout how = (layout)random_integer(WITHOUT_DIMS, WITH_GAPS);
                const bool right = place_case(smallest, x, (int)shapes[s][3], indices, how);
                array_free_all();
                if (!right) return;
            }
}

/* Along each dimension of tensors of any strides. */
Test(reduce_places, strides) {
    static const int64_t shape[] = {3, 4, 5, 6};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int i = 0; i < 16; i++) {
            if (!is_wanted((tdm_dtype)d) || !in_turn(d + i)) continue;
            array *x = array_any_strides((tdm_dtype)d, 4, shape, false);
            set_with_ties(x);
            const bool right = place_case(i % 2, x, i % 4, TDM_I32, WITH_GAPS);
            array_free_all();
            if (!right) return;
        }
}

/* The first NaN, whichever its sign is; -0 is 0; infinities; the same in each part of what is cut. */
Test(reduce_places, nan_and_zero) {
    static const int64_t lengths[] = {6, 200, 30000};
    for (int d = 0; d < float_dtype_count; d++)
        for (int l = 0; l < (small ? 2 : 3); l++)
            for (int in_columns = 0; in_columns < 2; in_columns++) {
                enum { GROUPS = 5 };
                const int64_t n = lengths[l], first = n / 3, second = n - 2;
                const int64_t step = in_columns ? GROUPS : 1;
                array *x = in_columns ? array_2d(float_dtypes[d], n, GROUPS, GROUPS)
                                      : array_2d(float_dtypes[d], GROUPS, n, n);
                for (int g = 0; g < GROUPS; g++) {
                    double *v = x->v + (in_columns ? g : g * n);
                    for (int64_t i = 0; i < n; i++)
                        v[i * step] = g == 2 ? (i % 2 ? 0.0 : -0.0) : random_uniform(-1.0, 1.0);
                    if (g < 2) v[first * step] = g ? -(double)NAN : (double)NAN;
                    if (g < 2) v[second * step] = g ? (double)NAN : (double)INFINITY;
                    if (g == 3) v[first * step] = v[second * step] = (double)INFINITY;
                    if (g == 4) v[first * step] = v[second * step] = -(double)INFINITY;
                }
                array_set(x, x->v);
                place_case(false, x, in_columns ? 0 : 1, TDM_I32, WITHOUT_DIMS);
                place_case(true, x, in_columns ? 0 : 1, TDM_I64, WITHOUT_DIMS);
                array_free_all();
            }
}

/* Rows of the least value that there is have a place, too. */
Test(reduce_places, lowest_values) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const tdm_dtype dtype = (tdm_dtype)d;
        if (!is_wanted(dtype)) continue;
        array *x = array_2d(dtype, 40, 50, 50);
        const bool is_float = dtype_is_float(dtype);
        array_constant(x, is_float ? -(double)INFINITY : dtype == TDM_I64 ? -0x1p63 : -1e10);
        place_case(false, x, 0, TDM_I32, WITHOUT_DIMS);
        place_case(false, x, 1, TDM_I32, WITHOUT_DIMS);
        array_constant(x, is_float ? (double)INFINITY : 0x1p64);
        place_case(true, x, 0, TDM_I32, WITHOUT_DIMS);
        place_case(true, x, 1, TDM_I32, WITHOUT_DIMS);
        array_free_all();
    }
}

/* Into f32, and of a tensor with itself; the rest is in operations.c. */
Test(reduce_places, dot, TAGS("lanes")) {
    static const int64_t lengths[] = {1, 63, 1000, 4097, 300001};
    for (int d = 0; d < float_dtype_count; d++)
        for (int l = 0; l < (small ? 4 : 5); l++) {
            const tdm_dtype dtype = float_dtypes[d], out = dtype == TDM_F64 ? TDM_F64 : TDM_F32;
            const int64_t n = lengths[l];
            array *a = array_1d(dtype, n), *b = array_1d(dtype, n);
            const double size = n > 50000 && dtype == TDM_F16 ? 0.1 : 2.0;
            array_uniform(a, -size, size);
            array_uniform(b, -size, size);
            for (int own = 0; own < 2; own++) {
                const array *other = own ? a : b;
                array *y = array_1d(own ? dtype : out, 1);
                double bound, want = ref_dot(dtype, y->t.dtype, n, a->v, other->v, &bound);
                check_case("dot of %lld %s into %s, own %d", (long long)n, tdm_dtype_name(dtype),
                           tdm_dtype_name(y->t.dtype), own);
                OK(tdm_dot(queue, &a->t, &other->t, &y->t));
                ARRAY_CHECK(y, &want, &bound);
            }
            array_free_all();
        }
}

/* Elements that strides of 0 repeat, in any of the dimensions. */
Test(reduce_places, repeated, TAGS("lanes")) {
    static const int64_t shape[] = {3, 4, 70, 6};
    static const tdm_dtype some[] = {TDM_F32, TDM_BF16, TDM_I32, TDM_U8};
    for (size_t d = 0; d < sizeof some / sizeof *some; d++)
        for (int i = 0; i < (small ? 2 : 8) * REF_REDUCTIONS; i++) {
            const ref_reduction what = (ref_reduction)(i % REF_REDUCTIONS);
            if (!is_chosen(some[d]) || !reduction_takes(what, some[d])) continue;
            array *x = array_any_strides(some[d], 4, shape, true);
            const unsigned dims = (unsigned)random_integer(1, 15);
            if (what == REF_PRODUCT)
                array_integers(x, 0, 1); /* others overflow */
            else
                set_with_ties(x);
            const bool right =
                reduce_case(what, x, dims, reduced_dtype(what, some[d]), WITH_GAPS, 0.0) &&
                place_case(i % 2, x, (int)random_integer(0, 3), TDM_I32, WITH_GAPS);
            array_free_all();
            if (!right) return;
        }
}

/* Repeated elements are read where they are: no copy is made. */
Test(reduce_places, repeated_in_no_memory) {
    enum { ROWS = 2048, COLS = 1024 };
    if (getenv("TANDEM_VERIFY")) {
        check_skip("its reference takes memory");
        return;
    }
    array *row = array_2d(TDM_F32, 1, COLS, COLS), *sums = array_1d(TDM_F32, COLS);
    array *norms = array_1d(TDM_F32, ROWS), *places = array_1d(TDM_I32, COLS);
    tdm_tensor x;
    array_constant(row, 1);
    OK(tdm_tensor_broadcast(&row->t, 2, (int64_t[]){ROWS, COLS}, &x));
    const tdm_memory_stats before = memory_now(device);
    OK(tdm_sum(queue, &x, (int[]){0}, 1, &sums->t));
    OK(tdm_row_norm(queue, TDM_NORM_L1, &x, &norms->t));
    OK(tdm_argmax(queue, &x, 0, &places->t));
    const tdm_memory_stats after = memory_now(device);
    CHECK(after.peak - before.in_use < (uint64_t)ROWS * COLS, "%llu bytes more were in use",
          (unsigned long long)(after.peak - before.in_use));
    ARRAY_CHECK(norms, numbers_of(ROWS, COLS), NULL);
    ARRAY_CHECK(sums, numbers_of(COLS, ROWS), NULL);
    array_free_all();
}

Test(reduce_places, refusals) {
    array *x = array_2d(TDM_F32, 3, 4, 4), *three = array_1d(TDM_F32, 3);
    array *four = array_1d(TDM_F32, 4), *one = array_1d(TDM_F32, 1), *half = array_1d(TDM_F16, 3);
    array *whole = array_2d(TDM_I32, 3, 4, 4), *sums = array_1d(TDM_I64, 3);
    array *kept = array_2d(TDM_F32, 3, 1, 1), *truths = array_1d(TDM_BOOL, 3);
    array *places = array_1d(TDM_I32, 3), *none = array_2d(TDM_F32, 3, 0, 1);
    array_uniform(x, -1, 1);
    array_constant(whole, 2);
    const int last[] = {1}, outside[] = {2}, negative[] = {-3}, twice[] = {1, 1};
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, dtype = TDM_ERROR_INVALID_DTYPE,
                     shape = TDM_ERROR_INVALID_SHAPE;
    check_case("dims");
    REFUSED(tdm_sum(queue, &x->t, outside, 1, &three->t), argument, "tdm_sum|dims[0]|2|-2 to 1");
    REFUSED(tdm_sum(queue, &x->t, negative, 1, &three->t), argument, "dims[0]|-3");
    REFUSED(tdm_sum(queue, &x->t, twice, 2, &three->t), argument, "dims[1] repeats dimension 1");
    REFUSED(tdm_sum(queue, &x->t, NULL, 1, &three->t), argument, "dims is NULL|1");
    REFUSED(tdm_sum(queue, &x->t, last, 0, &one->t), argument, "count is 0|NULL");
    REFUSED(tdm_argmax(queue, &x->t, 2, &places->t), argument, "tdm_argmax|dim is 2|-2 to 1");
    check_case("shapes");
    REFUSED(tdm_sum(queue, &x->t, last, 1, &four->t), shape, "y|[4]|[3]|[3, 1]");
    REFUSED(tdm_mean(queue, &x->t, NULL, 0, &three->t), shape, "y|[3]|one element");
    REFUSED(tdm_argmin(queue, &x->t, 0, &places->t), shape, "indices|[3]|[4]");
    REFUSED(tdm_argmin(queue, &none->t, 1, &places->t), shape, "no elements");
    REFUSED(tdm_dot(queue, &x->t, &three->t, &one->t), shape, "a|b|[3, 4]|[3]");
    check_case("dtypes");
    REFUSED(tdm_sum(queue, &x->t, last, 1, &half->t), dtype, "y|f16|f32");
    REFUSED(tdm_sum(queue, &whole->t, last, 1, &three->t), dtype, "y|f32|i32|i64 or u64");
    REFUSED(tdm_norm_over(queue, TDM_NORM_INF, &whole->t, last, 1, &sums->t), dtype, "x|i32");
    REFUSED(tdm_max(queue, &x->t, last, 1, &half->t), dtype, "y|f16|f32");
    REFUSED(tdm_any(queue, &x->t, last, 1, &three->t), dtype, "y|f32|bool");
    REFUSED(tdm_argmax(queue, &x->t, 1, &three->t), dtype, "indices|f32|i32|i64");
    check_case("the rest");
    REFUSED(tdm_norm_over(queue, (tdm_norm_kind)9, &x->t, last, 1, &three->t), argument, "kind|9");
    tdm_tensor inside = tdm_tensor_1d(x->t.buffer, TDM_F32, 3);
    inside.offset = x->t.offset;
    REFUSED(tdm_sum(queue, &x->t, last, 1, &inside), TDM_ERROR_OVERLAP, "y|x");
    ARRAY_SAME(three);
    ARRAY_SAME(places);
    ARRAY_SAME(truths);
    ARRAY_SAME(x);
    check_case("a variance of as many as the correction");
    array *row = array_2d(TDM_F32, 3, 1, 1);
    array_constant(row, 1);
    const double nan[] = {(double)NAN, (double)NAN, (double)NAN};
    OK(tdm_variance(queue, &row->t, last, 1, 1, &kept->t));
    ARRAY_CHECK(kept, nan, NULL);
    array_free_all();
}
