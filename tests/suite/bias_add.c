/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* bias_add: every activation, dtype, row length and layout; in place; with and without operands. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(bias_add, .init = device_open, .fini = device_close);

enum in_place { APART, ON_X, ON_RESIDUAL };

typedef struct bias_case {
    tdm_dtype dtype;
    int64_t rows, cols, pad;
    tdm_activation activation;
    bool bias, residual;
    enum in_place place;
    double range;
} bias_case;

static bool run_case(const bias_case *k) {
    check_case("%s %lldx%lld pad %lld %s bias %d residual %d place %d", tdm_dtype_name(k->dtype),
               (long long)k->rows, (long long)k->cols, (long long)k->pad,
               tdm_activation_name(k->activation), k->bias, k->residual, k->place);
    array *x = array_2d(k->dtype, k->rows, k->cols, k->cols + k->pad);
    array *bias = k->bias ? array_1d(k->dtype, k->cols) : NULL;
    array *residual =
        k->residual ? array_2d(k->dtype, k->rows, k->cols, k->cols + 2 * k->pad) : NULL;
    array *y = k->place == ON_X          ? x
               : k->place == ON_RESIDUAL ? residual
                                         : array_2d(k->dtype, k->rows, k->cols, k->cols + k->pad);
    array_uniform(x, -k->range, k->range);
    if (bias) array_uniform(bias, -1.0, 1.0);
    if (residual) array_uniform(residual, -1.0, 1.0);
    double *want = numbers(x->count), *bound = numbers(x->count);
    ref_bias_add(k->dtype, k->rows, k->cols, x->v, bias ? bias->v : NULL, k->activation,
                 residual ? residual->v : NULL, want, bound);
    bool right = OK(tdm_bias_add(queue, &x->t, bias ? &bias->t : NULL, k->activation,
                                 residual ? &residual->t : NULL, &y->t)) &&
                 ARRAY_CHECK(y, want, bound);
    if (y != x) right = ARRAY_SAME(x) && right;
    if (bias) right = ARRAY_SAME(bias) && right;
    if (residual && y != residual) right = ARRAY_SAME(residual) && right;
    array_free_all();
    return right;
}

/* Every dtype, activation and combination of operands, in place and not, at random shapes. */
Test(bias_add, all_variants) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int act = 0; act < TDM_ACTIVATION_COUNT; act++) {
            for (int i = 0; i < 8; i++) {
                bias_case k = {float_dtypes[d],
                               random_integer(1, 9),
                               random_integer(1, 200),
                               random_integer(0, 3),
                               (tdm_activation)act,
                               i & 1,
                               i & 2,
                               APART,
                               i & 4 ? 30.0 : 3.0};
                if (i & 4) k.place = i & 2 ? ON_RESIDUAL : ON_X;
                if (small && act > 2 && i > 1) continue;
                if (!run_case(&k)) break;
            }
        }
    }
}

/* Rows of 1 to 64k columns with tails of every kind, few and many rows. */
Test(bias_add, row_lengths) {
    static const int64_t cols[] = {1,   2,   3,    4,    5,    7,    8,     15,    16,   17,
                                   31,  33,  63,   64,   65,   127,  255,   256,   257,  511,
                                   513, 777, 1023, 1025, 4096, 4099, 32768, 65535, 65536};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++) {
            if (small && cols[i] > 1100) break;
            bias_case k = {
                float_dtypes[d], 3,     cols[i], i % 3 == 0 ? 1 : 0, TDM_ACTIVATION_RELU, true,
                false,           APART, 3.0};
            if (!run_case(&k)) break;
        }
    }
    bias_case many = {TDM_F32, small ? 300 : 70000, 3, 0, TDM_ACTIVATION_NONE, true, true, ON_X,
                      3.0};
    run_case(&many);
    many.cols = 1, many.place = APART, many.dtype = TDM_F16;
    run_case(&many);
    many.rows = small ? 100 : 4000, many.cols = 257, many.pad = 5;
    many.dtype = float_dtypes[float_dtype_count - 1];
    run_case(&many);
    /* Larger than a last-level cache, so that streaming stores are used where there are any. */
    bias_case large = {
        TDM_F32, small ? 64 : 9000, small ? 64 : 1023, 0, TDM_ACTIVATION_RELU, true, false, APART,
        3.0};
    run_case(&large);
    /* In place there must be none: they work line by line, and lines overlap at the ends of rows.
     */
    large.place = ON_X;
    run_case(&large);
}

