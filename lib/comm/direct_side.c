/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tensors of collectives that go from device to device, and how these end. */
#include "direct.h"
#include "tensors/create.h"

tdm_status tdmi_direct_give(tdm_queue *queue, const tdm_tensor *y, tdm_tensor *packed,
                            tdm_status status) {
    if (!packed->buffer) return status;
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    tdm_tensor target = *y;
    if (status == TDM_OK && !tdm_tensor_is_contiguous(y))
        tdmi_outcome_add(&outcome, tdm_cast(queue, packed, &target));
    tdm_tensor_release(packed);
    return tdmi_outcome_end(&outcome);
}

static size_t start_of(const tdm_tensor *x) { return (size_t)x->offset * tdm_dtype_size(x->dtype); }

tdm_status tdmi_direct_set(tdm_queue *queue, tdmi_piece *piece, const tdm_tensor *x, size_t x_at,
                           const tdm_tensor *y, size_t y_at) {
    if (x) {
        TDMI_TRY(tdmi_order(queue, x->buffer, false));
        piece->x = &x->buffer->block->mem;
        piece->x_offset = start_of(x) + x_at;
    }
    if (y) {
        TDMI_TRY(tdmi_order(queue, y->buffer, true));
        piece->y = &y->buffer->block->mem;
        piece->y_offset = start_of(y) + y_at;
    }
    return TDM_OK;
}

tdm_status tdmi_direct_run(tdm_comm *comm, tdm_queue *queue, tdmi_piece piece, const tdm_tensor *x,
                           const tdm_tensor *y) {
    if (piece.count == 0) return TDM_OK;
    TDMI_TRY(tdmi_direct_set(queue, &piece, x, 0, y, 0));
    return tdmi_team_run(comm->team, queue, &piece, 1);
}

tdm_status tdmi_direct_leave(tdm_comm *comm, tdm_status status) {
    if (status != TDM_OK && comm->ranks > 1 && !atomic_load(&comm->fault->failed))
        status = tdmi_comm_own_fault(comm, status);
    return tdmi_comm_end(comm, status);
}
