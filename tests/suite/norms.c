/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms of whole tensors and of rows. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(norms, .init = device_open, .fini = device_close);

static const char *const kind_names[TDM_NORM_COUNT] = {"l1", "l2", "inf"};

static tdm_dtype out_dtype(tdm_dtype dtype) { return dtype == TDM_F64 ? TDM_F64 : TDM_F32; }

/* All kinds of norm of x, of its rows and as a whole, against the reference. */
static bool norms_of(array *x, int64_t rows, int64_t cols) {
    tdm_dtype out = out_dtype(x->t.dtype);
    bool right = true;
    for (int kind = 0; kind < TDM_NORM_COUNT && right; kind++) {
        tdm_norm_kind k = (tdm_norm_kind)kind;
        array *row = array_1d(out, rows), *all = array_1d(out, 1);
        double *want = numbers(rows + 1), *bound = numbers(rows + 1);
        for (int64_t r = 0; r < rows; r++)
            want[r] = ref_norm(x->t.dtype, out, k, cols, x->v + r * cols, &bound[r]);
        want[rows] = ref_norm(x->t.dtype, out, k, x->count, x->v, &bound[rows]);
        check_case("%s row_norm %s of %lldx%lld stride %lld", tdm_dtype_name(x->t.dtype),
                   kind_names[kind], (long long)rows, (long long)cols, (long long)x->t.strides[0]);
        right = OK(tdm_row_norm(queue, k, &x->t, &row->t)) && ARRAY_CHECK(row, want, bound);
        check_case("%s norm %s of %lldx%lld stride %lld", tdm_dtype_name(x->t.dtype),
                   kind_names[kind], (long long)rows, (long long)cols, (long long)x->t.strides[0]);
        right = OK(tdm_norm(queue, k, &x->t, &all->t)) &&
                ARRAY_CHECK(all, want + rows, bound + rows) && ARRAY_SAME(x) && right;
    }
    return right;
}

/* Rows of 1 to 1M columns, which are cut into chunks; one and many rows; gaps between rows. */
Test(norms, shapes) {
    static const int64_t shapes[][3] = {
        {1, 1, 0},     {3, 1, 0},     {1, 2, 0},       {2, 3, 1},    {5, 63, 0},   {5, 64, 2},
        {4, 65, 0},    {7, 255, 1},   {2, 1000, 0},    {1, 4097, 0}, {3, 5000, 3}, {900, 33, 0},
        {64, 8193, 1}, {3, 70000, 0}, {1, 1000003, 0}, {70000, 3, 1}};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < (small ? 11 : sizeof shapes / sizeof shapes[0]); i++) {
            array *x =
                array_2d(float_dtypes[d], shapes[i][0], shapes[i][1], shapes[i][1] + shapes[i][2]);
            array_uniform(x, -2.0, 2.0);
            bool right = norms_of(x, shapes[i][0], shapes[i][1]);
            array_free_all();
            if (!right) break;
        }
    }
}

/* L2 where the squares overflow or underflow, and mixtures: right wherever the result fits. */
Test(norms, overflow_and_underflow) {
    static const struct {
        tdm_dtype dtype;
        double scales[8];
    } ranges[] = {{TDM_F32, {1e30, 1e19, 1e-19, 1e-22, 1e-30, 1e-37, 1e-40, 1e-44}},
                  {TDM_F64, {1e300, 1e160, 1e-160, 1e-170, 1e-300, 1e-307, 1e-310, 1e-320}},
                  {TDM_F16, {6e4, 1e2, 1e-3, 6e-5, 1e-5, 1e-6, 6e-8, 1.0}},
                  {TDM_BF16, {1e30, 1e19, 1e-19, 1e-22, 1e-30, 1e-37, 1e-40, 1e-1}}};
    for (int d = 0; d < 4; d++) {
        if (!computes_with(ranges[d].dtype)) continue;
        for (int i = 0; i < 8; i++) {
            for (int mixed = 0; mixed < 3; mixed++) {
                enum { ROWS = 3, COLS = 700 };
                array *x = array_2d(ranges[d].dtype, ROWS, COLS, COLS);
                double *v = numbers(ROWS * COLS);
                for (int j = 0; j < ROWS * COLS; j++) {
                    /* mixed 1: all scales in a row; mixed 2: one large among zeros, last. */
                    double scale = ranges[d].scales[mixed == 1 ? j % 8 : i];
                    v[j] = scale * random_uniform(0.5, 1.0) * (j % 2 ? -1.0 : 1.0);
                    if (mixed == 2 && j % COLS != COLS - 1) v[j] = 0.0;
                }
                array_set(x, v);
                bool right = norms_of(x, ROWS, COLS);
                array_free_all();
                if (!right) break;
            }
        }
    }
}

