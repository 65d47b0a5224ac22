/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* concat, stack, flip, roll, tile and repeat: copies between views, bit by bit. */
#include <stdio.h>

#include <tandem/arrays.h>

#include "strided.h"
#include "verify.h"

/* An input of concat and stack, and the part of y that is its copy. */
typedef struct joined {
    const char *function;
    const tdm_tensor *x;
    const tdm_tensor *y;
    int dim;
    bool stacked; /* y has a separate dimension for the inputs */
    int64_t at;   /* where in that dimension */
} joined;

static tdm_tensor part_of(const joined *j) {
    tdm_tensor part = *j->y;
    const int64_t stride = part.strides[j->dim];
    part.shape[j->dim] = j->stacked ? 1 : j->x->shape[j->dim];
    if (tdm_tensor_get_count(&part) > 0) part.offset += j->at * stride;
    if (!j->stacked) return part;
    part.ndim--;
    for (int i = j->dim; i < part.ndim; i++) {
        part.shape[i] = part.shape[i + 1];
        part.strides[i] = part.strides[i + 1];
    }
    return part;
}

static tdm_status check_input(tdm_queue *queue, joined *j, size_t number) {
    char name[40];
    snprintf(name, sizeof name, "tensors[%zu]", number);
    const tdmi_arg args[] = {{name, j->x, TDMI_ARG_MOVED, 0},
                             {"y", j->y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(j->function, queue, args, 2));
    TDMI_TRY(tdmi_check_same_dtype(j->function, name, j->x, "y", j->y));
    TDMI_TRY(tdmi_check_dim(j->function, TDM_ERROR_INVALID_ARGUMENT, "dim", &j->dim, j->y->ndim));
    bool fits = j->x->ndim + (j->stacked ? 1 : 0) == j->y->ndim;
    for (int i = 0; fits && i < j->y->ndim; i++) {
        const int of_x = j->stacked && i > j->dim ? i - 1 : i;
        if (i != j->dim) fits = j->x->shape[of_x] == j->y->shape[i];
    }
    if (fits) return TDM_OK;
    char x_text[128], y_text[128];
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: the shape of %s is %s, which is not a part of y %s along dimension %d",
                     j->function, name, tdmi_shape_text(j->x, x_text),
                     tdmi_shape_text(j->y, y_text), j->dim);
}

static tdm_status wrong_extent(const joined *j, size_t joined_extent) {
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: dimension %d of y is %lld, but the tensors have %zu of it", j->function,
                     j->dim, (long long)j->y->shape[j->dim], joined_extent);
}

/* All checks, then a copy of each. */
static tdm_status join(const char *function, tdm_queue *queue, const tdm_tensor *const *tensors,
                       size_t count, int dim, bool stacked, const tdm_tensor *y) {
    if (!tensors || count == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                         count == 0 ? "count is 0, at least 1" : "tensors is NULL");
    joined j = {.function = function, .y = y, .dim = dim, .stacked = stacked};
    if (stacked) { /* before the array is read, as its count may be wrong */
        TDMI_TRY(tdmi_tensor_check(function, "y", y));
        TDMI_TRY(tdmi_check_dim(function, TDM_ERROR_INVALID_ARGUMENT, "dim", &j.dim, y->ndim));
        if (count != (uint64_t)y->shape[j.dim]) return wrong_extent(&j, count);
    }
    for (size_t i = 0; i < count; i++) {
        j.x = tensors[i];
        TDMI_TRY(check_input(queue, &j, i));
        if (__builtin_add_overflow(j.at, stacked ? 1 : j.x->shape[j.dim], &j.at)) j.at = INT64_MAX;
    }
    if (j.at != y->shape[j.dim]) return wrong_extent(&j, (size_t)j.at);
    j.at = 0;
    for (size_t i = 0; i < count; i++) {
        j.x = tensors[i];
        const tdm_tensor part = part_of(&j);
        TDMI_TRY(tdmi_copy_into(queue, j.x, &part));
        j.at += stacked ? 1 : j.x->shape[j.dim];
    }
    return TDM_OK;
}

tdm_status tdm_concat(tdm_queue *queue, const tdm_tensor *const *tensors, size_t count, int dim,
                      tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return join("tdm_concat", queue, tensors, count, dim, false, y);
}

tdm_status tdm_stack(tdm_queue *queue, const tdm_tensor *const *tensors, size_t count, int dim,
                     tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return join("tdm_stack", queue, tensors, count, dim, true, y);
}

