/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A whole state dict moved to another device, or converted to another dtype. */

#include "base/dtype.h"
#include "check.h"
#include "core.h"
#include "state_dict.h"
#include "tensors/create.h"
#include "tensors/move.h"

static tdm_status check_items(const char *function, tdm_queue *queue, const tdm_state_dict *dict) {
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    for (size_t i = 0; i < tdm_state_dict_get_count(dict); i++) {
        const tdmi_dict_item *item = tdmi_state_dict_at(dict, i);
        tdmi_arg arg = {item->node.name, &item->tensor, TDMI_ARG_MOVED, 0};
        TDMI_TRY(tdmi_check_args(function, queue, &arg, 1));
    }
    return TDM_OK;
}

/* The same names, metadata and scalars with the tensors y. */
static tdm_status fill(tdm_state_dict *moved, const tdm_state_dict *dict, const tdm_tensor *y) {
    for (size_t i = 0; i < tdm_state_dict_get_count(dict); i++) {
        const tdmi_dict_item *item = tdmi_state_dict_at(dict, i);
        TDMI_TRY(tdmi_state_dict_put(moved, item->node.name, &y[i], item->scalar));
    }
    for (size_t i = 0; i < tdm_state_dict_get_metadata_count(dict); i++) {
        const char *key, *value;
        TDMI_TRY(tdm_state_dict_get_metadata_item(dict, i, &key, &value));
        TDMI_TRY(tdm_state_dict_set_metadata(moved, key, value));
    }
    return TDM_OK;
}

tdm_status tdm_state_dict_to(tdm_queue *queue, const tdm_state_dict *dict, tdm_device *device,
                             tdm_state_dict **moved) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, moved);
    TDMI_NOT_NULL(__func__, queue);
    TDMI_NOT_NULL(__func__, dict);
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    TDMI_TRY(check_items(__func__, queue, dict));
    size_t count = tdm_state_dict_get_count(dict);
    tdm_tensor *x = tdmi_calloc(2 * count + 1, sizeof *x);
    if (!x) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
    tdm_tensor *const y = x + count;
    for (size_t i = 0; i < count; i++)
        x[i] = tdmi_state_dict_at(dict, i)->tensor;
    tdm_status status = tdmi_move(__func__, queue, count, x, device, y);
    if (status == TDM_OK) {
        status = tdm_state_dict_create(moved);
        if (status == TDM_OK) status = fill(*moved, dict, y);
        for (size_t i = 0; i < count; i++)
            tdm_tensor_release(&y[i]); /* the dict has its own references */
    }
    tdmi_free(x);
    if (status == TDM_OK) return TDM_OK;
    tdm_state_dict_destroy(*moved);
    *moved = NULL;
    return status;
}

static tdm_status cast_item(tdm_queue *queue, tdm_dtype dtype, tdm_state_dict *dict,
                            const tdmi_dict_item *item) {
    const tdm_tensor *x = &item->tensor;
    const bool stays = !tdm_dtype_is_float(x->dtype) || x->dtype == dtype;
    if (stays || x->buffer->packing != TDMI_NOT_PACKED) return TDM_OK;
    tdm_tensor y;
    TDMI_TRY(tdm_empty(queue, dtype, x->ndim, x->shape, &y));
    tdm_status status = tdm_cast(queue, x, &y);
    if (status == TDM_OK) status = tdmi_state_dict_put(dict, item->node.name, &y, item->scalar);
    tdm_tensor_release(&y);
    return status;
}

tdm_status tdm_state_dict_cast(tdm_queue *queue, tdm_dtype dtype, tdm_state_dict *dict) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, queue);
    TDMI_NOT_NULL(__func__, dict);
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    if (!tdm_dtype_is_float(dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %s, it must be one of %s", __func__,
                         tdm_dtype_name(dtype), tdmi_float_dtypes());
    for (size_t i = 0; i < tdm_state_dict_get_count(dict); i++) {
        const tdmi_dict_item *item = tdmi_state_dict_at(dict, i);
        const tdm_status status = cast_item(queue, dtype, dict, item);
        if (status != TDM_OK)
            return tdmi_fail_in(status, "%s: '%.200s'", __func__, item->node.name);
    }
    return TDM_OK;
}
