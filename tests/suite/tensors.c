/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors: views, and what may not be made. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(tensors, .init = device_open, .fini = device_close, TAGS("device driver kinds"));

static bool is(const tdm_tensor *t, int ndim, const int64_t *shape, const int64_t *strides,
               int64_t offset) {
    return t->ndim == ndim && t->offset == offset &&
           memcmp(t->shape, shape, (size_t)ndim * sizeof *shape) == 0 &&
           memcmp(t->strides, strides, (size_t)ndim * sizeof *strides) == 0;
}
#define SHAPE(...) ((int64_t[]){__VA_ARGS__})

/* Names and sizes of the dtypes; any other number is "unknown" and has no size. */
Test(tensors, dtypes) {
    static const size_t sizes[TDM_DTYPE_COUNT] = {4, 8, 2, 2, 4, 8, 1, 1, 2, 2, 4, 8, 1};
    static const char *const names[TDM_DTYPE_COUNT] = {
        "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "i8", "i16", "u16", "u32", "u64", "bool"};
    for (int i = 0; i < TDM_DTYPE_COUNT; i++) {
        CHECK(tdm_dtype_size((tdm_dtype)i) == sizes[i], "size of dtype %d", i);
        CHECK(strcmp(tdm_dtype_name((tdm_dtype)i), names[i]) == 0, "name of dtype %d", i);
        CHECK(!tdm_dtype_is_float((tdm_dtype)i) == !strchr(names[i], 'f'), "%s", names[i]);
    }
    CHECK(tdm_dtype_size((tdm_dtype)99) == 0, "size of dtype 99");
    CHECK(!tdm_dtype_is_float((tdm_dtype)99), "dtype 99");
    CHECK(strcmp(tdm_dtype_name((tdm_dtype)99), "unknown") == 0, "name of dtype 99");
    CHECK(strcmp(tdm_activation_name((tdm_activation)99), "unknown") == 0, "activation 99");
    CHECK(strcmp(tdm_activation_name(TDM_ACTIVATION_GELU_TANH), "gelu_tanh") == 0, "gelu_tanh");
    CHECK(strcmp(tdm_backend_name((tdm_backend)99), "unknown") == 0, "backend 99");
    CHECK(strcmp(tdm_status_name((tdm_status)99), "TDM_STATUS_UNKNOWN") == 0, "status 99");
}

/* The views of a 4x6x10 tensor. */
Test(tensors, views) {
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, 300 * 4, &buffer))) return;
    tdm_tensor t, v, w;
    OK(tdm_tensor_init(buffer, TDM_F32, 3, SHAPE(4, 6, 10), 60, &t));
    CHECK(is(&t, 3, SHAPE(4, 6, 10), SHAPE(60, 10, 1), 60), "init");
    CHECK(tdm_tensor_is_contiguous(&t) && tdm_tensor_get_count(&t) == 240, "init");
    OK(tdm_tensor_transpose(&t, 0, 2, &v));
    CHECK(is(&v, 3, SHAPE(10, 6, 4), SHAPE(1, 10, 60), 60), "transpose");
    CHECK(!tdm_tensor_is_contiguous(&v), "a transposed view is not contiguous");
    OK(tdm_tensor_slice(&t, 1, 1, 2, 3, &v));
    CHECK(is(&v, 3, SHAPE(4, 2, 10), SHAPE(60, 30, 1), 70), "slice");
    OK(tdm_tensor_slice(&v, 2, 9, 1, 1, &w));
    CHECK(is(&w, 3, SHAPE(4, 2, 1), SHAPE(60, 30, 1), 79), "slice of a slice");
    OK(tdm_tensor_slice(&t, 0, 4, 0, 1, &w));
    CHECK(tdm_tensor_get_count(&w) == 0 && tdm_tensor_is_contiguous(&w),
          "an empty slice at the end");
    OK(tdm_tensor_reshape(&t, 2, SHAPE(24, 10), &v));
    CHECK(is(&v, 2, SHAPE(24, 10), SHAPE(10, 1), 60), "reshape");
    OK(tdm_tensor_view(&t, 2, SHAPE(3, 4), SHAPE(0, 2), 5, &v));
    CHECK(is(&v, 2, SHAPE(3, 4), SHAPE(0, 2), 65), "view");
    OK(tdm_tensor_view(&t, 1, SHAPE(1), SHAPE(1), 239, &v));
    OK(tdm_tensor_transpose(&t, 1, 1, &v));
    CHECK(is(&v, 3, SHAPE(4, 6, 10), SHAPE(60, 10, 1), 60), "transpose of a dimension with itself");
    v = tdm_tensor_1d(buffer, TDM_F64, 7);
    CHECK(is(&v, 1, SHAPE(7), SHAPE(1), 0) && v.dtype == TDM_F64 && v.buffer == buffer, "1d");
    v = tdm_tensor_2d(buffer, TDM_U8, 7, 5);
    CHECK(is(&v, 2, SHAPE(7, 5), SHAPE(5, 1), 0), "2d");
    v = tdm_tensor_3d(buffer, TDM_U8, 3, 7, 5);
    CHECK(is(&v, 3, SHAPE(3, 7, 5), SHAPE(35, 5, 1), 0), "3d");
    OK(tdm_tensor_view(&t, 3, SHAPE(1, 6, 10), SHAPE(77, 10, 1), 0, &v));
    CHECK(tdm_tensor_is_contiguous(&v), "a dimension of extent 1 may have any stride");
    OK(tdm_tensor_init(buffer, TDM_F32, 6, SHAPE(2, 1, 3, 1, 5, 10), 0, &v));
    CHECK(tdm_tensor_get_count(&v) == 300, "six dimensions");
    tdm_buffer_release(buffer);
}