/* NaN propagates from every place, Inf gives Inf, Inf with NaN gives NaN; zeros give 0. */
Test(norms, nan_and_infinity) {
    for (int d = 0; d < float_dtype_count; d++) {
        int64_t lengths[] = {1, 5, 64, 1000, small ? 2000 : 200000};
        for (int l = 0; l < 5; l++) {
            if (!in_turn(d + l)) continue;
            int64_t cols = lengths[l];
            enum { ROWS = 6 };
            array *x = array_2d(float_dtypes[d], ROWS, cols, cols);
            array *row = array_1d(out_dtype(float_dtypes[d]), ROWS);
            double *v = numbers(ROWS * cols);
            for (int64_t i = 0; i < ROWS * cols; i++)
                v[i] = i < cols ? 0.0 : random_uniform(-1.0, 1.0);
            v[cols + random_integer(0, cols - 1)] = (double)NAN;
            v[2 * cols + random_integer(0, cols - 1)] = -(double)INFINITY;
            v[3 * cols] = (double)INFINITY;
            v[4 * cols - 1] = (double)NAN;
            v[4 * cols] = (double)NAN;
            v[5 * cols + cols - 1] = (double)INFINITY;
            array_set(x, v);
            for (int kind = 0; kind < TDM_NORM_COUNT; kind++) {
                check_case("%s row_norm %s, %lld columns with NaN and Inf",
                           tdm_dtype_name(float_dtypes[d]), kind_names[kind], (long long)cols);
                double want[ROWS] = {0.0,         (double)NAN, (double)INFINITY,
                                     (double)NAN, (double)NAN, (double)INFINITY};
                OK(tdm_row_norm(queue, (tdm_norm_kind)kind, &x->t, &row->t));
                ARRAY_CHECK(row, want, NULL);
            }
            array *all = array_1d(out_dtype(float_dtypes[d]), 1);
            double nan = (double)NAN;
            for (int kind = 0; kind < TDM_NORM_COUNT; kind++) {
                OK(tdm_norm(queue, (tdm_norm_kind)kind, &x->t, &all->t));
                ARRAY_CHECK(all, &nan, NULL);
            }
            array_free_all();
        }
    }
}

/* Empty tensors and rows give 0; the shapes and dtypes of out. */
Test(norms, empty_and_refused) {
    double zeros[4] = {0};
    for (int d = 0; d < float_dtype_count; d++) {
        tdm_dtype dtype = float_dtypes[d], out = out_dtype(dtype);
        for (int kind = 0; kind < TDM_NORM_COUNT; kind++) {
            tdm_norm_kind k = (tdm_norm_kind)kind;
            check_case("%s norm %s of nothing", tdm_dtype_name(dtype), kind_names[kind]);
            array *x = array_2d(dtype, 4, 0, 0), *row = array_1d(out, 4), *all = array_1d(out, 1);
            array *none = array_2d(dtype, 0, 4, 4), *no_rows = array_1d(out, 0);
            OK(tdm_row_norm(queue, k, &x->t, &row->t));
            ARRAY_CHECK(row, zeros, NULL);
            OK(tdm_norm(queue, k, &x->t, &all->t));
            ARRAY_CHECK(all, zeros, NULL);
            OK(tdm_row_norm(queue, k, &none->t, &no_rows->t));
            ARRAY_SAME(no_rows);
            array_constant(all, 7.0);
            OK(tdm_norm(queue, k, &none->t, &all->t));
            ARRAY_CHECK(all, zeros, NULL);
            array_free_all();
        }
    }
    check_case("refused");
    array *x = array_2d(TDM_F32, 4, 5, 5), *three = array_1d(TDM_F32, 3);
    array *four = array_1d(TDM_F32, 4), *wide = array_1d(TDM_F64, 4);
    array *half = array_2d(TDM_F16, 4, 5, 5), *other_half = array_1d(TDM_BF16, 4);
    array *gaps = array_new(TDM_F32, 1, (int64_t[]){4}, (int64_t[]){2});
    array_uniform(x, -1, 1);
    const tdm_status shape = TDM_ERROR_INVALID_SHAPE, dtype = TDM_ERROR_INVALID_DTYPE;
    REFUSED(tdm_row_norm(queue, TDM_NORM_L2, &x->t, &three->t), shape, "out");
    REFUSED(tdm_norm(queue, TDM_NORM_L2, &x->t, &four->t), shape, "out");
    REFUSED(tdm_row_norm(queue, TDM_NORM_L2, &x->t, &wide->t),
            computes_with(TDM_F64) ? dtype : TDM_ERROR_UNSUPPORTED, "out|f64");
    REFUSED(tdm_row_norm(queue, TDM_NORM_L2, &half->t, &other_half->t), dtype, "out|bf16|f32");
    REFUSED(tdm_row_norm(queue, (tdm_norm_kind)7, &x->t, &four->t), TDM_ERROR_INVALID_ARGUMENT,
            "kind|7");
    CHECK(tdm_row_norm(queue, TDM_NORM_L2, &x->t, &gaps->t) != TDM_OK, "out is not contiguous");
    ARRAY_SAME(three);
    ARRAY_SAME(four);
    ARRAY_SAME(gaps);
    check_case("an f16 norm of f16");
    array *half_out = array_1d(TDM_F16, 4);
    array_constant(half, 2.0);
    double tens[4] = {10.0, 10.0, 10.0, 10.0};
    OK(tdm_row_norm(queue, TDM_NORM_L1, &half->t, &half_out->t));
    ARRAY_CHECK(half_out, tens, NULL);
    check_case("the norm of a vector, of a cube and of a matrix of adjacent rows");
    array *vector = array_1d(TDM_F32, 9), *one = array_1d(TDM_F32, 1);
    array_constant(vector, -2.0);
    double six = 6.0, eps = 1e-5;
    OK(tdm_row_norm(queue, TDM_NORM_L2, &vector->t, &one->t));
    ARRAY_CHECK(one, &six, &eps);
    array *cube = array_new(TDM_F32, 3, (int64_t[]){3, 3, 4}, NULL);
    array_constant(cube, 1.0);
    OK(tdm_norm(queue, TDM_NORM_L2, &cube->t, &one->t));
    ARRAY_CHECK(one, &six, &eps);
    array *nine = array_2d(TDM_F32, 3, 3, 3);
    double two[9] = {2, 2, 2, 2, 2, 2, 2, 2, 2},
           bound[9] = {eps, eps, eps, eps, eps, eps, eps, eps, eps};
    OK(tdm_row_norm(queue, TDM_NORM_L2, &cube->t, &nine->t));
    ARRAY_CHECK(nine, two, bound);
}
