/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes that break 32-bit arithmetic, and results that repeat bit for bit. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(wide, .init = device_open, .fini = device_close);

/* Three rows in a buffer of more than 2^31 elements: the last starts past what an int can index.
 * The system gives memory only to the pages that are touched. */
enum { ROWS = 3, COLS = 40 };
static const int64_t far_stride = (1ll << 30) + 7;

static tdm_tensor far_rows(tdm_buffer *buffer, tdm_dtype dtype, int64_t offset) {
    tdm_tensor t = tdm_tensor_2d(buffer, dtype, ROWS, COLS);
    t.strides[0] = far_stride;
    t.offset = offset;
    return t;
}

static void far_write(const tdm_tensor *t, const double *values) {
    unsigned char row[COLS * 8];
    size_t size = tdm_dtype_size(t->dtype);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLS; c++)
            encode(t->dtype, (long double)values[r * COLS + c], row + (size_t)c * size);
        OK(tdm_buffer_write(queue, t->buffer, element_offset(t, r * COLS), row, COLS * size));
    }
}

static void far_check(const char *what, const tdm_tensor *t, const double *want,
                      const double *bound) {
    unsigned char row[COLS * 8];
    double got[ROWS * COLS];
    size_t size = tdm_dtype_size(t->dtype);
    for (int r = 0; r < ROWS; r++) {
        OK(tdm_buffer_read(queue, t->buffer, element_offset(t, r * COLS), row, COLS * size));
        for (int c = 0; c < COLS; c++)
            got[r * COLS + c] = (double)decode(t->dtype, row + (size_t)c * size);
    }
    int64_t bad = first_difference(got, want, bound, ROWS * COLS);
    CHECK(bad < 0, "%s: element %lld is %g, not %g", what, (long long)bad, got[bad], want[bad]);
}

/* Row strides and offsets past 32 bits: right in every operation (int32 overflow in LayerNorm,
 * CLBlast's casts to int). */
Test(wide, strides_past_32_bits) {
    tdm_dtype dtype = TDM_F16;
    size_t bytes = (size_t)(2 * far_stride + 4 * COLS) * 2;
    if (small || bytes > tdm_device_get_info(device)->max_allocation) {
        check_skip(
            "the device gives no buffer of more than 2^31 elements, or TDM_TEST_SMALL is set");
        return;
    }
    tdm_buffer *buffer = NULL;
    check_case("buffer of %zu bytes", bytes);
    if (!OK(tdm_buffer_create(device, bytes, &buffer))) return;
    tdm_tensor x = far_rows(buffer, dtype, 0), y = far_rows(buffer, dtype, COLS + 1);
    double v[ROWS * COLS], want[ROWS * COLS], bound[ROWS * COLS], sum[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        v[i] = rounded(dtype, random_uniform(-2.0, 2.0));
    far_write(&x, v);
    ref_layer_norm(dtype, ROWS, COLS, v, NULL, NULL, 1e-5, want, bound);
    OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &y));
    far_check("layer_norm", &y, want, bound);
    ref_residual_sum(dtype, ROWS * COLS, v, v, sum);
    ref_layer_norm(dtype, ROWS, COLS, sum, NULL, NULL, 1e-5, want, bound);
    OK(tdm_layer_norm_residual(queue, &x, &x, NULL, NULL, 1e-5, NULL, &y));
    far_check("layer_norm_residual", &y, want, bound);
    ref_rms_norm(dtype, ROWS, COLS, v, NULL, NULL, 1e-5, sum, want, bound);
    OK(tdm_rms_norm(queue, &x, NULL, NULL, 1e-5, NULL, &y));
    far_check("rms_norm", &y, want, bound);
    ref_softmax(dtype, ROWS, COLS, v, want, bound);
    OK(tdm_softmax(queue, &x, &y));
    far_check("softmax", &y, want, bound);
    ref_l2_normalize(dtype, ROWS, COLS, v, 1e-12, want, bound);
    OK(tdm_l2_normalize(queue, &x, 1e-12, &y));
    far_check("l2_normalize", &y, want, bound);
    ref_bias_add(dtype, ROWS, COLS, v, NULL, TDM_ACTIVATION_RELU, NULL, want, bound);
    OK(tdm_bias_add(queue, &x, NULL, TDM_ACTIVATION_RELU, NULL, &y));
    far_check("bias_add", &y, want, bound);
    OK(tdm_cast(queue, &x, &y));
    far_check("cast", &y, v, NULL);
    OK(tdm_fill(queue, 3.0, &y));
    for (int i = 0; i < ROWS * COLS; i++) {
        want[i] = 3.0 + v[i];
        bound[i] = half_ulp(dtype, want[i]) * 1.01;
        sum[i] = 3.0;
    }
    far_check("fill", &y, sum, NULL);
    OK(tdm_add(queue, &x, &y, &y));
    far_check("add", &y, want, bound);
    array *norms = array_1d(TDM_F32, ROWS);
    double norm[ROWS], norm_bound[ROWS];
    for (int r = 0; r < ROWS; r++)
        norm[r] = ref_norm(dtype, TDM_F32, TDM_NORM_L2, COLS, v + r * COLS, &norm_bound[r]);
    OK(tdm_row_norm(queue, TDM_NORM_L2, &x, &norms->t));
    ARRAY_CHECK(norms, norm, norm_bound);
    tdm_buffer_release(buffer);
}

