/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors without gaps: the tensor itself, or a copy. */
#include "check.h"
#include "core.h"
#include "create.h"

tdm_status tdmi_pack_room(tdm_queue *queue, const tdm_tensor *y, tdm_tensor *packed) {
    if (!tdm_tensor_is_contiguous(y))
        return tdm_empty(queue->device, y->dtype, y->ndim, y->shape, packed);
    *packed = *y;
    (void)tdm_buffer_retain(y->buffer);
    return TDM_OK;
}

tdm_status tdmi_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) {
    TDMI_TRY(tdmi_pack_room(queue, x, packed));
    if (tdm_tensor_is_contiguous(x)) return TDM_OK;
    tdm_status status = tdm_cast(queue, x, packed);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}
