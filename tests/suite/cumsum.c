/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of the elements so far. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/reduced.h"

TestSuite(cumsum, .init = device_open, .fini = device_close, TAGS("kernels"));

typedef tdm_status scan(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *y);

/* Sums x along the dimension into y, which may be x; or multiplies. */
static bool scan_case(scan *function, array *x, int dim, array *y) {
    const int64_t n = x->t.shape[dim];
    int64_t inner = 1;
    char shape[160];
    size_t length = 0;
    for (int d = 0; d < x->t.ndim; d++) {
        if (d > dim) inner *= x->t.shape[d];
        length += (size_t)snprintf(shape + length, sizeof shape - length, " %lld%s(%lld, %lld)",
                                   (long long)x->t.shape[d], d == dim ? "*" : "",
                                   (long long)x->t.strides[d], (long long)y->t.strides[d]);
    }
    const bool products = function == tdm_cumprod;
    check_case("%s of %s:%s to %s%s", products ? "products" : "sums", tdm_dtype_name(x->t.dtype),
               shape, tdm_dtype_name(y->t.dtype), x == y ? ", in place" : "");
    double *want = numbers(x->count), *bound = numbers(x->count);
    for (int64_t i = 0; n > 0 && i < x->count / n; i++) {
        const int64_t at = i / inner * n * inner + i % inner;
        ref_scan(products, x->t.dtype, y->t.dtype, n, x->v + at, inner, want + at, bound + at);
    }
    return OK(function(queue, &x->t, dim, &y->t)) && ARRAY_CHECK(y, want, bound) &&
           (x == y || ARRAY_SAME(x));
}

static bool cumsum_case(array *x, int dim, array *y) { return scan_case(tdm_cumsum, x, dim, y); }

/* Factors whose products stay within every float; of integers few are not 1 or -1, so that a double has these. */
static void set_factors(array *x) {
    const bool is_signed = rounded(x->t.dtype, -1.0) < 0;
    for (int64_t i = 0; i < x->count; i++) {
        const double size = dtype_is_float(x->t.dtype)                ? random_uniform(0.99, 1.01)
                            : x->t.dtype != TDM_BOOL && i % 9000 == 1 ? 2.0
                                                                      : 1.0;
        x->v[i] = is_signed && random_integer(0, 2) == 0 ? -size : size;
    }
    x->v[x->count - 1] = 0;
    array_set(x, x->v);
}

/* Elements whose sums stay within every float, and exact in a double where they are integers. */
static void set_elements(array *x) {
    if (!dtype_is_float(x->t.dtype))
        array_integers(x, 0, x->t.dtype == TDM_BOOL ? 1 : 100);
    else if (x->count > 5000 && x->t.dtype == TDM_F16) /* whose sums end at 65504 */
        array_uniform(x, -0.02, 0.03);
    else
        array_uniform(x, -2.0, 3.0);
}

typedef struct extents {
    int ndim;
    int64_t shape[3];
} extents;

/* Rows of less than a register, of less than a block and more; many short ones, few long ones that are cut, along
 * memory and in columns. */
static const extents shapes[] = {
    {1, {1}},           {1, {7}},          {1, {63}},        {1, {64}},       {1, {65}},
    {1, {1000}},        {3, {3, 5, 7}},    {2, {40, 64}},    {2, {3, 1030}},  {2, {70, 300}},
    {2, {1, 9}},        {2, {9, 1}},       {3, {2, 130, 5}}, {2, {4, 20000}}, {1, {500003}},
    {2, {5000, 6}},     {2, {9000, 17}},   {2, {2, 150000}}, {2, {90000, 3}}, {2, {900, 700}},
    {3, {2, 70000, 4}}, {3, {500, 3, 400}}};
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL_SHAPES = 13 };

/* Into the usual dtype; and f16 and bf16 into f32, without rounding to the narrow dtype. */
Test(cumsum, shapes, TAGS("lanes few")) {
    for (int d = 0; d < dtype_count; d++)
        for (int s = 0; s < (small ? SMALL_SHAPES : SHAPES); s++)
            for (int i = 0; i < 2 * shapes[s].ndim; i++) {
                const int dim = i / 2, wide = i % 2;
                const bool is_narrow = dtype_is_float(dtypes[d]) && dtype_size(dtypes[d]) == 2;
                if (wide ? !is_narrow : !in_turn(d + s + dim)) continue;
                const tdm_dtype to = wide ? TDM_F32 : reduced_dtype(REF_SUM, dtypes[d]);
                array *x = array_new(dtypes[d], shapes[s].ndim, shapes[s].shape, NULL);
                array *y = array_new(to, shapes[s].ndim, shapes[s].shape, NULL);
                set_elements(x);
                const bool right = cumsum_case(x, dim, y);
                array_free_all();
                if (!right) return;
            }
}