/* A NaN whose f32 form has these low bits of its mantissa set. */
static double nan_of(uint32_t payload) {
    const uint64_t bits = UINT64_C(0x7ff8000000000000) | (uint64_t)payload << 29;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Special values: every NaN goes through every activation, whatever its bits; large arguments
 * saturate without NaN. */
Test(bias_add, special_values) {
    enum { N = 15 };
    const double values[N] = {(double)NAN,   (double)INFINITY,
                              0.0,           -0.0,
                              1e4,           -1e4,
                              88.0,          -88.0,
                              -20.0,         100.0,
                              -104.0,        1e-6,
                              nan_of(1),     nan_of(2),
                              nan_of(0x1234)};
    for (int d = 0; d < float_dtype_count; d++) {
        for (int act = 0; act < TDM_ACTIVATION_COUNT; act++) {
            check_case("%s %s of special values", tdm_dtype_name(float_dtypes[d]),
                       tdm_activation_name((tdm_activation)act));
            array *x = array_1d(float_dtypes[d], N), *y = array_1d(float_dtypes[d], N);
            array_set(x, values);
            double *want = numbers(N), *bound = numbers(N);
            ref_bias_add(float_dtypes[d], 1, N, x->v, NULL, (tdm_activation)act, NULL, want, bound);
            OK(tdm_bias_add(queue, &x->t, NULL, (tdm_activation)act, NULL, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* Dimensions of 0; a batch of rows in three dimensions; a bias of the wrong length. */
Test(bias_add, shapes) {
    array *x = array_new(TDM_F32, 3, (int64_t[]){2, 3, 5}, (int64_t[]){24, 8, 1});
    array *y = array_new(TDM_F32, 3, (int64_t[]){2, 3, 5}, NULL), *bias = array_1d(TDM_F32, 5);
    array *wrong = array_1d(TDM_F32, 6), *one = array_1d(TDM_F32, 1);
    array_uniform(x, -1, 1);
    array_uniform(bias, -1, 1);
    double *want = numbers(30), *bound = numbers(30);
    ref_bias_add(TDM_F32, 6, 5, x->v, bias->v, TDM_ACTIVATION_NONE, NULL, want, bound);
    OK(tdm_bias_add(queue, &x->t, &bias->t, TDM_ACTIVATION_NONE, NULL, &y->t));
    ARRAY_CHECK(y, want, bound);
    const tdm_status shape = TDM_ERROR_INVALID_SHAPE;
    REFUSED(tdm_bias_add(queue, &x->t, &wrong->t, TDM_ACTIVATION_NONE, NULL, &y->t), shape,
            "bias|6|5");
    REFUSED(tdm_bias_add(queue, &x->t, &one->t, TDM_ACTIVATION_NONE, NULL, &y->t), shape, "bias");
    REFUSED(tdm_bias_add(queue, &x->t, NULL, TDM_ACTIVATION_NONE, &bias->t, &y->t), shape,
            "residual");
    REFUSED(tdm_bias_add(queue, &x->t, NULL, (tdm_activation)99, NULL, &y->t),
            TDM_ERROR_INVALID_ARGUMENT, "activation|99");
    for (int i = 0; i < 3; i++) {
        array *none = array_2d(TDM_F32, i == 1 ? 4 : 0, i == 0 ? 4 : 0, 4);
        array *no_bias = array_1d(TDM_F32, i == 0 ? 4 : 0);
        check_case("%lldx%lld", (long long)none->t.shape[0], (long long)none->t.shape[1]);
        OK(tdm_bias_add(queue, &none->t, &no_bias->t, TDM_ACTIVATION_GELU, NULL, &none->t));
        ARRAY_SAME(none);
    }
}
