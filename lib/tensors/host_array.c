/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A tensor's content in a host array. */
#include "check.h"
#include "core.h"
#include "create.h"

tdm_status tdm_to_host(tdm_queue *queue, const tdm_tensor *x, void *data) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0}};
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 1));
    size_t size = tdm_dtype_size(x->dtype), bytes = tdmi_bytes_of(x);
    if (bytes > 0) TDMI_NOT_NULL(__func__, data);
    tdm_tensor packed = {0};
    TDMI_TRY(tdmi_pack(queue, x, &packed));
    tdm_status status =
        tdm_buffer_read(queue, packed.buffer, (size_t)packed.offset * size, data, bytes);
    tdm_tensor_release(&packed);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}
