/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* concat, stack and flip: copies between views, bit by bit. */
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
                     "%s: the shape of %s is %s, which is no part of y %s along dimension %d",
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
                         tensors ? "count is 0, at least 1" : "tensors is NULL");
    joined j = {.function = function, .y = y, .dim = dim, .stacked = stacked};
    if (stacked) { /* before the array is read, of which the count may be wrong */
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
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(tdmi_check_same_dtype(__func__, "x", x, "y", y));
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
