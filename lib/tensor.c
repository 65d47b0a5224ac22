/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors as plain values: contiguous tensors, counting, references. Views are in view.c. */
#include <string.h>

#include <tandem/create.h>

#include "base/threads.h"
#include "check.h"

tdm_tensor tdmi_tensor_contiguous(tdm_buffer *buffer, tdm_dtype dtype, int ndim,
                                  const int64_t *shape) {
    tdm_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.buffer = buffer;
    tensor.dtype = dtype;
    tensor.ndim = ndim;
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        /* the first use of the tensor refuses a product that overflows */
        if (__builtin_mul_overflow(stride, shape[i] > 0 ? shape[i] : 1, &stride))
            stride = INT64_MAX;
    }
    return tensor;
}

tdm_tensor tdm_tensor_1d(tdm_buffer *buffer, tdm_dtype dtype, int64_t n) {
    return tdmi_tensor_contiguous(buffer, dtype, 1, (const int64_t[]){n});
}

tdm_tensor tdm_tensor_2d(tdm_buffer *buffer, tdm_dtype dtype, int64_t rows, int64_t cols) {
    return tdmi_tensor_contiguous(buffer, dtype, 2, (const int64_t[]){rows, cols});
}

tdm_tensor tdm_tensor_3d(tdm_buffer *buffer, tdm_dtype dtype, int64_t batch, int64_t rows,
                         int64_t cols) {
    return tdmi_tensor_contiguous(buffer, dtype, 3, (const int64_t[]){batch, rows, cols});
}

bool tdm_tensor_is_contiguous(const tdm_tensor *tensor) {
    int64_t stride = 1;
    if (!tensor) return false;
    for (int i = tensor->ndim - 1; i >= 0; i--)
        if (tensor->shape[i] == 0) return true;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != stride) return false;
        stride *= tensor->shape[i];
    }
    return true;
}

int64_t tdm_tensor_get_count(const tdm_tensor *tensor) {
    int64_t count = 1;
    if (!tensor) return 0;
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] == 0) return 0;
    for (int i = 0; i < tensor->ndim; i++) /* a product that overflows is refused by the checks */
        if (__builtin_mul_overflow(count, tensor->shape[i], &count)) return INT64_MAX;
    return count;
}

tdm_tensor tdm_tensor_retain(const tdm_tensor *tensor) {
    tdm_tensor copy;
    memset(&copy, 0, sizeof copy);
    if (!tensor) return copy;
    copy = *tensor;
    copy.buffer = tdm_buffer_retain(tensor->buffer);
    return copy;
}

void tdm_tensor_release(tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    if (!tensor) return;
    tdm_buffer_release(tensor->buffer);
    memset(tensor, 0, sizeof *tensor);
}

tdm_device *tdm_tensor_get_device(const tdm_tensor *tensor) {
    return tensor ? tdm_buffer_get_device(tensor->buffer) : NULL;
}
