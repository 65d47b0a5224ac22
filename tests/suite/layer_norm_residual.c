/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm of a sum: tdm_layer_norm_residual. Few long rows with contents of all kinds are in long_rows.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(layer_norm_residual, .init = device_open, .fini = device_close);

/* The references that follow are of the sum, which is one addition, rounded once. */
static double *sum_of(const array *x, const array *residual) {
    double *sum = numbers(x->count);
    ref_residual_sum(x->t.dtype, x->count, x->v, residual ? residual->v : NULL, sum);
    return sum;
}

static const tdm_tensor *tensor_of(const array *a) { return a ? &a->t : NULL; }

static const int64_t shapes[][3] = {/* rows, cols, gap between rows */
                                    {5, 64, 0},    {3, 100, 4},  {2, 1001, 1}, {7, 3, 2},
                                    {300, 72, 0},  {4, 4096, 8}, {3, 8192, 0}, {1, 20000, 0},
                                    {2, 65536, 0}, {3, 65535, 1}};

/* Where the results go. */
enum {
    APART,
    Y_ON_X,
    Y_ON_RESIDUAL,
    SUM_ON_X,
    SUM_ON_RESIDUAL,
    Y_ON_X_SUM_ON_RESIDUAL,
    Y_ON_RESIDUAL_SUM_ON_X,
    PLACES
};

static bool one_case(tdm_dtype dtype, const int64_t shape[3], int operands, int place) {
    const bool has_weight = operands & 1, has_bias = operands & 2, has_residual = operands & 4,
               has_sum = operands & 8;
    const int64_t rows = shape[0], cols = shape[1], gap = shape[2];
    const double epsilon = cols > 1000 ? 1e-12 : 1e-5;
    check_case("%s layer_norm_residual %lldx%lld gap %lld weight %d bias %d residual %d sum %d "
               "place %d",
               tdm_dtype_name(dtype), (long long)rows, (long long)cols, (long long)gap, has_weight,
               has_bias, has_residual, has_sum, place);
    array *x = array_2d(dtype, rows, cols, cols + gap);
    array *residual = has_residual ? array_2d(dtype, rows, cols, cols + 2 * gap) : NULL;
    array *weight = has_weight ? array_1d(dtype, cols) : NULL;
    array *bias = has_bias ? array_1d(dtype, cols) : NULL;
    array *y = NULL, *sum = NULL;
    if (place == Y_ON_X || place == Y_ON_X_SUM_ON_RESIDUAL) y = x;
    if (place == Y_ON_RESIDUAL || place == Y_ON_RESIDUAL_SUM_ON_X) y = residual;
    if (place == SUM_ON_X || place == Y_ON_RESIDUAL_SUM_ON_X) sum = x;
    if (place == SUM_ON_RESIDUAL || place == Y_ON_X_SUM_ON_RESIDUAL) sum = residual;
    if (!y) y = array_2d(dtype, rows, cols, cols + 3 * gap);
    if (!sum) sum = array_2d(dtype, rows, cols, cols + gap);
    if (!has_sum) sum = NULL;
    array_uniform(x, -3.0, 5.0);
    if (residual) array_uniform(residual, -2.0, 1.0);
    if (weight) array_uniform(weight, -2.0, 2.0);
    if (bias) array_uniform(bias, -1.0, 1.0);
    const double *s = sum_of(x, residual);
    double *want = numbers(x->count), *bound = numbers(x->count);
    ref_layer_norm(dtype, rows, cols, s, weight ? weight->v : NULL, bias ? bias->v : NULL, epsilon,
                   want, bound);
    bool right =
        OK(tdm_layer_norm_residual(queue, &x->t, tensor_of(residual), tensor_of(weight),
                                   tensor_of(bias), epsilon, sum ? &sum->t : NULL, &y->t)) &&
        ARRAY_CHECK(y, want, bound);
    if (sum) right = ARRAY_CHECK(sum, s, NULL) && right;
    if (y != x && sum != x) right = ARRAY_SAME(x) && right;
    if (residual && y != residual && sum != residual) right = ARRAY_SAME(residual) && right;
    if (weight) right = ARRAY_SAME(weight) && right;
    if (bias) right = ARRAY_SAME(bias) && right;
    array_free_all();
    return right;
}

