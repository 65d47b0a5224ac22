/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors made with content, from host arrays and back, and as text. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(create, .init = device_open, .fini = device_close, TAGS("device lanes"));

/* Element i of t is first + i · step. */
static void expect(const tdm_tensor *t, int64_t first, int64_t step) {
    int64_t count = tdm_tensor_get_count(t);
    size_t size = tdm_dtype_size(t->dtype);
    unsigned char *got = malloc((size_t)count * size + 1), one[8];
    if (!got) abort();
    memset(got, 0xa5, (size_t)count * size + 1);
    OK(tdm_to_host(queue, t, got));
    for (int64_t i = 0; i < count; i++) {
        const int64_t want = first + i * step;
        if (dtype_is_float(t->dtype))
            encode(t->dtype, (long double)want, one);
        else
            encode_integer(t->dtype, (uint64_t)want, one);
        if (memcmp(one, got + (size_t)i * size, size) == 0) continue;
        CHECK(false, "element %lld is not %lld", (long long)i, (long long)want);
        break;
    }
    CHECK(got[(size_t)count * size] == 0xa5, "a byte past the array was written");
    free(got);
}

/* zeros, ones, full and arange of every dtype that the device computes with; one release frees
 * their memory. */
Test(create, constants_and_ranges) {
    const tdm_memory_stats before = memory_now(device);
    for (int d = 0; d < dtype_count; d++) {
        tdm_dtype dtype = dtypes[d];
        tdm_tensor t;
        check_case("%s", tdm_dtype_name(dtype));
        if (OK(tdm_zeros(queue, dtype, TDM_SHAPE(2, 3), &t))) expect(&t, 0, 0);
        CHECK(t.ndim == 2 && t.shape[0] == 2 && t.shape[1] == 3 && t.strides[0] == 3 &&
                  tdm_tensor_get_device(&t) == device && t.dtype == dtype,
              "not a contiguous 2x3 tensor of the device");
        tdm_tensor_release(&t);
        if (OK(tdm_ones(queue, dtype, TDM_SHAPE(1000), &t))) expect(&t, 1, 0);
        tdm_tensor_release(&t);
        if (OK(tdm_full(queue, 7, dtype, TDM_SHAPE(3, 1, 5, 2, 2, 1), &t))) expect(&t, 7, 0);
        tdm_tensor_release(&t);
        if (OK(tdm_arange(queue, 3, 52, 2, dtype, &t))) expect(&t, 3, 2);
        CHECK(t.shape[0] == 25, "%lld elements", (long long)t.shape[0]);
        tdm_tensor_release(&t);
        if (OK(tdm_arange(queue, 10, -21, -4, dtype, &t))) {
            CHECK(t.shape[0] == 8, "%lld elements", (long long)t.shape[0]);
            expect(&t, 10, -4);
            tdm_tensor_release(&t);
        }
        OK(tdm_arange(queue, 5, 5, 1, dtype, &t));
        CHECK(t.ndim == 1 && t.shape[0] == 0, "an empty range");
        tdm_tensor_release(&t);
        OK(tdm_empty(queue, dtype, TDM_SHAPE(4, 0, 3), &t));
        CHECK(tdm_tensor_get_count(&t) == 0 && t.buffer, "an empty tensor");
        tdm_tensor_release(&t);
    }
    const tdm_memory_stats after = memory_now(device);
    CHECK(before.in_use == after.in_use, "%llu bytes are still in use",
          (unsigned long long)(after.in_use - before.in_use));
}

/* rand and randn are the fills of a generator that goes on. */
Test(create, random_goes_on) {
    tdm_generator a = {random_bits(), 0}, b = a;
    tdm_tensor x, y, whole;
    float got[300], want[300];
    OK(tdm_rand(queue, &a, TDM_F32, TDM_SHAPE(10, 10), &x));
    OK(tdm_rand(queue, &a, TDM_F32, TDM_SHAPE(200), &y));
    OK(tdm_rand(queue, &b, TDM_F32, TDM_SHAPE(300), &whole));
    OK(tdm_to_host(queue, &x, got));
    OK(tdm_to_host(queue, &y, got + 100));
    OK(tdm_to_host(queue, &whole, want));
    CHECK(memcmp(got, want, sizeof got) == 0 && a.next == b.next && a.next == 300,
          "100 and 200 numbers are not 300");
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&whole);
    OK(tdm_randn(queue, &a, float_dtypes[float_dtype_count - 1], TDM_SHAPE(5), &x));
    tdm_tensor_release(&x);
    CHECK(a.next == 305, "next is %llu", (unsigned long long)a.next);
    REFUSED(tdm_randn(queue, &a, TDM_I64, TDM_SHAPE(5), &x), TDM_ERROR_INVALID_DTYPE,
            "tdm_randn|i64");
    CHECK(!x.buffer, "a tensor is left after a failure");
}

