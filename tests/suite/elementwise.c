/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* add, sub, mul, scale, axpy and fill: layouts of any kind. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(elementwise, .init = device_open, .fini = device_close);

static const char *const names[REF_ARITHMETIC_KINDS] = {"add", "sub", "mul", "scale", "axpy"};

static tdm_status call(ref_arithmetic_kind op, double alpha, const array *a, const array *b,
                       array *y) {
    switch (op) {
    case REF_ADD:
        return tdm_add(queue, &a->t, &b->t, &y->t);
    case REF_SUB:
        return tdm_sub(queue, &a->t, &b->t, &y->t);
    case REF_MUL:
        return tdm_mul(queue, &a->t, &b->t, &y->t);
    case REF_SCALE:
        return tdm_scale(queue, alpha, &a->t, &y->t);
    default:
        return tdm_axpy(queue, alpha, &a->t, &y->t);
    }
}

static void reference(ref_arithmetic_kind op, double alpha, const array *a, const array *b,
                      const array *y, double *want, double *bound) {
    ref_arithmetic(op, y->t.dtype, y->count, alpha, a->v, op == REF_AXPY ? y->v : b->v, want,
                   bound);
}

/* A layout of ndim dimensions: contiguous, dimensions in another order, gaps, or repeated ones. */
static array *layout(tdm_dtype dtype, int ndim, const int64_t *shape, bool may_repeat) {
    int order[TDM_MAX_DIMS];
    int64_t strides[TDM_MAX_DIMS], next = 1;
    for (int i = 0; i < ndim; i++)
        order[i] = i;
    bool shuffle = random_bits() & 1, gaps = random_bits() & 1;
    for (int i = ndim - 1; shuffle && i > 0; i--) {
        int j = (int)random_integer(0, i), old = order[i];
        order[i] = order[j];
        order[j] = old;
    }
    for (int i = ndim - 1; i >= 0; i--) {
        int d = order[i];
        if (gaps) next *= random_integer(1, 2);
        strides[d] = next;
        next *= shape[d];
        if (gaps) next += random_integer(0, 3);
        if (may_repeat && random_integer(0, 4) == 0) strides[d] = 0;
    }
    return array_new(dtype, ndim, shape, strides);
}

/* Any strides, transposed and with gaps, inputs repeated by stride 0, 1 to 6 dimensions. */
Test(elementwise, any_layout) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < (small ? 25 : 250); i++) {
            ref_arithmetic_kind op = (ref_arithmetic_kind)(i % REF_ARITHMETIC_KINDS);
            int ndim = (int)random_integer(1, 6);
            int64_t shape[TDM_MAX_DIMS], most = ndim == 1 ? 3000 : ndim == 2 ? 70 : 7;
            for (int k = 0; k < ndim; k++)
                shape[k] = random_integer(1, most);
            array *a = layout(float_dtypes[d], ndim, shape, true);
            array *b = layout(float_dtypes[d], ndim, shape, true);
            array *y = layout(float_dtypes[d], ndim, shape, false);
            check_case("%s %s, %d dimensions %lldx%lldx%lld strides a %lld %lld y %lld %lld",
                       tdm_dtype_name(float_dtypes[d]), names[op], ndim, (long long)shape[0],
                       ndim > 1 ? (long long)shape[1] : 0, ndim > 2 ? (long long)shape[2] : 0,
                       (long long)a->t.strides[0], ndim > 1 ? (long long)a->t.strides[1] : 0,
                       (long long)y->t.strides[0], ndim > 1 ? (long long)y->t.strides[1] : 0);
            array_uniform(a, -2.0, 2.0);
            array_uniform(b, -2.0, 2.0);
            if (op == REF_AXPY) array_uniform(y, -2.0, 2.0);
            double *want = numbers(y->count), *bound = numbers(y->count);
            reference(op, -1.7, a, b, y, want, bound);
            OK(call(op, -1.7, a, b, y));
            bool right = ARRAY_CHECK(y, want, bound) && ARRAY_SAME(a) && ARRAY_SAME(b);
            array_free_all();
            if (!right) break;
        }
    }
}