static bool is_case(int operands, int place) {
    const bool has_residual = operands & 4, has_sum = operands & 8;
    if (!has_residual) return !has_sum && (place == APART || place == Y_ON_X);
    return has_sum || place == APART || place == Y_ON_X || place == Y_ON_RESIDUAL;
}

/* Every dtype and row length, every choice of operands, and each place for the results in turn. */
Test(layer_norm_residual, operands_and_places) {
    int place = (int)random_integer(0, PLACES - 1);
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t i = 0; i < (small ? 5 : sizeof shapes / sizeof shapes[0]); i++) {
            bool right = true;
            for (int operands = 0; operands < 16 && right; operands++) {
                if ((operands & 8) && !(operands & 4)) continue;
                if (small && operands % 5 != (int)(i % 5)) continue;
                do {
                    place = (place + 1) % PLACES;
                } while (!is_case(operands, place));
                right = one_case(float_dtypes[d], shapes[i], operands, place);
            }
            if (!right) break;
        }
    }
}

/* All places for one shape that is held and one that may be cut. */
Test(layer_norm_residual, every_place) {
    static const int64_t extents[][3] = {{3, 260, 0}, {2, 24576, 0}};
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 1 : 2); i++)
            for (int place = 0; place < PLACES; place++)
                if (!one_case(float_dtypes[d], extents[i], 15, place)) break;
}

/* Rows of x and a residual, normalised without weight and bias into arrays of their own. */
static void check_rows(array *x, array *residual, double epsilon) {
    const tdm_dtype dtype = x->t.dtype;
    const int64_t rows = x->t.shape[0], cols = x->t.shape[1];
    array *y = array_2d(dtype, rows, cols, cols), *sum = array_2d(dtype, rows, cols, cols);
    double *want = numbers(x->count), *bound = numbers(x->count);
    const double *s = sum_of(x, residual);
    ref_layer_norm(dtype, rows, cols, s, NULL, NULL, epsilon, want, bound);
    OK(tdm_layer_norm_residual(queue, &x->t, &residual->t, NULL, NULL, epsilon, &sum->t, &y->t));
    ARRAY_CHECK(y, want, bound);
    ARRAY_CHECK(sum, s, NULL);
    OK(tdm_layer_norm_residual(queue, &x->t, &residual->t, NULL, NULL, epsilon, NULL, &y->t));
    ARRAY_CHECK(y, want, bound);
}

/* A mean that is large in terms of the deviation, in the sum alone: x and the residual have halves of it. */
Test(layer_norm_residual, large_mean) {
    static const struct {
        tdm_dtype dtype;
        double mean, spread;
    } kinds[] = {{TDM_F64, 1e6, 1e-3},  {TDM_F64, -1e9, 1.0},   {TDM_F32, 1e4, 1.0},
                 {TDM_F32, -3e5, 10.0}, {TDM_F16, 1000.0, 8.0}, {TDM_BF16, 100.0, 8.0}};
    static const int64_t lengths[] = {7, 64, 1000, 20000};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!computes_with(kinds[i].dtype)) continue;
        for (int l = 0; l < (small ? 3 : 4); l++) {
            const int64_t cols = lengths[l];
            const double half = kinds[i].mean / 2, spread = kinds[i].spread / 2;
            check_case("%s layer_norm_residual of %g +- %g, %lld columns",
                       tdm_dtype_name(kinds[i].dtype), kinds[i].mean, kinds[i].spread,
                       (long long)cols);
            array *x = array_2d(kinds[i].dtype, 2, cols, cols);
            array *residual = array_2d(kinds[i].dtype, 2, cols, cols);
            array_uniform(x, half - spread, half + spread);
            array_uniform(residual, half - spread, half + spread);
            check_rows(x, residual, 1e-12);
            array_free_all();
        }
    }
}