/* Host arrays in and out, bit for bit, whole and through views: part of three dimensions in another order, and six. */
Test(create, host_arrays) {
    static const int64_t shapes[][6] = {{3, 4, 5}, {3, 2, 4, 2, 2, 3}};
    for (int k = 0; k < 2 * TDM_DTYPE_COUNT; k++) {
        const tdm_dtype dtype = (tdm_dtype)(k / 2);
        const int has_six = k % 2, ndim = has_six ? 6 : 3;
        const size_t size = tdm_dtype_size(dtype), all = has_six ? 288 : 60;
        unsigned char in[288 * 8], out[288 * 8 + 1], want[288 * 8];
        tdm_tensor t, view;
        random_bytes(in, sizeof in);
        check_case("%s, %d dimensions", tdm_dtype_name(dtype), ndim);
        if (!OK(tdm_from_host(queue, in, dtype, ndim, shapes[has_six], &t))) continue;
        memset(out, 0xa5, sizeof out);
        OK(tdm_to_host(queue, &t, out));
        CHECK(memcmp(in, out, all * size) == 0 && out[all * size] == 0xa5, "other bytes came back");
        OK(tdm_tensor_transpose(&t, 0, ndim - 1, &view));
        if (has_six)
            OK(tdm_tensor_transpose(&view, 1, 3, &view));
        else
            OK(tdm_tensor_slice(&view, 0, 1, 2, 3, &view));
        const int64_t count = tdm_tensor_get_count(&view);
        OK(tdm_to_host(queue, &view, out));
        for (int64_t i = 0; i < count; i++)
            memcpy(want + (size_t)i * size, in + element_offset(&view, i), size);
        CHECK(memcmp(want, out, (size_t)count * size) == 0, "the view's elements in another order");
        tdm_tensor_release(&t);
    }
}

/* Into a tensor that is there, whole and through a view, around which nothing changes. */
Test(create, write) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const tdm_dtype dtype = (tdm_dtype)d;
        const size_t size = tdm_dtype_size(dtype);
        unsigned char in[60 * 8], out[60 * 8], want[60 * 8];
        tdm_tensor t, view;
        random_bytes(want, sizeof want);
        random_bytes(in, sizeof in);
        check_case("%s", tdm_dtype_name(dtype));
        if (!OK(tdm_empty(queue, dtype, TDM_SHAPE(3, 4, 5), &t))) continue;
        OK(tdm_write(queue, want, &t));
        OK(tdm_tensor_transpose(&t, 0, 2, &view));
        OK(tdm_tensor_slice(&view, 0, 1, 2, 3, &view));
        OK(tdm_write(queue, in, &view));
        for (int64_t i = 0; i < 24; i++)
            memcpy(want + element_offset(&view, i), in + (size_t)i * size, size);
        OK(tdm_to_host(queue, &t, out));
        CHECK(memcmp(want, out, 60 * size) == 0, "other bytes");
        REFUSED(tdm_write(queue, NULL, &t), TDM_ERROR_INVALID_ARGUMENT, "data is NULL");
        REFUSED(tdm_write(NULL, in, &t), TDM_ERROR_INVALID_ARGUMENT, "queue is NULL");
        REFUSED(tdm_write(queue, in, NULL), TDM_ERROR_INVALID_ARGUMENT, "y is NULL");
        OK(tdm_tensor_slice(&t, 0, 1, 0, 1, &view));
        OK(tdm_write(queue, NULL, &view));
        tdm_tensor_release(&t);
    }
}

