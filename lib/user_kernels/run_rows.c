/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running a user's kernel over rows: the rows' shape, and rows that are cut, whose chunks' values a second launch
 * puts together. */
#include "user_kernels/kernel.h"

/* ---- shapes ---- */

/* The shape that all tensors that are read broadcast to. */
static tdm_status find_shape(const tdmi_call *self, tdm_tensor *rows) {
    const tdmi_expression *e = &self->typed->expression;
    int owners[TDM_MAX_DIMS] = {0}; /* of the extents above 1 */
    char text[128], other_text[128];
    int64_t *const shape = rows->shape;
    rows->ndim = 0;
    for (int k = 0; k < self->count; k++)
        if (e->is_read[k] && self->tensors[k]->ndim > rows->ndim)
            rows->ndim = self->tensors[k]->ndim;
    for (int i = 0; i < rows->ndim; i++)
        shape[i] = 1;
    for (int k = 0; k < self->count; k++) {
        const tdm_tensor *tensor = self->tensors[k];
        for (int i = 0, to = rows->ndim - tensor->ndim; e->is_read[k] && i < tensor->ndim;
             i++, to++) {
            if (tensor->shape[i] == 1 || tensor->shape[i] == shape[to]) continue;
            if (shape[to] != 1)
                return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                                 "%s: the shapes of %s and %s, %s and %s, do not broadcast",
                                 self->function, self->names[owners[to]], self->names[k],
                                 tdmi_shape_text(self->tensors[owners[to]], text),
                                 tdmi_shape_text(tensor, other_text));
            shape[to] = tensor->shape[i];
            owners[to] = k;
        }
    }
    return TDM_OK;
}

/* An element for each row: y as if its rows had elements, all in one place. */
static tdm_status find_output(tdmi_call *self, int which, const tdm_tensor *rows) {
    const tdm_tensor *y = self->tensors[which];
    const int ndim = rows->ndim, wanted = ndim > 1 ? ndim - 1 : 1;
    const bool keeps = y->ndim == ndim && y->shape[ndim - 1] == 1;
    bool fits = keeps || y->ndim == wanted;
    for (int i = 0; fits && i < ndim - 1; i++)
        fits = y->shape[i] == rows->shape[i];
    if (ndim == 1) fits = y->ndim == 1 && y->shape[0] == 1;
    if (!fits) {
        char y_text[128], text[128];
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of %s is %s, but the rows' is %s: it must be that without "
                         "the last dimension, or with a last dimension of 1",
                         self->function, self->names[which], tdmi_shape_text(y, y_text),
                         tdmi_shape_text(rows, text));
    }
    tdm_tensor *view = &self->views[which];
    *view = *y;
    view->ndim = ndim;
    memcpy(view->shape, rows->shape, sizeof view->shape);
    view->strides[ndim - 1] = 0;
    return TDM_OK;
}

tdm_status tdmi_call_find_rows(tdmi_call *self) {
    const tdmi_expression *e = &self->typed->expression;
    const int y = e->outputs[0].tensor;
    tdm_tensor rows = *self->tensors[y];
    if (!e->has_apply) TDMI_TRY(find_shape(self, &rows));
    const int64_t cols = rows.shape[rows.ndim - 1];
    if (cols > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the rows have %lld elements, allowed are fewer than 2^31",
                         self->function, (long long)cols);
    for (int k = 0; k < self->count; k++) {
        if (k == y && !e->has_apply)
            TDMI_TRY(find_output(self, k, &rows));
        else
            TDMI_TRY(tdmi_broadcast(self->function, self->names[k], self->tensors[k],
                                    self->names[y], &rows, &self->views[k]));
        /* of no elements none is the same for all */
        if (cols == 0 && k != y) self->views[k].strides[rows.ndim - 1] = 1;
    }
    return TDM_OK;
}

/* ---- launches ---- */

/* The bytes of an element of what is read along rows, the largest of them. */
static size_t element_size(const tdmi_call *self) {
    size_t largest = 1;
    for (int k = 0; k < self->count; k++) {
        const size_t size = tdm_dtype_size(self->tensors[k]->dtype);
        if (self->typed->expression.is_read[k] && size > largest) largest = size;
    }
    return largest;
}

tdm_status tdmi_call_combine(const tdmi_call *self, const tdmi_dims *d, const tdmi_row_form *form,
                             tdm_expression_args *args) {
    const tdmi_expression *e = &self->typed->expression;
    const tdmi_user_kernel *program = form->program;
    const int64_t cols = d->shape[d->count - 1];
    const size_t size = element_size(self);
    const size_t value = tdm_dtype_size(tdmi_type_dtype(e->nodes[e->mapped].type));
    const tdmi_mem *mems[TDM_KERNEL_MAX_TENSORS] = {NULL};
    tdmi_variant variant = {
        .kernel = TDMI_KERNEL_USER,
        .t = program->t,
        .u = program->u,
        .op = program->vectors,
        .user = program->number,
        .stream = tdmi_stores(self->queue, args->rows, cols, size, true),
        .vectors = !form->is_plain                 ? 0
                   : tdmi_call_is_aligned(self, d) ? 1
                                                   : TDMI_LOOSE,
    };
    for (int k = 0; k < self->count; k++)
        mems[k] = tdmi_mem_of(&self->views[k]);
    args->index_stride = cols;
    args->cut = tdmi_cut_chunks(self->queue, args->rows, cols, 0, size);
    const int64_t items = args->rows * args->cut.pieces;
    if (args->cut.pieces == 1) return tdmi_call_launch(self, variant, items, cols, mems, args);
    if (self->wanted->purpose == TDMI_RUN)
        TDMI_TRY(tdmi_queue_scratch(self->queue, (size_t)args->rows * args->cut.chunks * value,
                                    &mems[self->count]));
    args->cut.phase = TDM_ROWS_SUMS;
    TDMI_TRY(tdmi_call_launch(self, variant, items, cols, mems, args));
    args->cut.phase = TDM_ROWS_WRITES;
    if (!e->has_apply) args->cut.pieces = 1;
    return tdmi_call_launch(self, variant, args->rows * args->cut.pieces, cols, mems, args);
}