/* What x has and the sum has not: elements far from all others that the residual takes away, and a slope, so that
 * rows of the sum are constant and give exactly the bias. */
Test(layer_norm_residual, what_cancels) {
    static const int64_t lengths[] = {100, 1000, 20000};
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        for (int l = 0; l < (small ? 2 : 3); l++) {
            const int64_t cols = lengths[l], count = 2 * cols;
            check_case("%s layer_norm_residual of outliers that cancel, %lld columns",
                       tdm_dtype_name(dtype), (long long)cols);
            array *x = array_2d(dtype, 2, cols, cols), *residual = array_2d(dtype, 2, cols, cols);
            for (int64_t j = 0; j < count; j++) {
                const bool far = j % cols == cols / 8 || j % cols == cols / 8 * 3 || j == cols - 1;
                x->v[j] = far ? 4096.0 : random_uniform(-1.0, 1.0);
                residual->v[j] = far ? -4096.0 : random_uniform(-1.0, 1.0);
            }
            array_set(x, x->v);
            array_set(residual, residual->v);
            check_rows(x, residual, 0.0);
            array_free_all();

            check_case("%s layer_norm_residual of a constant sum, %lld columns",
                       tdm_dtype_name(dtype), (long long)cols);
            x = array_2d(dtype, 2, cols, cols);
            residual = array_2d(dtype, 2, cols, cols);
            array *bias = array_1d(dtype, cols);
            for (int64_t j = 0; j < count; j++) {
                x->v[j] = (double)(j % 50 - 25);
                residual->v[j] = 100.0 - x->v[j];
            }
            array_set(x, x->v);
            array_set(residual, residual->v);
            array_uniform(bias, -1.0, 1.0);
            double *want = numbers(count);
            for (int64_t j = 0; j < count; j++)
                want[j] = bias->v[j % cols];
            OK(tdm_layer_norm_residual(queue, &x->t, &residual->t, NULL, &bias->t, 1e-5, NULL,
                                       &x->t));
            ARRAY_CHECK(x, want, NULL);
            array_free_all();
        }
    }
}

/* The sum is rounded before it is normalised, whether or not it is kept: here the rounding is as large as what is
 * left of a row without its mean. */
Test(layer_norm_residual, rounded_sum) {
    static const struct {
        tdm_dtype dtype;
        double mean;
    } kinds[] = {{TDM_F16, 2048.0}, {TDM_BF16, 256.0}, {TDM_F32, 16777216.0}};
    enum { COLS = 500 };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        check_case("%s layer_norm_residual of sums that are rounded",
                   tdm_dtype_name(kinds[i].dtype));
        array *x = array_2d(kinds[i].dtype, 2, COLS, COLS);
        array *residual = array_2d(kinds[i].dtype, 2, COLS, COLS);
        array_constant(x, kinds[i].mean);
        array_uniform(residual, 0.0, 6.0);
        check_rows(x, residual, 1e-5);
        array_free_all();
    }
}

/* x twice; and without a residual, bit for bit what tdm_layer_norm gives. */
Test(layer_norm_residual, of_one_tensor) {
    static const int64_t lengths[] = {64, 1001, 30000};
    for (int d = 0; d < float_dtype_count; d++) {
        for (int l = 0; l < (small ? 2 : 3); l++) {
            const tdm_dtype dtype = float_dtypes[d];
            const int64_t cols = lengths[l];
            check_case("%s layer_norm_residual of x and x, %lld columns", tdm_dtype_name(dtype),
                       (long long)cols);
            array *x = array_2d(dtype, 2, cols, cols), *w = array_1d(dtype, cols);
            array_uniform(x, -2.0, 3.0);
            array_uniform(w, -2.0, 2.0);
            check_rows(x, x, 1e-5);
            check_case("%s layer_norm_residual without a residual, %lld columns",
                       tdm_dtype_name(dtype), (long long)cols);
            /* into one tensor, as how a row is read is a matter of offsets, too */
            array *y = array_2d(dtype, 2, cols, cols);
            OK(tdm_layer_norm(queue, &x->t, &w->t, &w->t, 1e-5, &y->t));
            unsigned char *now = (unsigned char *)numbers((int64_t)(y->bytes / sizeof(double)) + 1);
            double *want = numbers(y->count);
            array_download(y, now);
            array_decode(y, now, want);
            OK(tdm_buffer_write(queue, y->t.buffer, 0, y->image, y->bytes));
            OK(tdm_layer_norm_residual(queue, &x->t, NULL, &w->t, &w->t, 1e-5, NULL, &y->t));
            ARRAY_CHECK(y, want, NULL);
            ARRAY_SAME(x);
            array_free_all();
        }
    }
}