/* In place on either input and on both, at every length with a tail, contiguous and not. */
Test(elementwise, in_place_and_lengths) {
    static const int64_t lengths[] = {1, 2, 3, 7, 8, 9, 31, 64, 65, 1000, 4099, 65536, 200003};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t l = 0; l < (small ? 10 : sizeof lengths / sizeof lengths[0]); l++) {
            for (int i = 0; i < 2 * REF_ARITHMETIC_KINDS; i++) {
                ref_arithmetic_kind op = (ref_arithmetic_kind)(i % REF_ARITHMETIC_KINDS);
                int64_t n = lengths[l], step = i & 1 ? 2 : 1;
                check_case("%s %s in place, %lld elements, stride %lld",
                           tdm_dtype_name(float_dtypes[d]), names[op], (long long)n,
                           (long long)step);
                array *a = array_new(float_dtypes[d], 1, &n, &step);
                array *b = array_new(float_dtypes[d], 1, &n, &step);
                array_uniform(a, -2.0, 2.0);
                array_uniform(b, -2.0, 2.0);
                array *y = op == REF_AXPY || (op != REF_SCALE && i >= REF_ARITHMETIC_KINDS) ? b : a;
                double *want = numbers(n), *bound = numbers(n);
                reference(op, 0.3, a, b, y, want, bound);
                OK(call(op, 0.3, a, b, y));
                bool right = ARRAY_CHECK(y, want, bound);
                array_free_all();
                if (!right) break;
            }
        }
    }
    check_case("y = y + y");
    array *y = array_1d(TDM_F32, 100);
    array_integers(y, -50, 50);
    double *want = numbers(100);
    for (int i = 0; i < 100; i++)
        want[i] = 2.0 * y->v[i];
    OK(tdm_add(queue, &y->t, &y->t, &y->t));
    ARRAY_CHECK(y, want, NULL);
}

/* NaN, Inf and signed zeros go through as IEEE 754 says; f16 overflows to Inf. */
Test(elementwise, special_values) {
    enum { N = 6 };
    double inf = (double)INFINITY, nan = (double)NAN;
    double va[N] = {nan, inf, -inf, inf, 0.0, 60000.0}, vb[N] = {1.0, inf, inf, 0.0, -0.0, 60000.0};
    for (int d = 0; d < float_dtype_count; d++) {
        tdm_dtype dtype = float_dtypes[d];
        array *a = array_1d(dtype, N), *b = array_1d(dtype, N), *y = array_1d(dtype, N);
        array_set(a, va);
        array_set(b, vb);
        double last = a->v[5];
        double sum[N] = {nan, inf, nan, inf, 0.0, rounded(dtype, last + last)};
        double product[N] = {nan, inf, -inf, nan, 0.0, rounded(dtype, last * last)};
        check_case("%s add of special values", tdm_dtype_name(dtype));
        OK(tdm_add(queue, &a->t, &b->t, &y->t));
        ARRAY_CHECK(y, sum, NULL);
        check_case("%s mul of special values", tdm_dtype_name(dtype));
        OK(tdm_mul(queue, &a->t, &b->t, &y->t));
        ARRAY_CHECK(y, product, NULL);
        array_free_all();
    }
}

/* fill of every dtype and layout, converted as by cast. */
Test(elementwise, fills) {
    static const double values[] = {0.0,           -0.0,          1.0,    -1.5,  300.7,
                                    1e5,           -1e10,         1e20,   1e300, 0x1p-149,
                                    1.0 + 0x1p-11, 1.0 + 0x1p-24, 70000.0};
    for (int d = 0; d < dtype_count; d++) {
        tdm_dtype dtype = dtypes[d];
        for (size_t i = 0; i < sizeof values / sizeof values[0] + 3; i++) {
            if (!in_turn(d + (int)i)) continue;
            double value = i < 13    ? values[i]
                           : i == 13 ? (double)NAN
                           : i == 14 ? (double)INFINITY
                                     : -(double)INFINITY;
            int64_t shape[3] = {random_integer(1, 20), random_integer(1, 20),
                                random_integer(1, 200)};
            int ndim = (int)random_integer(1, 3);
            array *y = layout(dtype, ndim, shape, false);
            check_case("fill of %s with %g", tdm_dtype_name(dtype), value);
            double *want = numbers(y->count), one = rounded(dtype, value);
            for (int64_t k = 0; k < y->count; k++)
                want[k] = one;
            OK(tdm_fill(queue, value, &y->t));
            ARRAY_CHECK(y, want, NULL);
            array_free_all();
        }
    }
    int64_t none = 0;
    array *y = array_new(TDM_U8, 1, &none, NULL);
    OK(tdm_fill(queue, 1.0, &y->t));
    OK(tdm_cast(queue, &y->t, &y->t));
    ARRAY_SAME(y);
}
