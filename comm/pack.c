/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors without gaps: the tensor itself, or a copy. */
#include "comm.h"

tdm_status tdmi_comm_pack_room(tdm_queue *queue, const tdm_tensor *y, tdm_tensor *packed) {
    if (!tdm_tensor_is_contiguous(y)) return tdm_empty(queue, y->dtype, y->ndim, y->shape, packed);
    *packed = tdm_tensor_retain(y);
    return TDM_OK;
}

tdm_status tdmi_comm_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) {
    TDMI_TRY(tdmi_comm_pack_room(queue, x, packed));
    if (tdm_tensor_is_contiguous(x)) return TDM_OK;
    const tdm_status status = tdm_cast(queue, x, packed);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}