/* Extents with the product n, in random parts. */
static int random_extents(int64_t n, int64_t *shape) {
    int ndim = 0;
    while (ndim < TDM_MAX_DIMS - 1 && random_integer(0, 4) > 0) {
        int64_t part = random_integer(1, 4);
        if (n % part != 0) part = 1;
        shape[ndim++] = part;
        n /= part;
    }
    shape[ndim++] = n;
    return ndim;
}

/* Where strides exist that walk over the elements in their order, a reshape finds them, and nowhere else. */
Test(tensors, reshape_of_views) {
    int taken = 0;
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, 5000 * 4, &buffer))) return;
    for (int round = 0; round < 4000; round++) {
        int64_t shape[TDM_MAX_DIMS], strides[TDM_MAX_DIMS] = {0};
        tdm_tensor whole, t, view, want;
        const int ndim = random_extents(random_integer(0, 1) ? 48 : 36, shape);
        OK(tdm_tensor_init(buffer, TDM_F32, ndim, shape, 3, &whole));
        const int a = (int)random_integer(0, ndim - 1), b = (int)random_integer(0, ndim - 1);
        if (!OK(tdm_tensor_transpose(&whole, a, b, &t))) return;
        if (round % 3 == 0 && t.shape[a] % 2 == 0)
            OK(tdm_tensor_slice(&t, a, 1, t.shape[a] / 2, random_integer(1, 2), &t));
        if (round % 7 == 0) t.strides[b] = 0;
        want = t;
        want.ndim = random_extents(tdm_tensor_get_count(&t), want.shape);
        int64_t place = 1;
        for (int i = want.ndim - 1; i >= 0; place *= want.shape[i--])
            want.strides[i] =
                want.shape[i] == 1
                    ? 0
                    : (int64_t)(element_offset(&t, place) - element_offset(&t, 0)) / 4;
        bool exist = true;
        for (int64_t i = 0; i < tdm_tensor_get_count(&t); i++)
            exist = exist && element_offset(&want, i) == element_offset(&t, i);
        check_case("round %d, %d dimensions to %d", round, t.ndim, want.ndim);
        if (!exist) {
            REFUSED(tdm_tensor_reshape(&t, want.ndim, want.shape, &view), TDM_ERROR_INVALID_SHAPE,
                    "tensor|tdm_cast");
            continue;
        }
        taken++;
        if (!OK(tdm_tensor_reshape(&t, want.ndim, want.shape, &view))) return;
        for (int i = 0; i < want.ndim; i++)
            strides[i] = want.shape[i] == 1 ? view.strides[i] : want.strides[i];
        CHECK(is(&view, want.ndim, want.shape, strides, t.offset), "other strides");
    }
    CHECK(taken > 500 && taken < 3500, "%d of 4000 were possible", taken);
    tdm_buffer_release(buffer);
}

/* A tensor with a dimension of 0 is empty however large its other dimensions: accepted, and nothing
 * is done. */
