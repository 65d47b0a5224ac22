/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Weights packed for products. */
#include <tandem/layers.h>

#include "blas.h"
#include "check.h"
#include "core.h"
#include "create.h"

/* The bytes of the panels of [n, k]; false when they overflow. */
static bool panel_bytes(tdm_dtype dtype, int64_t n, int64_t k, int64_t *bytes) {
    const int64_t cols = tdmi_cpu_panel_cols(dtype);
    const int64_t row = tdmi_panel_depth(dtype, k) * (int64_t)tdm_dtype_size(dtype);
    return !__builtin_mul_overflow((n + cols - 1) / cols * cols, row, bytes);
}

/* By way of the host: it is done once. */
static tdm_status write_panels(tdm_queue *queue, const tdm_tensor *weight, tdm_buffer *buffer) {
    char *const rows = tdmi_malloc(tdmi_bytes_of(weight)), *const panels =
                                                               tdmi_malloc(buffer->size);
    tdm_status status = rows && panels ? tdm_to_host(queue, weight, rows)
                                       : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (status == TDM_OK) {
        tdmi_cpu_panels_pack(weight->dtype, weight->shape[0], weight->shape[1], rows, panels);
        status = tdm_buffer_write(queue, buffer, 0, panels, buffer->size);
    }
    tdmi_queue_let_go(queue, tdmi_free, rows);
    tdmi_queue_let_go(queue, tdmi_free, panels);
    return status;
}

static tdm_status make(tdm_queue *queue, const tdm_tensor *weight, tdm_tensor *packed) {
    const bool panels =
        tdm_tensor_get_count(weight) > 0 && tdmi_blas_wants_panels(queue, weight->dtype);
    size_t usual;
    TDMI_TRY(tdmi_check_shape("weight", weight->dtype, 2, weight->shape, &usual));
    int64_t bytes = (int64_t)usual;
    if (panels && !panel_bytes(weight->dtype, weight->shape[0], weight->shape[1], &bytes))
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "weight with whole panels overflows 64 bits");
    tdm_buffer *buffer;
    TDMI_TRY(tdm_buffer_create(queue->device, (size_t)bytes, &buffer));
    tdm_tensor made = tdmi_tensor_contiguous(buffer, weight->dtype, 2, weight->shape);
    tdm_status status =
        panels ? write_panels(queue, weight, buffer) : tdm_cast(queue, weight, &made);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    if (status != TDM_OK) {
        tdm_buffer_release(buffer);
        return status;
    }
    buffer->packing = panels ? TDMI_PACKED_PANELS : TDMI_PACKED_ROWS;
    memcpy(buffer->packed_shape, weight->shape, sizeof buffer->packed_shape);
    tdm_buffer_freeze(buffer);
    *packed = made;
    return TDM_OK;
}

tdm_status tdm_pack_weight(tdm_queue *queue, const tdm_tensor *weight, tdm_tensor *packed) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, packed);
    const tdmi_arg args[] = {{"weight", weight, 0, 0}};
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 1));
    char text[128];
    if (weight->ndim != 2)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of weight is %s, it must be [out, in]", __func__,
                         tdmi_shape_text(weight, text));
    const tdm_status status = make(queue, weight, packed);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}