tdm_status tdm_flip(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                    tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(__func__, queue, args, 2, tdm_flip(v->queue, v->t[0], dims, count, v->t[1]),
                .kind = TDMI_VERIFY_MOVED)
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    bool flipped[TDM_MAX_DIMS];
    TDMI_TRY(tdmi_check_dims(__func__, x, dims, count, flipped));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    tdm_tensor view = *x; /* from its last elements back */
    for (int i = 0; i < view.ndim; i++) {
        if (!flipped[i]) continue;
        view.offset += (view.shape[i] - 1) * view.strides[i];
        view.strides[i] = -view.strides[i];
    }
    return tdmi_copy_into(queue, &view, y);
}

tdm_status tdm_roll(tdm_queue *queue, const tdm_tensor *x, const int64_t *shifts, const int *dims,
                    size_t count, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    bool rolled[TDM_MAX_DIMS];
    TDMI_TRY(tdmi_check_dims(__func__, x, dims, count, rolled));
    if (count > 0) TDMI_NOT_NULL(__func__, shifts);
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    int64_t first[TDM_MAX_DIMS] = {0}; /* elements of the end, which come first */
    for (size_t i = 0; i < count; i++) {
        const int d = dims[i] < 0 ? dims[i] + x->ndim : dims[i];
        first[d] = shifts[i] % x->shape[d];
        if (first[d] < 0) first[d] += x->shape[d];
    }
    for (unsigned piece = 0; piece < 1u << x->ndim; piece++) {
        tdm_tensor from = *x, to = *y;
        for (int d = 0; d < x->ndim; d++) {
            const bool is_end = piece >> d & 1;
            const int64_t rest = x->shape[d] - first[d];
            from.offset += is_end ? rest * x->strides[d] : 0;
            to.offset += is_end ? 0 : first[d] * y->strides[d];
            from.shape[d] = to.shape[d] = is_end ? first[d] : rest;
        }
        TDMI_TRY(tdmi_copy_into(queue, &from, &to));
    }
    return TDM_OK;
}

static void add_dim(tdm_tensor *view, int64_t extent, int64_t stride) {
    view->shape[view->ndim] = extent;
    view->strides[view->ndim++] = stride;
}

/* Copies x to the y that has each extent of x as it is or, where `of_dim` is that dimension or -1, several times: of
 * that either all of x's elements in their order, or each of them. */
static tdm_status copy_times(const char *function, tdm_queue *queue, const tdm_tensor *x,
                             int of_dim, bool each, const tdm_tensor *y) {
    tdm_tensor from = *x, to = *y;
    char x_text[128], y_text[128];
    const int more = y->ndim - x->ndim;
    const bool empty = tdm_tensor_get_count(y) == 0;
    bool fits = each ? more == 0 : more >= 0;
    from.ndim = to.ndim = 0;
    for (int d = 0; fits && d < y->ndim; d++) {
        const int64_t n = d < more ? 1 : x->shape[d - more], all = y->shape[d];
        const int64_t stride = d < more ? 0 : x->strides[d - more], times = n > 0 ? all / n : 1;
        fits = times * n == all && (times == 1 || of_dim == -1 || of_dim == d);
        if (all == 1 || empty) continue;
        if (to.ndim + (times != 1 && n > 1) >= TDM_MAX_DIMS)
            return tdmi_fail(
                TDM_ERROR_UNSUPPORTED,
                "%s: y has %d dimensions, and too many of them are repeated: at most %d "
                "together",
                function, y->ndim, TDM_MAX_DIMS);
        if (times == 1 || n == 1) {
            add_dim(&from, all, times == 1 ? stride : 0);
            add_dim(&to, all, y->strides[d]);
            continue;
        }
        add_dim(&from, each ? n : times, each ? stride : 0);
        add_dim(&to, each ? n : times, y->strides[d] * (each ? times : n));
        add_dim(&from, each ? times : n, each ? 0 : stride);
        add_dim(&to, each ? times : n, y->strides[d]);
    }
    if (fits) return empty ? TDM_OK : tdmi_copy_into(queue, &from, &to);
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: the shape of y is %s, which is not that of x, %s, %s", function,
                     tdmi_shape_text(y, y_text), tdmi_shape_text(x, x_text),
                     each ? "but for a multiple in dim" : "or multiples of its extents");
}

tdm_status tdm_tile(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    return copy_times(__func__, queue, x, -1, false, y);
}

tdm_status tdm_repeat(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_INVALID_ARGUMENT, "dim", &dim, x->ndim));
    return copy_times(__func__, queue, x, dim, true, y);
}