Test(tensors, empty_but_huge) {
    const int64_t huge = (int64_t)1 << 62;
    static const struct {
        int ndim;
        int64_t shape[4];
    } shapes[] = {{2, {INT64_C(1) << 62, 0}},
                  {2, {0, INT64_C(1) << 62}},
                  {4, {INT64_C(1) << 62, INT64_C(1) << 62, 0, 3}},
                  {4, {5, INT64_C(1) << 62, 0, INT64_C(1) << 62}},
                  {3, {0, INT64_MAX, INT64_MAX}}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int ndim = shapes[i].ndim;
        const int64_t *shape = shapes[i].shape;
        check_case("empty shape %zu", i);
        tdm_tensor x, y, view;
        if (!OK(tdm_zeros(queue, TDM_F32, ndim, shape, &x))) continue;
        OK(tdm_empty(queue, TDM_F32, ndim, shape, &y));
        CHECK(tdm_tensor_get_count(&x) == 0 && tdm_tensor_is_contiguous(&x), "it is not empty");
        OK(tdm_add(queue, &x, &x, &y));
        OK(tdm_cast(queue, &x, &y));
        OK(tdm_fill_range(queue, 0, 1, &y));
        OK(tdm_bias_add(queue, &x, NULL, TDM_ACTIVATION_GELU, NULL, &y));
        OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &y));
        OK(tdm_rms_norm(queue, &x, NULL, 1e-5, NULL, NULL, &y));
        OK(tdm_l2_normalize(queue, &x, 1e-5, &y));
        OK(tdm_softmax(queue, &x, &y));
        tdm_tensor one = {0};
        OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(1), &one));
        OK(tdm_norm(queue, TDM_NORM_L2, &x, &one));
        float norm = 1;
        OK(tdm_to_host(queue, &one, &norm));
        CHECK(norm == 0.0f, "the norm of nothing is %g", (double)norm);
        OK(tdm_sum(queue, &x, NULL, 0, &one));
        OK(tdm_to_host(queue, &one, &norm));
        CHECK(norm == 0.0f, "the sum of nothing is %g", (double)norm);
        OK(tdm_to_host(queue, &x, NULL));
        OK(tdm_tensor_transpose(&x, 0, ndim - 1, &view));
        OK(tdm_fill(queue, 1, &view));
        OK(tdm_tensor_reshape(&x, 2, SHAPE(huge, 0), &view));
        for (int d = 0; d < ndim; d++) {
            if (shape[d] < huge) continue;
            OK(tdm_tensor_slice(&x, d, huge / 2, 3, huge / 8, &view));
            OK(tdm_fill(queue, 1, &view));
        }
        OK(tdm_tensor_view(&x, ndim, shape, SHAPE(INT64_MAX, 7, INT64_MAX, 1), 0, &view));
        OK(tdm_fill(queue, 1, &view));
        char text[256];
        OK(tdm_format(queue, &x, text, sizeof text, NULL));
        CHECK(strncmp(text, "tensor([]", 9) == 0, "as text it is %s", text);
        tdm_tensor_release(&x);
        tdm_tensor_release(&y);
        tdm_tensor_release(&one);
    }
    check_case("matmul of nothing");
    tdm_tensor a, b, c;
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(huge, 4, 0, 5), &a));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(5, 6), &b));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(huge, 4, 0, 6), &c));
    OK(tdm_matmul(queue, NULL, &a, &b, &c));
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&c);
}

