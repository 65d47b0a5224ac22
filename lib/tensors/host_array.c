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

tdm_status tdm_write(tdm_queue *queue, const void *data, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"y", y, TDMI_ARG_OUTPUT | TDMI_ARG_MOVED, 0}};
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 1));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    TDMI_NOT_NULL(__func__, data);
    tdm_tensor rows = {0};
    tdm_status status = TDM_OK;
    if (tdm_tensor_is_contiguous(y)) {
        const size_t offset = (size_t)y->offset * tdm_dtype_size(y->dtype);
        status = tdm_buffer_write(queue, y->buffer, offset, data, tdmi_bytes_of(y));
    } else {
        status = tdm_from_host(queue, data, y->dtype, y->ndim, y->shape, &rows);
        if (status == TDM_OK) status = tdm_cast(queue, &rows, y);
        tdm_tensor_release(&rows);
    }
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}
