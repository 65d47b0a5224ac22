/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors that an operation of several launches has between them. */
#include "temporary.h"

#include "check.h"

tdm_status tdmi_temporary(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                          tdm_tensor *tensor) {
    TDMI_TRY(tdmi_empty("a temporary tensor", queue->device, dtype, ndim, shape, tensor));
    const tdm_status status = tdmi_order(queue, tensor->buffer, true);
    if (status != TDM_OK) tdm_tensor_release(tensor);
    return status;
}
