/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A row has the same bits, whatever batch it is in and wherever it lies: operations on rows, and reductions along
 * them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(same_bits, .init = device_open, .fini = device_close);

enum { OPERATIONS = 13, LONGEST = 200003 };

/* Where weights and biases lie. */
static array *weight, *bias;

static tdm_kernel *rms, *centre;

static tdm_status run(int operation, const tdm_tensor *x, tdm_tensor *y) {
    static const int last[] = {1};
    tdm_softmax_options scores = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    tdm_tensor w = weight->t, b = bias->t;
    w.shape[0] = b.shape[0] = x->shape[1];
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", x), TDM_WITH_TENSOR("y", y)};
    scores.scale = 0.5;
    switch (operation) {
    case 0:
        return tdm_layer_norm(queue, x, &w, &b, 1e-5, y);
    case 1:
        return tdm_layer_norm_residual(queue, x, x, NULL, NULL, 1e-5, NULL, y);
    case 2:
        return tdm_rms_norm(queue, x, NULL, &w, 1e-5, NULL, y);
    case 3:
        return tdm_l2_normalize(queue, x, 1e-12, y);
    case 4:
        return tdm_softmax(queue, x, y);
    case 5:
        return tdm_softmax_scaled(queue, &scores, x, y);
    case 6:
        return tdm_kernel_run(queue, centre, arguments, 2);
    case 7:
        return tdm_kernel_run(queue, rms, arguments, 2);
    case 8:
        return tdm_row_norm(queue, TDM_NORM_L1, x, y);
    case 9:
        return tdm_row_norm(queue, TDM_NORM_L2, x, y);
    case 10:
        return tdm_sum(queue, x, last, 1, y);
    case 11:
        return tdm_variance(queue, x, last, 1, 0, y);
    default:
        return tdm_norm_over(queue, TDM_NORM_L2, x, last, 1, y);
    }
}

static const char *const names[OPERATIONS] = {"layer_norm",
                                              "layer_norm_residual",
                                              "rms_norm",
                                              "l2_normalize",
                                              "softmax",
                                              "scores",
                                              "a row kernel that writes rows",
                                              "a row kernel",
                                              "row_norm L1",
                                              "row_norm L2",
                                              "sum",
                                              "variance",
                                              "norm_over"};

static bool writes_rows(int operation) { return operation < 7; }

static tdm_tensor rows_of(const array *a, int64_t first, int64_t count, int64_t cols) {
    tdm_tensor rows = a->t;
    rows.shape[0] = count;
    rows.shape[1] = cols;
    rows.offset += first * a->t.strides[0];
    return rows;
}

/* The result of these rows of x: `cols` or one element for each. */
static unsigned char *result_of(int operation, const tdm_tensor *x, size_t *size) {
    const int64_t cols = writes_rows(operation) ? x->shape[1] : 1;
    array *y =
        cols > 1 ? array_2d(x->dtype, x->shape[0], cols, cols) : array_1d(x->dtype, x->shape[0]);
    *size = (size_t)y->count * tdm_dtype_size(x->dtype);
    unsigned char *bytes = malloc(*size);
    if (!bytes) abort();
    if (!OK(run(operation, x, &y->t)) || !OK(tdm_to_host(queue, &y->t, bytes)))
        memset(bytes, 0, *size);
    return bytes;
}

/* Rows of `all`, whose results are known, in a batch of `count` of them. */
static bool check_batch(int operation, const tdm_tensor *x, const unsigned char *want,
                        const char *how) {
    size_t size;
    unsigned char *now = result_of(operation, x, &size);
    const bool same = memcmp(now, want, size) == 0;
    if (!same)
        check_fail(__FILE__, __LINE__, "%lld rows %s have other bits", (long long)x->shape[0], how);
    free(now);
    return same;
}

static void check_operation(int operation, tdm_dtype dtype, int64_t rows, int64_t cols,
                            int64_t gap) {
    check_case("%s of %s, %lldx%lld, gap %lld", names[operation], tdm_dtype_name(dtype),
               (long long)rows, (long long)cols, (long long)gap);
    array *x = array_2d(dtype, rows, cols, cols + gap);
    weight = array_1d(dtype, cols);
    bias = array_1d(dtype, cols);
    array_uniform(x, -3.0, 5.0);
    array_uniform(weight, -2.0, 2.0);
    array_uniform(bias, -1.0, 1.0);
    const tdm_tensor all = rows_of(x, 0, rows, cols);
    size_t size;
    unsigned char *want = result_of(operation, &all, &size);
    const size_t one = size / (size_t)rows;
    const int64_t some[] = {1, 1, 2, 3, rows / 2};
    bool right = true;
    for (int i = 0; i < 5 && right; i++) {
        if (some[i] < 1 || some[i] > rows) continue;
        const int64_t first = random_integer(0, rows - some[i]);
        const tdm_tensor part = rows_of(x, first, some[i], cols);
        right = check_batch(operation, &part, want + (size_t)first * one, "by themselves");
    }
    const int64_t row = random_integer(0, rows - 1);
    for (int64_t offset = 0; offset < 9 && right; offset += small ? 3 : 1) {
        array *moved = array_1d(dtype, cols + offset);
        memcpy(moved->v + offset, x->v + row * cols, (size_t)cols * sizeof(double));
        for (int64_t j = 0; j < offset; j++)
            moved->v[j] = 0;
        array_set(moved, moved->v);
        tdm_tensor alone = tdm_tensor_2d(moved->t.buffer, dtype, 1, cols);
        alone.offset = moved->t.offset + offset;
        right = check_batch(operation, &alone, want + (size_t)row * one, "moved");
    }
    free(want);
    array_free_all();
}

static void check_all(const int64_t extents[][3], size_t count) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_row_kernel texts[] = {
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .apply = "x - r / n"),
        TDM_ROW_KERNEL(.map = "x * x", .combine = TDM_SUM, .finish = "sqrt(r / n)")};
    if (!OK(tdm_kernel_rows(device, &texts[0], parameters, 2, &centre)) ||
        !OK(tdm_kernel_rows(device, &texts[1], parameters, 2, &rms)))
        return;
    int turn = (int)random_integer(0, 4);
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int d = 0; d < float_dtype_count; d++)
            for (size_t e = 0; e < count; e++, turn++)
                if (!small || turn % 5 == 0)
                    check_operation(operation, float_dtypes[d], extents[e][0], extents[e][1],
                                    extents[e][2]);
    tdm_kernel_release(rms);
    tdm_kernel_release(centre);
}

/* rows, columns, and what is between two rows */
Test(same_bits, short_rows) {
    static const int64_t extents[][3] = {{4096, 33, 0}, {37, 768, 1}, {9, 8192, 0}, {5, 8191, 0}};
    check_all(extents, sizeof extents / sizeof *extents);
}

Test(same_bits, long_rows) {
    static const int64_t extents[][3] = {
        {40, 16384, 0}, {5, 32768, 3}, {8, 66001, 0}, {2, LONGEST, 1}};
    check_all(extents, sizeof extents / sizeof *extents);
}