/* NaN and infinities of x, of the residual, and of their sum alone, each of which spoils its row and no other. */
Test(layer_norm_residual, nan_and_infinity) {
    static const int64_t lengths[] = {2, 64, 1000, 70000};
    enum { ROWS = 6 };
    for (int d = 0; d < float_dtype_count; d++) {
        for (int l = 0; l < (small ? 3 : 4); l++) {
            const tdm_dtype dtype = float_dtypes[d];
            const int64_t cols = lengths[l], at = random_integer(0, cols - 1);
            const double most = dtype == TDM_F16 ? 60000.0 : dtype == TDM_F64 ? 1.5e308 : 3e38;
            check_case("%s layer_norm_residual with NaN and Inf, %lld columns",
                       tdm_dtype_name(dtype), (long long)cols);
            array *x = array_2d(dtype, ROWS, cols, cols);
            array *residual = array_2d(dtype, ROWS, cols, cols);
            for (int64_t i = 0; i < x->count; i++) {
                x->v[i] = random_uniform(-2.0, 2.0);
                residual->v[i] = random_uniform(-2.0, 2.0);
            }
            x->v[cols + at] = (double)NAN;
            residual->v[2 * cols + at] = (double)INFINITY;
            x->v[3 * cols + at] = (double)INFINITY; /* their sum is no number */
            residual->v[3 * cols + at] = -(double)INFINITY;
            x->v[4 * cols + at] = residual->v[4 * cols + at] = -most; /* its sum overflows */
            array_set(x, x->v);
            array_set(residual, residual->v);
            check_rows(x, residual, 1e-5);
            array_free_all();
        }
    }
}

/* A recorded call, of rows that are held and of one that may be cut, takes what its operands hold at a replay. */
Test(layer_norm_residual, replayed) {
    static const int64_t extents[][2] = {{3, 300}, {1, 50000}};
    for (int i = 0; i < (small ? 1 : 2); i++) {
        const int64_t rows = extents[i][0], cols = extents[i][1];
        check_case("f32 layer_norm_residual %lldx%lld, recorded", (long long)rows, (long long)cols);
        array *x = array_2d(TDM_F32, rows, cols, cols), *y = array_2d(TDM_F32, rows, cols, cols);
        array *residual = array_2d(TDM_F32, rows, cols, cols), *bias = array_1d(TDM_F32, cols);
        array *sum = array_2d(TDM_F32, rows, cols, cols);
        double *want = numbers(x->count), *bound = numbers(x->count);
        tdm_graph *graph = NULL;
        array_uniform(bias, -1.0, 1.0);
        if (!OK(tdm_graph_create(queue, &graph))) return;
        OK(tdm_graph_begin(graph));
        OK(tdm_layer_norm_residual(queue, &x->t, &residual->t, NULL, &bias->t, 1e-5, &sum->t,
                                   &y->t));
        OK(tdm_graph_end(graph));
        ARRAY_SAME(y);
        for (int turn = 0; turn < 3; turn++) {
            array_uniform(x, -1.0, 4.0);
            array_uniform(residual, -3.0, 1.0);
            const double *s = sum_of(x, residual);
            ref_layer_norm(TDM_F32, rows, cols, s, NULL, bias->v, 1e-5, want, bound);
            OK(tdm_graph_replay(graph));
            ARRAY_CHECK(y, want, bound);
            ARRAY_CHECK(sum, s, NULL);
        }
        tdm_graph_destroy(graph);
        array_free_all();
    }
}
