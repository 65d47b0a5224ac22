/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes that break 32-bit arithmetic. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "operations/formulas.h"
#include "operations/list.h"
#include "support/sample.h"

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

/* Skips the test where the device has no buffer of this size. */
static void need(size_t bytes) {
    if (small || bytes > tdm_device_get_info(device)->max_allocation)
        check_skip("the device gives no buffer of more than 2^31 elements or bytes, or "
                   "TDM_TEST_SMALL is set");
}

/* Row strides and offsets past 32 bits: right in every operation (int32 overflow in LayerNorm,
 * CLBlast's casts to int). */
Test(wide, strides_past_32_bits) {
    const tdm_dtype dtype = TDM_F16;
    const size_t bytes = (size_t)(2 * far_stride + 4 * COLS) * 2;
    need(bytes);
    tdm_buffer *buffer = NULL;
    check_case("buffer of %zu bytes", bytes);
    if (!OK(tdm_buffer_create(device, bytes, &buffer))) return;
    const operation *op;
    for (size_t o = 0; (op = op_at(o)); o++) {
        sample s = sample_of(op, dtype, 2, (const int64_t[]){ROWS, COLS});
        if (op->layout == OP_CONTIGUOUS || !op->operand[0].name || op->unit == OP_WHOLE) continue;
        sample_describe(&s);
        sample_make(&s);
        tdm_tensor *t[OP_OPERANDS], x = far_rows(buffer, dtype, 0);
        tdm_tensor y = far_rows(buffer, dtype, COLS + 1);
        int output = 0;
        for (int i = 0; i < OP_OPERANDS; i++)
            if (s.operand[i] && op->operand[i].role & OP_OUT) output = i;
        sample_tensors(&s, t);
        far_write(&x, s.operand[0]->v);
        t[0] = &x;
        const bool is_far =
            op->operand[output].extent == OP_ALL && op_dtype_of(&s.c, output) == dtype;
        if (is_far) t[output] = &y;
        if (is_far && (op->operand[output].role & OP_IN)) far_write(&y, s.operand[output]->v);
        double *want, *bound;
        sample_refer(&s, output, &want, &bound);
        if (!OK(op->call(&s.c, queue, t))) break;
        if (is_far)
            far_check(op->name, &y, want, bound);
        else
            ARRAY_CHECK(s.operand[output], want, bound);
        array_free_all();
    }
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
    need(bytes);
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
    array *index = array_1d(TDM_I32, 1), *y = array_1d(TDM_U8, 1);
    const double want = 7;
    array_constant(index, 4099);
    if (OK(tdm_take_along_axis(queue, &t, &index->t, 0, &y->t))) ARRAY_CHECK(y, &want, NULL);
    array_free_all();
    tdm_buffer_release(buffer);
}

/* A dot product of more elements than a line has: the second line of one tensor by that of the other. Memory that is
 * not written takes none. */
Test(wide, dot_of_several_lines) {
    enum { LINES = 2, PLACES = 5 };
    const int64_t cols = (1ll << 29) + 64, places[PLACES] = {0, 1, 4099, 1 << 28, (1ll << 29) + 63};
    const size_t bytes = (size_t)(LINES * cols) * 2;
    const tdm_device_info *info = tdm_device_get_info(device);
    if (small || info->backend != TDM_CPU || bytes > info->max_allocation) {
        check_skip("only on the cpu backend, without TDM_TEST_SMALL");
        return;
    }
    uint16_t *const elements = calloc(bytes, 1);
    tdm_buffer *buffer = NULL;
    tdm_tensor x;
    array *y = array_1d(TDM_F32, 1);
    if (!elements) {
        check_skip("this process may have no 2 GB");
        return;
    }
    if (!OK(tdm_buffer_adopt_host(device, elements, bytes, NULL, NULL, &buffer))) return;
    for (int i = 0; i < PLACES; i++)
        elements[cols + places[i]] = 0x3c00; /* 1 */
    OK(tdm_tensor_init(buffer, TDM_F16, 2, (int64_t[]){LINES, cols}, 0, &x));
    OK(tdm_dot(queue, &x, &x, &y->t));
    const double want = PLACES;
    ARRAY_CHECK(y, &want, NULL);
    OK(tdm_queue_finish(queue));
    tdm_buffer_release(buffer);
    free(elements);
}

/* More than 2^31 bytes at once, which a driver of NVIDIA's does not survive. */
Test(wide, fill) {
    const size_t bytes = ((size_t)1 << 31) + 4096;
    const size_t places[] = {0, ((size_t)1 << 30) - 2, ((size_t)1 << 31) - 2, bytes - 4};
    static const unsigned char pattern[4] = {1, 2, 3, 4};
    tdm_buffer *buffer = NULL;
    need(bytes);
    if (!OK(tdm_buffer_create(device, bytes, &buffer))) return;
    OK(tdm_buffer_fill(queue, buffer, 0, bytes, pattern, sizeof pattern));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        unsigned char got[4];
        OK(tdm_buffer_read(queue, buffer, places[i], got, sizeof got));
        for (size_t b = 0; b < sizeof got; b++)
            CHECK(got[b] == pattern[(places[i] + b) % sizeof pattern], "byte %zu is %d",
                  places[i] + b, got[b]);
    }
    tdm_buffer_release(buffer);
}