/* matmul with leading dimensions past 32 bits: right, or refused; never wrong. */
Test(wide, leading_dimensions_past_32_bits) {
    size_t bytes = (size_t)(2 * far_stride + 4 * COLS) * 4;
    tdm_dtype dtype = TDM_F32;
    if (small || bytes > tdm_device_get_info(device)->max_allocation) {
        dtype = TDM_F16;
        bytes /= 2;
    }
    if (small || bytes > tdm_device_get_info(device)->max_allocation) {
        check_skip(
            "the device gives no buffer of more than 2^31 elements, or TDM_TEST_SMALL is set");
        return;
    }
    tdm_buffer *buffer = NULL;
    check_case("%s, buffer of %zu bytes", tdm_dtype_name(dtype), bytes);
    if (!OK(tdm_buffer_create(device, bytes, &buffer))) return;
    tdm_tensor a = far_rows(buffer, dtype, 0), c = far_rows(buffer, dtype, COLS + 1);
    array *b = array_2d(dtype, COLS, COLS, COLS);
    double v[ROWS * COLS], want[ROWS * COLS], bound[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        v[i] = (double)random_integer(-3, 3);
    array_integers(b, -3, 3);
    far_write(&a, v);
    ref_gemm r = {
        dtype, ROWS, COLS, COLS, false, false, 1.0, 0.0, v, b->v, NULL, NULL, TDM_ACTIVATION_NONE};
    ref_matmul(&r, want, bound);
    OK(tdm_matmul(queue, NULL, &a, &b->t, &c));
    far_check("matmul", &c, want, NULL);
    tdm_buffer_release(buffer);
}

/* More than 2^31 elements in one operation, u8, on the cpu backend (elsewhere it takes long). */
Test(wide, more_than_2_to_the_31_elements) {
    const tdm_device_info *info = tdm_device_get_info(device);
    int64_t n = (1ll << 31) + 4099;
    if (small || info->backend != TDM_CPU || (uint64_t)n > info->max_allocation) {
        check_skip("only on the cpu backend, without TDM_TEST_SMALL");
        return;
    }
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, (size_t)n + 64, &buffer))) return;
    unsigned char mark[64], tail[4100 + 64];
    memset(mark, 0xee, sizeof mark);
    OK(tdm_buffer_write(queue, buffer, (size_t)n, mark, sizeof mark));
    tdm_tensor t = tdm_tensor_1d(buffer, TDM_U8, n);
    OK(tdm_fill(queue, 7.0, &t));
    OK(tdm_buffer_read(queue, buffer, (size_t)n - 4100, tail, sizeof tail));
    for (size_t i = 0; i < 4100; i++)
        CHECK(tail[i] == 7, "byte %zu of the tail is %d", i, tail[i]);
    CHECK(memcmp(tail + 4100, mark, sizeof mark) == 0, "fill wrote past the end");
    OK(tdm_buffer_read(queue, buffer, 0, tail, 4100));
    CHECK(tail[0] == 7 && tail[4099] == 7, "the head was not filled");
    OK(tdm_buffer_read(queue, buffer, (size_t)1 << 30, tail, 4100));
    CHECK(tail[0] == 7 && tail[4099] == 7, "the middle was not filled");
    tdm_buffer_release(buffer);
}

/* The same call twice gives the same bits, for every operation (no float atomics). */
Test(wide, results_repeat) {
    enum { RESULTS = 6 };
    int64_t rows = 13, cols = small ? 500 : 20011;
    for (int d = 0; d < float_dtype_count; d++) {
        tdm_dtype dtype = float_dtypes[d];
        tdm_dtype out = dtype == TDM_F64 ? TDM_F64 : TDM_F32;
        check_case("%s", tdm_dtype_name(dtype));
        array *x = array_2d(dtype, rows, cols, cols), *w = array_1d(dtype, cols);
        array *square = array_2d(dtype, cols > 700 ? 700 : cols, 64, cols), *y[RESULTS];
        unsigned char *first[RESULTS] = {NULL};
        array_uniform(x, -2, 2);
        array_uniform(w, -2, 2);
        array_uniform(square, -2, 2);
        for (int i = 0; i < 4; i++)
            y[i] = array_2d(dtype, rows, cols, cols);
        y[4] = array_1d(out, 1);
        y[5] = array_2d(dtype, rows, 64, 64);
        for (int turn = 0; turn < 2; turn++) {
            tdm_tensor part;
            OK(tdm_tensor_slice(&x->t, 1, 0, square->t.shape[0], 1, &part));
            OK(tdm_layer_norm(queue, &x->t, &w->t, &w->t, 1e-5, &y[0]->t));
            OK(tdm_rms_norm(queue, &x->t, NULL, &w->t, 1e-5, NULL, &y[1]->t));
            OK(tdm_softmax(queue, &x->t, &y[2]->t));
            OK(tdm_bias_add(queue, &x->t, &w->t, TDM_ACTIVATION_GELU, NULL, &y[3]->t));
            OK(tdm_norm(queue, TDM_NORM_L2, &x->t, &y[4]->t));
            OK(tdm_matmul(queue, NULL, &part, &square->t, &y[5]->t));
            for (int i = 0; i < RESULTS; i++) {
                double *values = numbers(y[i]->count);
                if (turn == 0 && !(first[i] = malloc(y[i]->bytes))) abort();
                if (turn == 0) array_download(y[i], first[i]);
                array_decode(y[i], first[i], values);
                ARRAY_CHECK(y[i], values, NULL);
            }
        }
        for (int i = 0; i < RESULTS; i++)
            free(first[i]);
        array_free_all();
    }
}