/* The same shapes and dtypes, in turn; in place; and an element that is NaN or infinite. */
Test(cumsum, products, TAGS("few")) {
    for (int d = 0; d < dtype_count; d++)
        for (int s = d % 3; s < (small ? SMALL_SHAPES : SHAPES); s += 3)
            for (int dim = 0; dim < shapes[s].ndim; dim++) {
                const tdm_dtype to = reduced_dtype(REF_SUM, dtypes[d]);
                array *x = array_new(dtypes[d], shapes[s].ndim, shapes[s].shape, NULL);
                array *y = array_new(to, shapes[s].ndim, shapes[s].shape, NULL);
                set_factors(x);
                bool right = scan_case(tdm_cumprod, x, dim, y);
                if (right && to == dtypes[d]) right = scan_case(tdm_cumprod, x, dim, x);
                array_free_all();
                if (!right) return;
            }
    static const double given[] = {2, -0.5, INFINITY, -3, 0, 5},
                        want[] = {2, -1, -INFINITY, INFINITY, NAN, NAN};
    array *x = array_1d(TDM_F32, 6);
    array_set(x, given);
    check_case("products of infinity");
    OK(tdm_cumprod(queue, &x->t, -1, &x->t));
    ARRAY_CHECK(x, want, NULL);
    array_free_all();
}

/* Along each dimension of x and y with strides of any kind. */
Test(cumsum, strides) {
    static const int64_t shape[] = {3, 70, 1, 6};
    static const tdm_dtype some[] = {TDM_F32, TDM_BF16, TDM_I32, TDM_U8};
    for (size_t d = 0; d < sizeof some / sizeof *some; d++)
        for (int i = 0; i < (small ? 60 : 320); i++) {
            array *x = array_any_strides(some[d], 4, shape, true);
            array *y = array_any_strides(reduced_dtype(REF_SUM, some[d]), 4, shape, false);
            set_elements(x);
            const bool right = cumsum_case(x, i % 4, y);
            array_free_all();
            if (!right) return;
        }
}

/* y is x, with gaps or without, adjacent in some dimension or in none. */
Test(cumsum, in_place, TAGS("lanes")) {
    const int64_t shape[] = {small ? 9 : 90, 130};
    static const int64_t strides[][2] = {{130, 1}, {140, 1}, {1, 90}, {390, 3}};
    for (int d = 0; d < float_dtype_count + 2; d++)
        for (int s = 0; s < 4; s++)
            for (int dim = 0; dim < 2; dim++) {
                const tdm_dtype integers[] = {TDM_I64, TDM_U64};
                const tdm_dtype dtype =
                    d < float_dtype_count ? float_dtypes[d] : integers[d - float_dtype_count];
                array *x = array_new(dtype, 2, shape, strides[s]);
                set_elements(x);
                const bool right = cumsum_case(x, dim, x);
                array_free_all();
                if (!right) return;
            }
    if (small) return;
    for (int dim = 0; dim < 2; dim++) { /* the dimension that is cut */
        array *x = dim ? array_2d(TDM_F32, 2, 300000, 300000) : array_2d(TDM_F32, 300000, 2, 2);
        set_elements(x);
        cumsum_case(x, dim, x);
        array_free_all();
    }
}