/* Views outside the buffer, bad dimensions, overflowing products, NULLs. */
Test(tensors, refused) {
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, 240 * 4, &buffer))) return;
    tdm_tensor t, v;
    const tdm_status range = TDM_ERROR_OUT_OF_RANGE, shape = TDM_ERROR_INVALID_SHAPE;
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    OK(tdm_tensor_init(buffer, TDM_F32, 3, SHAPE(4, 6, 10), 0, &t));
    tdm_tensor before = t;
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 1, SHAPE(241), 0, &v), range, "241");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 1, SHAPE(240), 1, &v), range, NULL);
    REFUSED(tdm_tensor_init(buffer, TDM_F64, 1, SHAPE(121), 0, &v), range, NULL);
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 1, SHAPE(4), -1, &v), range, "offset");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 2, SHAPE(4, -1), 0, &v), shape, "-1");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 0, SHAPE(4), 0, &v), shape, "ndim");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 7, SHAPE(1, 1, 1, 1, 1, 1, 1), 0, &v), shape, "7");
    REFUSED(tdm_tensor_init(buffer, TDM_DTYPE_COUNT, 1, SHAPE(4), 0, &v), TDM_ERROR_INVALID_DTYPE,
            "dtype");
    REFUSED(tdm_tensor_init(NULL, TDM_F32, 1, SHAPE(4), 0, &v), invalid, "buffer");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 1, NULL, 0, &v), invalid, "shape");
    REFUSED(tdm_tensor_init(buffer, TDM_F32, 1, SHAPE(4), 0, NULL), invalid, "tensor");
    check_case("products that overflow 64 bits");
    static const int64_t huge[][4] = {{INT64_MAX, 2, 1, 1},
                                      {1ll << 32, 1ll << 32, 1, 1},
                                      {1ll << 62, 4, 1, 1},
                                      {1ll << 16, 1ll << 16, 1ll << 16, 1ll << 16},
                                      {INT64_MAX / 4, 1, 1, 1}};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        tdm_status status = tdm_tensor_init(buffer, TDM_F32, 4, huge[i], 0, &v);
        CHECK(status == shape || status == range, "product %zu was accepted", i);
    }
    CHECK(tdm_tensor_view(&t, 2, SHAPE(2, 2), SHAPE(INT64_MAX, INT64_MAX), 0, &v) != TDM_OK,
          "strides whose sum overflows were accepted");
    CHECK(tdm_tensor_view(&t, 1, SHAPE(2), SHAPE(1), INT64_MAX, &v) != TDM_OK,
          "an offset that overflows was accepted");
    check_case("views");
    REFUSED(tdm_tensor_view(&t, 1, SHAPE(241), SHAPE(1), 0, &v), range, NULL);
    REFUSED(tdm_tensor_view(&t, 1, SHAPE(2), SHAPE(240), 0, &v), range, NULL);
    CHECK(tdm_tensor_view(&t, 1, SHAPE(2), SHAPE(-1), 5, &v) != TDM_OK, "a negative stride");
    REFUSED(tdm_tensor_view(&t, 1, SHAPE(2), SHAPE(1), -1, &v), range, "offset");
    REFUSED(tdm_tensor_slice(&t, 3, 0, 1, 1, &v), range, "dim is 3, allowed are -");
    REFUSED(tdm_tensor_slice(&t, -4, 0, 1, 1, &v), range, "dim");
    REFUSED(tdm_tensor_slice(&t, 1, 6, 1, 1, &v), range, "6");
    REFUSED(tdm_tensor_slice(&t, 1, 0, 4, 2, &v), range, NULL);
    REFUSED(tdm_tensor_slice(&t, 1, -1, 1, 1, &v), range, "start");
    REFUSED(tdm_tensor_slice(&t, 1, 0, -1, 1, &v), range, "count");
    CHECK(tdm_tensor_slice(&t, 1, 0, 2, 0, &v) != TDM_OK, "step 0");
    CHECK(tdm_tensor_slice(&t, 1, 0, 2, INT64_MAX, &v) != TDM_OK, "a step that overflows");
    REFUSED(tdm_tensor_transpose(&t, 0, 3, &v), range, "dim1");
    REFUSED(tdm_tensor_transpose(&t, -4, 0, &v), range, "dim0");
    REFUSED(tdm_tensor_reshape(&t, 2, SHAPE(24, 9), &v), shape, NULL);
    CHECK(tdm_tensor_get_count(NULL) == 0 && !tdm_tensor_is_contiguous(NULL), "NULL");
    static const char inferred[] =
        "shape has -1 in dimension 0, but the tensor's 240 elements do not";
    REFUSED(tdm_tensor_reshape(&t, 2, SHAPE(-1, 7), &v), shape, inferred);
    REFUSED(tdm_tensor_reshape(&t, 2, SHAPE(-1, -1), &v), shape, "shape has more than one -1");
    REFUSED(tdm_tensor_reshape(&t, 2, SHAPE(-1, 0), &v), shape, inferred);
    OK(tdm_tensor_transpose(&t, 0, 1, &v));
    CHECK(tdm_tensor_reshape(&v, 1, SHAPE(240), &v) != TDM_OK, "reshape of a transposed view");
    REFUSED(tdm_tensor_view(NULL, 1, SHAPE(2), SHAPE(1), 0, &v), invalid, "tensor");
    CHECK(memcmp(&before, &t, sizeof t) == 0, "the source was changed");

    check_case("tensors made by hand are checked by the operation that gets them");
    tdm_tensor good = tdm_tensor_1d(buffer, TDM_F32, 240), bad = good;
    bad.shape[0] = 241;
    CHECK(tdm_add(queue, &good, &bad, &good) != TDM_OK, "past the buffer's end");
    bad = good, bad.offset = -1;
    CHECK(tdm_add(queue, &bad, &bad, &bad) != TDM_OK, "a negative offset");
    bad = good, bad.strides[0] = -1;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "a negative stride");
    bad = good, bad.ndim = 7;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "7 dimensions");
    bad = good, bad.ndim = 0;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "0 dimensions");
    bad = good, bad.dtype = (tdm_dtype)77;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "dtype 77");
    bad = good, bad.buffer = NULL;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "no buffer");
    bad = good, bad.shape[0] = INT64_MAX;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "a huge shape");
    check_case("and by what makes a view of them");
    for (int wrong = 0; wrong < 3; wrong++) {
        bad = good;
        if (wrong == 0) bad.dtype = (tdm_dtype)99;
        if (wrong == 1) bad.buffer = NULL;
        if (wrong == 2) bad.shape[0] = -3;
        const char *const words = wrong == 0 ? "99" : wrong == 1 ? "no buffer" : "-3";
        const tdm_status refused = wrong == 0   ? TDM_ERROR_INVALID_DTYPE
                                   : wrong == 1 ? invalid
                                                : shape;
        REFUSED(tdm_tensor_view(&bad, 1, SHAPE(2), SHAPE(1), 0, &v), refused, words);
        REFUSED(tdm_tensor_slice(&bad, 0, 0, 1, 1, &v), refused, words);
        REFUSED(tdm_tensor_transpose(&bad, 0, 0, &v), refused, words);
        REFUSED(tdm_tensor_reshape(&bad, 1, SHAPE(240), &v), refused, words);
        REFUSED(tdm_tensor_broadcast(&bad, 2, SHAPE(2, 240), &v), refused, words);
    }
    check_case("an extent that overflows");
    bad = good, bad.shape[0] = 100, bad.strides[0] = INT64_MAX / 50;
    CHECK(tdm_fill(queue, 1.0, &bad) != TDM_OK, "an extent that overflows");
    tdm_buffer_release(buffer);
}