/* Broadcasting as NumPy's, against indices computed here. */
Test(create, broadcasting) {
    static const struct {
        int a_ndim, b_ndim, ndim;
        int64_t a[4], b[4], y[4];
    } cases[] = {
        {2, 1, 2, {3, 4}, {4}, {3, 4}},
        {2, 2, 2, {3, 1}, {1, 5}, {3, 5}},
        {1, 3, 3, {1}, {2, 3, 4}, {2, 3, 4}},
        {3, 2, 3, {5, 1, 7}, {6, 1}, {5, 6, 7}},
        {4, 3, 4, {2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
        {2, 1, 2, {0, 3}, {1}, {0, 3}},
        {2, 2, 2, {4, 5}, {4, 5}, {4, 5}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        array *a = array_new(TDM_F32, cases[c].a_ndim, cases[c].a, NULL);
        array *b = array_new(TDM_F32, cases[c].b_ndim, cases[c].b, NULL);
        array *y = array_new(TDM_F32, cases[c].ndim, cases[c].y, NULL);
        array_integers(a, -50, 50);
        array_integers(b, -50, 50);
        check_case("case %zu", c);
        int ndim = 0;
        int64_t shape[TDM_MAX_DIMS];
        OK(tdm_broadcast_shape(&a->t, &b->t, &ndim, shape));
        CHECK(ndim == y->t.ndim && memcmp(shape, y->t.shape, (size_t)ndim * sizeof *shape) == 0,
              "another shape");
        const double *of_a = array_repeated(a, ndim, shape), *of_b = array_repeated(b, ndim, shape);
        double *sum = numbers(y->count), *less = numbers(y->count);
        for (int64_t i = 0; i < y->count; i++) {
            sum[i] = of_a[i] + of_b[i];
            less[i] = of_a[i] - of_b[i];
        }
        OK(tdm_add(queue, &a->t, &b->t, &y->t));
        ARRAY_CHECK(y, sum, NULL);
        OK(tdm_sub(queue, &a->t, &b->t, &y->t));
        ARRAY_CHECK(y, less, NULL);
        array_free_all();
    }
    array *a = array_2d(TDM_F32, 3, 4, 4), *b = array_1d(TDM_F32, 3),
          *y = array_2d(TDM_F32, 3, 4, 4);
    int ndim;
    int64_t shape[TDM_MAX_DIMS];
    tdm_tensor row, view;
    const tdm_status bad = TDM_ERROR_INVALID_SHAPE;
    REFUSED(tdm_add(queue, &a->t, &b->t, &y->t), bad, "tdm_add|b|[3]|y|[3, 4]");
    REFUSED(tdm_add(queue, &a->t, &y->t, &b->t), bad, "a|[3, 4]|y|[3]");
    REFUSED(tdm_broadcast_shape(&a->t, &b->t, &ndim, shape), bad, "[3, 4]|[3]");
    REFUSED(tdm_tensor_broadcast(&b->t, TDM_SHAPE(3, 4), &view), bad, "[3]|[3, 4]");
    OK(tdm_tensor_broadcast(&b->t, TDM_SHAPE(5, 3), &view));
    CHECK(view.shape[0] == 5 && view.strides[0] == 0 && view.strides[1] == 1, "another view");
    /* in place only for an input that is not broadcast */
    OK(tdm_tensor_slice(&y->t, 0, 0, 1, 1, &row));
    REFUSED(tdm_add(queue, &a->t, &row, &y->t), TDM_ERROR_OVERLAP, "y|b|same view");
}

static void check_text(const tdm_tensor *t, const char *values, const char *suffix) {
    char want[2048], got[2048], cut[12];
    size_t length = 0, again = 0;
    snprintf(want, sizeof want, "%s%s%s)", values, suffix, tdm_device_get_info(device)->id);
    OK(tdm_format(queue, t, got, sizeof got, &length));
    CHECK(strcmp(got, want) == 0, "printed\n%s\nnot\n%s", got, want);
    CHECK(length == strlen(want), "length %zu, not %zu", length, strlen(want));
    memset(cut, 'x', sizeof cut);
    OK(tdm_format(queue, t, cut, 10, &again));
    CHECK(again == length && memcmp(cut, want, 9) == 0 && cut[9] == '\0' && cut[10] == 'x',
          "cut to 10 bytes: '%.12s'", cut);
    OK(tdm_format(queue, t, NULL, 0, &again));
    CHECK(again == length, "without a buffer: %zu, not %zu", again, length);
}

Test(create, print) {
    tdm_tensor t;
    char got[256] = "", want[256];
    FILE *file = tmpfile();
    CHECK(file, "no temporary file");
    if (!file) return;
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(2, 1), &t));
    OK(tdm_print(queue, "ones", &t, file));
    OK(tdm_print(queue, NULL, &t, file));
    rewind(file);
    CHECK(fread(got, 1, sizeof got - 1, file) > 0, "nothing was printed");
    const char *id = tdm_device_get_info(device)->id;
    snprintf(want, sizeof want,
             "ones = tensor([[1.],\n               [1.]], shape=[2, 1], dtype=f32, device=%s)\n"
             "tensor([[1.],\n        [1.]], shape=[2, 1], dtype=f32, device=%s)\n",
             id, id);
    CHECK(strcmp(got, want) == 0, "printed\n%s\nnot\n%s", got, want);
    fclose(file);
    file = fopen("/dev/full", "w");
    if (file) {
        setvbuf(file, NULL, _IONBF, 0);
        REFUSED(tdm_print(queue, "t", &t, file), TDM_ERROR_IO, "tdm_print|written");
        fclose(file);
    }
    REFUSED(tdm_print(queue, "t", &t, NULL), TDM_ERROR_INVALID_ARGUMENT, "file");
    tdm_tensor_release(&t);
}

/* The values as PyTorch 1.13 prints them (each text was made by it), then shape, dtype, device. */
Test(create, text) {
    tdm_tensor t, view;
    OK(tdm_arange(queue, 0, 6, 1, TDM_F32, &t));
    OK(tdm_tensor_reshape(&t, TDM_SHAPE(2, 3), &view));
    check_text(&view,
               "tensor([[0., 1., 2.],\n"
               "        [3., 4., 5.]]",
               ", shape=[2, 3], dtype=f32, device=");
    OK(tdm_tensor_transpose(&view, 0, 1, &view));
    check_text(&view,
               "tensor([[0., 3.],\n"
               "        [1., 4.],\n"
               "        [2., 5.]]",
               ", shape=[3, 2], dtype=f32, device=");
    tdm_tensor_release(&t);
    static const double mixed[] = {1e-7, 1, INFINITY, NAN, -2.5};
    for (int d = 0; d < 2; d++) {
        float narrow[5];
        for (int i = 0; i < 5; i++)
            narrow[i] = (float)mixed[i];
        OK(tdm_from_host(queue, d ? (const void *)mixed : narrow, d ? TDM_F64 : TDM_F32,
                         TDM_SHAPE(5), &t));
        check_text(&t, "tensor([ 1.0000e-07,  1.0000e+00,         inf,         nan, -2.5000e+00]",
                   d ? ",\n       shape=[5], dtype=f64, device="
                     : ",\n       shape=[5], dtype=f32, device=");
        tdm_tensor_release(&t);
    }
    OK(tdm_arange(queue, 0, 24, 1, TDM_I64, &t));
    OK(tdm_tensor_reshape(&t, TDM_SHAPE(2, 3, 4), &view));
    check_text(&view,
               "tensor([[[ 0,  1,  2,  3],\n"
               "         [ 4,  5,  6,  7],\n"
               "         [ 8,  9, 10, 11]],\n"
               "\n"
               "        [[12, 13, 14, 15],\n"
               "         [16, 17, 18, 19],\n"
               "         [20, 21, 22, 23]]]",
               ", shape=[2, 3, 4], dtype=i64, device=");
    tdm_tensor_release(&t);
    OK(tdm_arange(queue, 0, 45, 1.5, TDM_F16, &t));
    check_text(&t,
               "tensor([ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000,\n"
               "        12.0000, 13.5000, 15.0000, 16.5000, 18.0000, 19.5000, 21.0000, 22.5000,\n"
               "        24.0000, 25.5000, 27.0000, 28.5000, 30.0000, 31.5000, 33.0000, 34.5000,\n"
               "        36.0000, 37.5000, 39.0000, 40.5000, 42.0000, 43.5000]",
               ", shape=[30],\n       dtype=f16, device=");
    tdm_tensor_release(&t);
    OK(tdm_arange(queue, 0, 1001, 1, TDM_I32, &t));
    check_text(&t, "tensor([   0,    1,    2,  ...,  998,  999, 1000]",
               ", shape=[1001], dtype=i32,\n       device=");
    tdm_tensor_release(&t);
    OK(tdm_from_host(queue, (const int8_t[]){-128, 7, 0}, TDM_I8, TDM_SHAPE(3), &t));
    check_text(&t, "tensor([-128,    7,    0]", ", shape=[3], dtype=i8, device=");
    tdm_tensor_release(&t);
    OK(tdm_from_host(queue, (const uint16_t[]){65535, 1}, TDM_U16, TDM_SHAPE(2), &t));
    check_text(&t, "tensor([65535,     1]", ", shape=[2], dtype=u16, device=");
    tdm_tensor_release(&t);
    OK(tdm_from_host(queue, (const uint64_t[]){UINT64_MAX, 0}, TDM_U64, TDM_SHAPE(2), &t));
    check_text(&t, "tensor([18446744073709551615,                    0]",
               ", shape=[2], dtype=u64,\n       device=");
    tdm_tensor_release(&t);
    OK(tdm_from_host(queue, (const uint8_t[]){1, 0, 200}, TDM_BOOL, TDM_SHAPE(3), &t));
    check_text(&t, "tensor([ True, False,  True]", ", shape=[3], dtype=bool, device=");
    tdm_tensor_release(&t);
    OK(tdm_arange(queue, 0, 2000, 1, TDM_F32, &t));
    OK(tdm_tensor_reshape(&t, TDM_SHAPE(40, 50), &view));
    check_text(&view,
               "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 4.7000e+01, 4.8000e+01,\n"
               "         4.9000e+01],\n"
               "        [5.0000e+01, 5.1000e+01, 5.2000e+01,  ..., 9.7000e+01, 9.8000e+01,\n"
               "         9.9000e+01],\n"
               "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.4700e+02, 1.4800e+02,\n"
               "         1.4900e+02],\n"
               "        ...,\n"
               "        [1.8500e+03, 1.8510e+03, 1.8520e+03,  ..., 1.8970e+03, 1.8980e+03,\n"
               "         1.8990e+03],\n"
               "        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9470e+03, 1.9480e+03,\n"
               "         1.9490e+03],\n"
               "        [1.9500e+03, 1.9510e+03, 1.9520e+03,  ..., 1.9970e+03, 1.9980e+03,\n"
               "         1.9990e+03]]",
               ", shape=[40, 50], dtype=f32, device=");
    tdm_tensor_release(&t);
    OK(tdm_ones(queue, TDM_BF16, TDM_SHAPE(0, 3), &t));
    check_text(&t, "tensor([]", ", shape=[0, 3], dtype=bf16, device=");
    tdm_tensor_release(&t);
}

Test(create, refusals) {
    tdm_tensor t = {.ndim = 3};
    float data[4] = {0};
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, shape = TDM_ERROR_INVALID_SHAPE;
    REFUSED(tdm_empty(NULL, TDM_F32, TDM_SHAPE(2), &t), argument, "tdm_empty|queue is NULL");
    CHECK(t.ndim == 0, "the tensor is not zero after a failure");
    REFUSED(tdm_empty(queue, TDM_F32, TDM_SHAPE(2), NULL), argument, "tensor is NULL");
    REFUSED(tdm_empty(queue, (tdm_dtype)99, TDM_SHAPE(2), &t), TDM_ERROR_INVALID_DTYPE, "99");
    REFUSED(tdm_empty(queue, TDM_F32, 7, (int64_t[]){1, 1, 1, 1, 1, 1, 1}, &t), shape, "ndim|7");
    REFUSED(tdm_empty(queue, TDM_F32, 0, (int64_t[]){1}, &t), shape, "ndim|0");
    REFUSED(tdm_empty(queue, TDM_F32, 1, NULL, &t), argument, "shape is NULL");
    REFUSED(tdm_empty(queue, TDM_F32, TDM_SHAPE(2, -1), &t), shape, "dimension 1|-1");
    REFUSED(tdm_empty(queue, TDM_F64, TDM_SHAPE(INT64_MAX / 4, 3), &t), TDM_ERROR_OUT_OF_RANGE,
            "overflows");
    REFUSED(tdm_empty(queue, TDM_F64, TDM_SHAPE((int64_t)1 << 56), &t), TDM_ERROR_OUT_OF_MEMORY,
            tdm_device_get_info(device)->id);
    REFUSED(tdm_zeros(NULL, TDM_F32, TDM_SHAPE(2), &t), argument, "tdm_zeros|queue is NULL");
    REFUSED(tdm_from_host(queue, NULL, TDM_F32, TDM_SHAPE(2), &t), argument, "data is NULL");
    REFUSED(tdm_arange(queue, 0, 1, 0, TDM_F32, &t), argument, "step");
    REFUSED(tdm_arange(queue, 0, INFINITY, 1, TDM_F32, &t), argument, "end|inf");
    REFUSED(tdm_arange(queue, -1e308, 1e308, 1e308, TDM_F64, &t), argument, "end - start");
    REFUSED(tdm_arange(queue, 0, 1e300, 1, TDM_F32, &t), TDM_ERROR_OUT_OF_RANGE, "1e+300");
    REFUSED(tdm_rand(queue, NULL, TDM_F32, TDM_SHAPE(2), &t), argument, "tdm_rand|generator");
    CHECK(!t.buffer, "a tensor is left after a failure");
    OK(tdm_from_host(queue, data, TDM_F32, TDM_SHAPE(4), &t));
    REFUSED(tdm_to_host(queue, &t, NULL), argument, "data is NULL");
    REFUSED(tdm_to_host(queue, NULL, data), argument, "x is NULL");
    REFUSED(tdm_format(queue, &t, NULL, 5, NULL), argument, "text is NULL");
    REFUSED(tdm_format(queue, NULL, NULL, 0, NULL), argument, "x is NULL");
    CHECK(!tdm_tensor_get_device(NULL), "a device of NULL");
    tdm_tensor_release(&t);
    tdm_tensor_release(&t);
}