/* Negative integers, the least and the most ones, any byte that is true, and sums that wrap. */
Test(cumsum, limits_of_integers) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const tdm_dtype dtype = (tdm_dtype)d;
        if (dtype_is_float(dtype) || dtype == TDM_BOOL || tdm_dtype_size(dtype) == 8) continue;
        if (!is_chosen(dtype)) continue;
        array *x = array_limits(dtype);
        for (int dim = 0; dim < 2; dim++)
            cumsum_case(x, dim, array_new(TDM_I64, 2, x->t.shape, NULL));
        array_free_all();
    }
    check_case("bytes of bools");
    array *bytes = array_1d(TDM_U8, 4), *count = array_1d(TDM_I64, 4);
    static const double counted[] = {1, 1, 2, 3}, wrapped[] = {0x1p63, 0, 5},
                        negative[] = {-0x1p63, 0, 5};
    array_set(bytes, (const double[]){2, 0, 255, 1});
    tdm_tensor bools = bytes->t;
    bools.dtype = TDM_BOOL;
    OK(tdm_cumsum(queue, &bools, 0, &count->t));
    ARRAY_CHECK(count, counted, NULL);
    check_case("sums modulo 2^64");
    array *x = array_1d(TDM_U64, 3), *y = array_1d(TDM_U64, 3), *z = array_1d(TDM_I64, 3);
    array_set(x, (const double[]){0x1p63, 0x1p63, 5});
    OK(tdm_cumsum(queue, &x->t, 0, &y->t));
    ARRAY_CHECK(y, wrapped, NULL);
    OK(tdm_cumsum(queue, &x->t, 0, &z->t));
    ARRAY_CHECK(z, negative, NULL);
    array_free_all();
}

/* Sums that rise and fall back to nothing keep what a double would have of them; sums of ones, and of equal elements
 * that are no binary fractions: errors do not add up. */
Test(cumsum, accurate_at_any_length) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int in_columns = 0; in_columns < 2; in_columns++) {
            array *x = array_cancelling(float_dtypes[d], in_columns, small ? 3000 : 300000);
            array *y =
                array_new(float_dtypes[d] == TDM_F64 ? TDM_F64 : TDM_F32, 2, x->t.shape, NULL);
            cumsum_case(x, in_columns ? 0 : 1, y);
            array_free_all();
        }
    const int64_t n = small ? 20000 : (int64_t)1 << 22;
    array *x = array_1d(TDM_F32, n), *y = array_1d(TDM_F32, n);
    array_constant(x, 0.1);
    cumsum_case(x, 0, y);
    array_constant(x, 1);
    check_case("%lld ones", (long long)n);
    double *want = numbers(n);
    for (int64_t i = 0; i < n; i++)
        want[i] = (double)(i + 1); /* below 2^24, and so exact */
    OK(tdm_cumsum(queue, &x->t, 0, &y->t));
    ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

Test(cumsum, refusals) {
    array *x = array_2d(TDM_F32, 3, 4, 4), *y = array_2d(TDM_F32, 3, 4, 4);
    array *half = array_2d(TDM_F16, 3, 4, 4), *whole = array_2d(TDM_I32, 3, 4, 4);
    array *turned = array_2d(TDM_F32, 4, 3, 3);
    array_uniform(x, -1, 1);
    array_constant(whole, 2);
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, dtype = TDM_ERROR_INVALID_DTYPE;
    check_case("refusals");
    REFUSED(tdm_cumsum(queue, &x->t, 2, &y->t), argument, "tdm_cumsum|dim is 2|-2 to 1");
    REFUSED(tdm_cumprod(queue, &x->t, -3, &y->t), argument, "tdm_cumprod|dim is -3");
    REFUSED(tdm_cumsum(queue, &x->t, -3, &y->t), argument, "dim is -3|-2 to 1");
    REFUSED(tdm_cumsum(queue, &x->t, 0, &half->t), dtype, "y|f16|f32");
    REFUSED(tdm_cumsum(queue, &half->t, 0, &whole->t), dtype, "y|i32|f16|or f32");
    REFUSED(tdm_cumsum(queue, &whole->t, 0, &whole->t), dtype, "y|i32|i64 or u64");
    REFUSED(tdm_cumsum(queue, &x->t, 0, &turned->t), TDM_ERROR_INVALID_SHAPE, "[3, 4]|[4, 3]");
    tdm_tensor scalar = x->t;
    scalar.ndim = 0;
    REFUSED(tdm_cumsum(queue, &scalar, 0, &scalar), TDM_ERROR_INVALID_SHAPE, "x has 0 dimensions");
    tdm_tensor part = tdm_tensor_2d(x->t.buffer, TDM_F32, 2, 4), next = part;
    part.offset = x->t.offset;
    next.offset = x->t.offset + 4;
    REFUSED(tdm_cumsum(queue, &part, 0, &next), TDM_ERROR_OVERLAP, "y|x|same view");
    ARRAY_SAME(x);
    ARRAY_SAME(y);
    ARRAY_SAME(half);
    ARRAY_SAME(whole);
    array_free_all();
}