/* -1 is the last dimension in every function, and in reshape the extent that is left. */
Test(tensors, dimensions_from_the_end) {
    array *x = array_2d(TDM_F32, 3, 4, 4), *rows = array_1d(TDM_F32, 3);
    array *places = array_1d(TDM_I32, 3), *y = array_2d(TDM_F32, 3, 4, 4);
    array *wide = array_2d(TDM_F32, 3, 8, 8),
          *stacked = array_new(TDM_F32, 3, SHAPE(3, 4, 2), NULL);
    const tdm_tensor *const two[] = {&x->t, &x->t};
    const int last[] = {-1};
    double sums[3], last_places[3], sums_so_far[12], flipped[12], joined[24], pairs[24];
    for (int i = 0; i < 12; i++) {
        const int row = i / 4, col = i % 4;
        x->v[i] = i;
        sums[row] = 16 * row + 6;
        last_places[row] = 3;
        sums_so_far[i] = 4 * row * (col + 1) + col * (col + 1) / 2;
        flipped[row * 4 + 3 - col] = i;
        joined[row * 8 + col] = joined[row * 8 + 4 + col] = i;
        pairs[2 * i] = pairs[2 * i + 1] = i;
    }
    array_set(x, x->v);
    if (OK(tdm_sum(queue, &x->t, last, 1, &rows->t))) ARRAY_CHECK(rows, sums, NULL);
    if (OK(tdm_argmax(queue, &x->t, -1, &places->t))) ARRAY_CHECK(places, last_places, NULL);
    if (OK(tdm_cumsum(queue, &x->t, -1, &y->t))) ARRAY_CHECK(y, sums_so_far, NULL);
    if (OK(tdm_flip(queue, &x->t, last, 1, &y->t))) ARRAY_CHECK(y, flipped, NULL);
    if (OK(tdm_concat(queue, two, 2, -1, &wide->t))) ARRAY_CHECK(wide, joined, NULL);
    if (OK(tdm_stack(queue, two, 2, -1, &stacked->t))) ARRAY_CHECK(stacked, pairs, NULL);
    tdm_tensor view;
    OK(tdm_tensor_slice(&x->t, -2, 1, 2, 1, &view));
    CHECK(view.shape[0] == 2 && view.offset == x->t.offset + 4, "rows 1 and 2");
    OK(tdm_tensor_transpose(&x->t, -1, -2, &view));
    CHECK(view.shape[0] == 4 && view.strides[0] == 1 && view.strides[1] == 4, "transposed");
    OK(tdm_tensor_reshape(&x->t, 3, SHAPE(2, -1, 2), &view));
    CHECK(view.shape[1] == 3 && view.strides[0] == 6, "[2, 3, 2]");
    array_free_all();
}
