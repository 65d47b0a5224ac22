/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors without gaps: the tensor itself, or a copy. */
#include "check.h"
#include "core.h"
#include "create.h"

tdm_status tdmi_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) {
    if (tdm_tensor_is_contiguous(x)) {
        *packed = *x;
        (void)tdm_buffer_retain(x->buffer);
        return TDM_OK;
    }
    TDMI_TRY(tdm_empty(queue, x->dtype, x->ndim, x->shape, packed));
    const tdm_status status = tdm_cast(queue, x, packed);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}
