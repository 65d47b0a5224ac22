/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors without gaps: the tensor itself, or a copy bit by bit. */

#include "check.h"
#include "core.h"
#include "create.h"

/* The tensor as integers of the same width, which copies move bit by bit: as floats a NaN could
 * lose its payload, and f64 needs a device that computes with it. There are no 16-bit integers:
 * those dtypes become two bytes, one dimension more. */
static tdm_tensor as_integers(const tdm_tensor *x) {
    tdm_tensor y = *x;
    size_t size = tdm_dtype_size(x->dtype);
    y.dtype = size == 8 ? TDM_I64 : size == 4 ? TDM_I32 : TDM_U8;
    if (size != 2) return y;
    /* An extent of 1 may have any stride, even one that cannot be doubled. */
    for (int i = 0; i < y.ndim; i++)
        y.strides[i] = y.shape[i] > 1 ? 2 * y.strides[i] : 0;
    y.offset *= 2;
    y.shape[y.ndim] = 2;
    y.strides[y.ndim] = 1;
    y.ndim++;
    return y;
}

static tdm_status copy_as_integers(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *y) {
    tdm_tensor from = as_integers(x), to = as_integers(y);
    return tdm_cast(queue, &from, &to);
}

/* The tensor at one index of a dimension, without that dimension. */
static tdm_tensor without(const tdm_tensor *x, int dim, int64_t index) {
    tdm_tensor y = *x;
    y.offset += index * x->strides[dim];
    y.ndim--;
    for (int i = dim; i < y.ndim; i++) {
        y.shape[i] = x->shape[i + 1];
        y.strides[i] = x->strides[i + 1];
    }
    return y;
}

static tdm_status copy_bits(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *y) {
    if (tdm_dtype_size(x->dtype) != 2 || x->ndim < TDM_MAX_DIMS)
        return copy_as_integers(queue, x, y);
    /* No room for one dimension more: without the shortest one, then. */
    int dim = 0;
    for (int i = 1; i < x->ndim; i++)
        if (x->shape[i] < x->shape[dim]) dim = i;
    for (int64_t i = 0; i < x->shape[dim]; i++) {
        tdm_tensor from = without(x, dim, i), to = without(y, dim, i);
        TDMI_TRY(copy_as_integers(queue, &from, &to));
    }
    return TDM_OK;
}

tdm_status tdmi_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) {
    if (tdm_tensor_is_contiguous(x)) {
        *packed = *x;
        (void)tdm_buffer_retain(x->buffer);
        return TDM_OK;
    }
    TDMI_TRY(tdm_empty(queue->device, x->dtype, x->ndim, x->shape, packed));
    tdm_status status = copy_bits(queue, x, packed);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}
