/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors that an operation of several launches has between them. */
#include "temporary.h"

#include "check.h"

tdm_status tdmi_temporary(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                          tdm_tensor *tensor) {
    size_t bytes = tdm_dtype_size(dtype);
    for (int i = 0; i < ndim; i++)
        bytes *= (size_t)shape[i];
    tdm_buffer *buffer;
    TDMI_TRY(tdm_buffer_create(queue->device, bytes, &buffer));
    *tensor = tdmi_tensor_contiguous(buffer, dtype, ndim, shape);
    const tdm_status status = tdmi_order(queue, buffer, true);
    if (status != TDM_OK) tdm_tensor_release(tensor);
    return status;
}
