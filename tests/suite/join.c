/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors put together, and turned round: concat, stack and flip. */
#include <criterion/criterion.h>

#include "support/array.h"

TestSuite(join, .init = device_open, .fini = device_close);

enum { MOST = 20 };

/* The elements of y, row-major: x[0] to x[n - 1] side by side along a dimension, or stacked. */
static void put_together(array *const *x, int n, int dim, const tdm_tensor *y, bool stacked,
                         double *want) {
    int64_t inner = 1;
    for (int d = dim + 1; d < y->ndim; d++)
        inner *= y->shape[d];
    for (int64_t i = 0; i < tdm_tensor_get_count(y); i++) {
        int64_t at = i / inner % y->shape[dim];
        const int64_t before = i / inner / y->shape[dim];
        int k = 0;
        if (stacked) {
            k = (int)at;
            at = 0;
        }
        for (; !stacked && k < n && at >= x[k]->t.shape[dim]; k++)
            at -= x[k]->t.shape[dim];
        const int64_t extent = stacked ? 1 : x[k]->t.shape[dim];
        want[i] = x[k]->v[(before * extent + at) * inner + i % inner];
    }
}

static bool join_case(tdm_dtype dtype, int dim, int n, bool stacked, bool gaps) {
    check_case("%s of %d %s along %d, gaps %d", stacked ? "stack" : "concat", n,
               tdm_dtype_name(dtype), dim, gaps);
    array *x[MOST];
    const tdm_tensor *tensors[MOST];
    int64_t shape[4] = {2, 3, 5, 7}, strides[4] = {300, 60, 9, 1}, total = 0;
    for (int i = 0; i < n; i++) {
        if (!stacked) shape[dim] = random_integer(i > 0 ? 0 : 1, 3);
        x[i] = array_new(dtype, 4, shape, gaps && i % 2 ? strides : NULL);
        array_integers(x[i], 0, 100);
        tensors[i] = &x[i]->t;
        total += stacked ? 1 : shape[dim];
    }
    int64_t y_shape[5], y_strides[5], step = 1;
    const int ndim = stacked ? 5 : 4;
    for (int i = ndim - 1; i >= 0; i--) {
        y_shape[i] = i == dim ? total : shape[stacked && i > dim ? i - 1 : i];
        y_strides[i] = step;
        step *= y_shape[i] + (gaps ? 1 : 0);
    }
    array *y = array_new(dtype, ndim, y_shape, y_strides);
    double *want = numbers(y->count);
    put_together(x, n, dim, &y->t, stacked, want);
    const size_t count = (size_t)n;
    bool right = stacked ? OK(tdm_stack(queue, tensors, count, dim, &y->t))
                         : OK(tdm_concat(queue, tensors, count, dim, &y->t));
    right = right && ARRAY_CHECK(y, want, NULL);
    for (int i = 0; i < n; i++)
        right = ARRAY_SAME(x[i]) && right;
    array_free_all();
    return right;
}

/* Along every dimension, of every width, with gaps and empty tensors among them. */
Test(join, concat_and_stack, TAGS("few")) {
    static const tdm_dtype widths[] = {TDM_F32, TDM_I64, TDM_F16, TDM_BOOL, TDM_F64};
    for (size_t d = 0; d < sizeof widths / sizeof *widths; d++)
        for (int k = 0; k < (small ? 4 : 20); k++) {
            const bool stacked = k & 1;
            const int dim = k / 2 % (stacked ? 5 : 4), n = k % 5 == 4 ? MOST : 1 + k % 5;
            if (!join_case(widths[d], dim, n, stacked, k & 2)) return;
        }
}

