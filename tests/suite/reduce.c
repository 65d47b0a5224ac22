/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions: sums, means, products, variances, norms, extremes and truths. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/reduced.h"

TestSuite(reduce, .init = device_open, .fini = device_close);

/* Elements of which products stay within every float, and some of which are 0 where that is the question. */
static void set_elements(array *x, ref_reduction what) {
    if (!dtype_is_float(x->t.dtype) && what == REF_PRODUCT) /* which a double has exactly */
        for (int64_t i = 0; i < x->count; i++)
            x->v[i] = random_integer(0, 999) == 0 ? 2 : 1;
    else if (!dtype_is_float(x->t.dtype))
        array_integers(x, what == REF_ALL ? 1 : 0, x->t.dtype == TDM_BOOL ? 1 : 9);
    else if (what == REF_PRODUCT)
        array_uniform(x, 0.98, 1.02);
    else if (x->count > 50000 && x->t.dtype == TDM_F16) /* whose sums end at 65504 */
        array_uniform(x, -0.02, 0.03);
    else
        array_uniform(x, -2.0, 3.0);
    for (int64_t i = 0; what >= REF_ANY && i < x->count; i++)
        if (random_integer(0, 3) > 0) x->v[i] = what == REF_ALL;
    array_set(x, x->v);
}

/* Zeros of both signs are 0, NaN and the least numbers are not, nor is any byte of a bool that is true. */
Test(reduce, count_of_special_values) {
    for (int d = 0; d < float_dtype_count; d++) {
        const double least = fmax(2 * half_ulp(float_dtypes[d], 0), 0x1p-1074);
        const double given[] = {0, -0.0, NAN, INFINITY, least}, want = 3;
        array *x = array_1d(float_dtypes[d], 5), *y = array_1d(TDM_U64, 1);
        array_set(x, given);
        check_case("nonzero elements of %s", tdm_dtype_name(float_dtypes[d]));
        OK(tdm_count_nonzero(queue, &x->t, NULL, 0, &y->t));
        ARRAY_CHECK(y, &want, NULL);
        array_free_all();
    }
    array *bytes = array_1d(TDM_U8, 3), *y = array_1d(TDM_I64, 1);
    array_set(bytes, (const double[]){255, 0, 2});
    tdm_tensor bools = bytes->t;
    bools.dtype = TDM_BOOL;
    OK(tdm_count_nonzero(queue, &bools, NULL, 0, &y->t));
    ARRAY_CHECK(y, (const double[]){2}, NULL);
    REFUSED(tdm_count_nonzero(queue, &bools, NULL, 0, &bools), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_count_nonzero(queue, &y->t, NULL, 0, &bytes->t), TDM_ERROR_INVALID_DTYPE, "y|u8");
    array_free_all();
}

/* Every set of dimensions of a tensor of five, with strides of any kind. */
Test(reduce, every_set_of_dimensions) {
    static const int64_t shape[] = {3, 4, 1, 5, 6};
    for (int d = 0; d < float_dtype_count; d++)
        for (int what = 0; what < REF_REDUCTIONS; what++)
            for (int s = 0; s < 4; s++)
                for (unsigned dims = 1; dims < 32; dims += small ? 5 : 1) {
                    if (!in_turn(d + what + s)) continue;
                    const tdm_dtype dtype = float_dtypes[d];
                    array *x = array_any_strides(dtype, 5, shape, false);
                    set_elements(x, (ref_reduction)what);
                    const layout how = (layout)random_integer(WITHOUT_DIMS, WITH_GAPS);
                    const bool right =
                        reduce_case((ref_reduction)what, x, dims,
                                    reduced_dtype((ref_reduction)what, dtype), how, 1.0);
                    array_free_all();
                    if (!right) return;
                }
}

typedef struct extents {
    int ndim;
    int64_t shape[3];
    unsigned dims;
} extents;

/* Long and short lines, few and many of them, along memory and in columns; what is cut, and what is not. */
static const extents shapes[] = {
    {1, {1}, 1},           {1, {5}, 1},          {1, {4097}, 1},      {2, {3, 64}, 2},
    {2, {3, 65}, 1},       {2, {700, 33}, 2},    {2, {700, 33}, 1},   {2, {65, 1030}, 1},
    {2, {4, 9000}, 2},     {3, {7, 50, 40}, 2},  {3, {7, 50, 40}, 5}, {3, {40, 3, 200}, 5},
    {2, {9000, 5}, 1},     {2, {70000, 3}, 1},   {2, {70000, 3}, 2},  {1, {1000003}, 1},
    {2, {900, 700}, 1},    {2, {900, 700}, 2},   {2, {2, 150000}, 2}, {2, {2, 150000}, 1},
    {3, {2, 90000, 4}, 2}, {3, {300, 2, 900}, 5}};
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL_SHAPES = 13 };

static bool check_shape(int what, tdm_dtype dtype, tdm_dtype to, int s, layout how,
                        double correction) {
    array *x = array_new(dtype, shapes[s].ndim, shapes[s].shape, NULL);
    set_elements(x, (ref_reduction)what);
    const bool right = reduce_case((ref_reduction)what, x, shapes[s].dims, to, how, correction);
    array_free_all();
    return right;
}

