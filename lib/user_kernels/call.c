/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The part of calls that all of a user's kernels share, however their rows are run. */
#include "user_kernels/kernel.h"

int64_t tdmi_inner_stride(const tdmi_dims *d, int operand) {
    return d->count > 0 ? d->strides[operand][d->count - 1] : 1;
}

/* Does each row that is read or written element by element begin at a multiple of 16 bytes? */
bool tdmi_call_is_aligned(const tdmi_call *self, const tdmi_dims *d) {
    for (int k = 0; k < self->count; k++) {
        int64_t places = self->views[k].offset;
        if (tdmi_inner_stride(d, k) == 0) continue;
        for (int i = 0; i < d->count - 1; i++)
            places |= d->strides[k][i];
        if (!tdmi_is_aligned(places, tdm_dtype_size(self->views[k].dtype))) return false;
    }
    return true;
}

tdm_status tdmi_kernel_look_up(const tdmi_kernel_call *call, tdmi_variant variant) {
    tdmi_bkernel *kernel;
    bool is_compiled;
    if (call->purpose == TDMI_COMPILE) return tdmi_queue_kernel(call->queue, variant, &kernel);
    TDMI_TRY(tdmi_is_compiled(call->queue->device, variant, &is_compiled));
    *call->is_compiled = *call->is_compiled && is_compiled;
    return TDM_OK;
}

tdm_status tdmi_call_launch(const tdmi_call *self, tdmi_variant variant, int64_t items,
                            int64_t cols, const tdmi_mem *const *mems,
                            const tdm_expression_args *args) {
    if (self->wanted->purpose == TDMI_RUN)
        return tdmi_launch_items(self->queue, variant, items, cols, mems, args);
    return tdmi_kernel_look_up(self->wanted, tdmi_complete_variant(self->queue, variant, cols));
}