/* Long rows side by side, as in attention's key cache. */
Test(join, long_rows) {
    array *a = array_2d(TDM_F32, 3, 20000, 20000), *b = array_2d(TDM_F32, 3, 1, 5);
    array *y = array_2d(TDM_F32, 3, 20001, 20001);
    check_case("long rows");
    array_uniform(a, -1, 1);
    array_uniform(b, -1, 1);
    double *want = numbers(y->count);
    array *const both[] = {a, b};
    put_together(both, 2, 1, &y->t, false, want);
    const tdm_tensor *tensors[] = {&a->t, &b->t};
    OK(tdm_concat(queue, tensors, 2, 1, &y->t));
    ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

static bool flip_case(tdm_dtype dtype, const int64_t *shape, int mask, bool turned) {
    const int64_t gaps[3] = {shape[1] * (shape[2] + 3) + 1, shape[2] + 3, 1};
    check_case("flip of %s %lldx%lldx%lld, dimensions %d, x transposed %d", tdm_dtype_name(dtype),
               (long long)shape[0], (long long)shape[1], (long long)shape[2], mask, turned);
    array *x = array_new(dtype, 3, shape, turned ? NULL : gaps);
    int64_t y_shape[3] = {shape[0], shape[turned ? 2 : 1], shape[turned ? 1 : 2]};
    array *y = array_new(dtype, 3, y_shape, NULL);
    array_integers(x, 0, 100);
    tdm_tensor view = x->t;
    bool right = !turned || OK(tdm_tensor_transpose(&x->t, 1, 2, &view));
    int dims[3], count = 0;
    for (int i = 2; i >= 0; i--)
        if (mask & 1 << i) dims[count++] = i;
    double *want = numbers(y->count);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t at[3] = {i / y_shape[2] / y_shape[1], i / y_shape[2] % y_shape[1], i % y_shape[2]};
        for (int d = 0; d < 3; d++)
            if (mask & 1 << d) at[d] = y_shape[d] - 1 - at[d];
        const int64_t row = turned ? at[2] : at[1], col = turned ? at[1] : at[2];
        want[i] = x->v[(at[0] * shape[1] + row) * shape[2] + col];
    }
    right = right && OK(tdm_flip(queue, &view, dims, (size_t)count, &y->t)) &&
            ARRAY_CHECK(y, want, NULL);
    right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

Test(join, flip) {
    static const tdm_dtype widths[] = {TDM_F32, TDM_U64, TDM_BF16, TDM_I8};
    static const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 5}, {3, 40, 70}, {1, 2, 9000}, {2, 0, 3}};
    for (size_t d = 0; d < sizeof widths / sizeof *widths; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int mask = 0; mask < 8; mask++)
                if (!flip_case(widths[d], shapes[s], mask, (mask + (int)s) % 2 == 0)) return;
}

Test(join, refusals) {
    array *a = array_2d(TDM_F32, 2, 3, 3), *b = array_2d(TDM_F32, 2, 4, 4);
    array *half = array_2d(TDM_F16, 2, 4, 4), *y = array_2d(TDM_F32, 2, 7, 7);
    array *other = array_2d(TDM_F32, 3, 4, 4), *line = array_1d(TDM_F32, 4);
    array *same = array_2d(TDM_F32, 2, 3, 3);
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, shape = TDM_ERROR_INVALID_SHAPE;
    const tdm_tensor *two[] = {&a->t, &b->t}, *mixed[] = {&a->t, &half->t};
    const tdm_tensor *tall[] = {&a->t, &other->t}, *flat[] = {&a->t, &line->t};
    const tdm_tensor *hole[] = {&a->t, NULL}, *own[] = {&a->t, &y->t};
    REFUSED(tdm_concat(queue, NULL, 2, 1, &y->t), argument, "tensors is NULL");
    REFUSED(tdm_concat(queue, NULL, 0, 1, &y->t), argument, "count is 0");
    REFUSED(tdm_concat(queue, two, 0, 1, &y->t), argument, "count");
    REFUSED(tdm_concat(queue, hole, 2, 1, &y->t), argument, "tensors[1]|NULL");
    REFUSED(tdm_concat(queue, two, 2, 2, &y->t), argument, "dim|2|-2 to 1");
    REFUSED(tdm_concat(queue, two, 2, -3, &y->t), argument, "dim|-3");
    REFUSED(tdm_concat(queue, two, 1, 1, &y->t), shape, "dimension 1|7|3");
    REFUSED(tdm_concat(queue, mixed, 2, 1, &y->t), TDM_ERROR_INVALID_DTYPE, "tensors[1]|f16|f32");
    REFUSED(tdm_concat(queue, tall, 2, 1, &y->t), shape, "tensors[1]|[3, 4]|[2, 7]");
    REFUSED(tdm_concat(queue, flat, 2, 1, &y->t), shape, "tensors[1]|[4]");
    REFUSED(tdm_concat(queue, own, 2, 1, &y->t), TDM_ERROR_OVERLAP, "y|tensors[1]");
    REFUSED(tdm_stack(queue, two, 2, 0, &y->t), shape, "tensors[0]|[2, 3]|[2, 7]");
    const int twice[] = {1, 1}, far[] = {2};
    REFUSED(tdm_flip(queue, &a->t, twice, 2, &same->t), argument, "dims[1] repeats dimension 1");
    REFUSED(tdm_flip(queue, &a->t, far, 1, &same->t), argument, "dim|2");
    REFUSED(tdm_flip(queue, &a->t, NULL, 1, &same->t), argument, "dims");
    REFUSED(tdm_flip(queue, &a->t, twice, 1, &a->t), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_flip(queue, &a->t, twice, 1, &b->t), shape, "[2, 3]|[2, 4]");
    REFUSED(tdm_flip(queue, &b->t, twice, 1, &half->t), TDM_ERROR_INVALID_DTYPE, "f32|f16");
    ARRAY_SAME(y);
    ARRAY_SAME(same);
    array_free_all();
}