static int shape_count(int what) { return small || what == REF_PRODUCT ? SMALL_SHAPES : SHAPES; }

Test(reduce, shapes, TAGS("lanes few kinds")) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int what = 0; what < REF_REDUCTIONS; what++)
            for (int s = 0; s < shape_count(what); s++) {
                const tdm_dtype to = reduced_dtype((ref_reduction)what, float_dtypes[d]);
                if (in_long_turn((d * REF_REDUCTIONS + what) * SHAPES + s) &&
                    !check_shape(what, float_dtypes[d], to, s, s % 2 ? WITH_DIMS : WITH_GAPS, 0.0))
                    return;
            }
}

/* f16 and bf16 into f32: no rounding to the narrow dtype. */
Test(reduce, narrow_into_f32) {
    static const tdm_dtype narrow[] = {TDM_F16, TDM_BF16};
    for (int d = 0; d < 2; d++)
        for (int what = REF_SUM; what <= REF_INF; what++)
            for (int s = 0; s < SMALL_SHAPES; s++)
                if (is_chosen(narrow[d]) && in_turn(d + what + s) &&
                    !check_shape(what, narrow[d], TDM_F32, s, WITHOUT_DIMS, 1.0))
                    return;
}

/* Integers and bools: sums and products, extremes, truths. */
Test(reduce, integers, TAGS("lanes")) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int what = 0; what < REF_REDUCTIONS; what++)
            for (int s = 0; s < shape_count(what); s++) {
                const tdm_dtype dtype = (tdm_dtype)d;
                if (dtype_is_float(dtype) || !reduction_takes((ref_reduction)what, dtype)) continue;
                if (!is_chosen(dtype)) continue;
                const tdm_dtype to = reduced_dtype((ref_reduction)what, dtype);
                if (in_turn(d + what + s) &&
                    !check_shape(what, dtype, to, s, s % 2 ? WITH_DIMS : WITH_GAPS, 0.0))
                    return;
            }
}

/* The least and the most of each integer, negative ones, and sums that wrap. */
Test(reduce, limits_of_integers) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const tdm_dtype dtype = (tdm_dtype)d;
        if (dtype_is_float(dtype) || dtype == TDM_BOOL || !is_chosen(dtype)) continue;
        array *x = array_limits(dtype);
        for (unsigned dims = 1; dims < 4; dims++) {
            reduce_case(REF_MAX, x, dims, dtype, WITHOUT_DIMS, 0);
            reduce_case(REF_MIN, x, dims, dtype, WITHOUT_DIMS, 0);
            if (tdm_dtype_size(dtype) < 8) reduce_case(REF_SUM, x, dims, TDM_I64, WITHOUT_DIMS, 0);
        }
        array_free_all();
    }
    check_case("a sum of u64 modulo 2^64");
    array *x = array_1d(TDM_U64, 3), *y = array_1d(TDM_U64, 1);
    array_set(x, (const double[]){0x1p63, 0x1p63, 5});
    OK(tdm_sum(queue, &x->t, NULL, 0, &y->t));
    ARRAY_CHECK(y, (const double[]){5}, NULL);
    array_free_all();
}

/* Sums of terms that cancel keep the digits that a double would. */
Test(reduce, sums_that_cancel) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int in_columns = 0; in_columns < 2; in_columns++) {
            array *x = array_cancelling(float_dtypes[d], in_columns, small ? 3000 : 300000);
            reduce_case(REF_SUM, x, in_columns ? 1 : 2, float_dtypes[d], WITHOUT_DIMS, 0);
            array_free_all();
        }
}

/* The mean of many short lines changes by less than its last place with each of them. */
Test(reduce, variance_that_drifts) {
    const int64_t shape[] = {small ? 2000 : 250000, 2, 4}, half = shape[0] * 4;
    array *x = array_new(TDM_F32, 3, shape, (const int64_t[]){8, 4, 1});
    for (int64_t i = 0; i < x->count; i++)
        x->v[i] = i % 8 % 4 == 0 && i < 8 ? 0.0 : i < half ? 1.0 : 1.003;
    array_set(x, x->v);
    reduce_case(REF_VARIANCE, x, 5, TDM_F32, WITHOUT_DIMS, 0);
    array_free_all();
}

/* Long sums of ones, and of equal elements that are no binary fractions: errors must not add up. */
Test(reduce, sums_are_accurate) {
    const int64_t n = small ? 20000 : (int64_t)1 << 22;
    array *x = array_1d(TDM_F32, n), *y = array_1d(TDM_F32, 1);
    array_constant(x, 0.1);
    const double want = x->v[0] * (double)n, bound = want * 0x1p-19;
    check_case("%lld times a tenth", (long long)n);
    OK(tdm_sum(queue, &x->t, NULL, 0, &y->t));
    ARRAY_CHECK(y, &want, &bound);
    tdm_tensor columns;
    OK(tdm_tensor_reshape(&x->t, 2, (const int64_t[]){n / 2, 2}, &columns));
    array *two = array_1d(TDM_F32, 2);
    const double halves[] = {want / 2, want / 2}, bounds[] = {bound, bound};
    OK(tdm_sum(queue, &columns, (const int[]){0}, 1, &two->t));
    ARRAY_CHECK(two, halves, bounds);
    array_free_all();
}
