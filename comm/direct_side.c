/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tensors of collectives that go from device to device, and how these end. */
#include <tandem/cuda.h>

#include "direct.h"

tdm_status tdmi_direct_give(tdm_queue *queue, const tdm_tensor *y, tdm_tensor *packed,
                            tdm_status status) {
    if (!packed->buffer) return status;
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(&outcome, status);
    tdm_tensor target = *y;
    if (status == TDM_OK && !tdm_tensor_is_contiguous(y))
        tdmi_comm_outcome_add(&outcome, tdm_cast(queue, packed, &target));
    tdm_tensor_release(packed);
    return tdmi_comm_outcome_end(&outcome);
}

/* Checked once more, so that the queue waits for former users of the packed tensor. */
static tdm_status place(const tdm_comm *comm, tdm_queue *queue, const tdm_tensor *tensor, size_t at,
                        char **pointer) {
    const tdm_operand operand = {"a tensor", tensor, TDM_OPERAND_MOVED, 0};
    void *begin;
    TDMI_TRY(tdm_check_operands(comm->function, queue, &operand, 1));
    TDMI_TRY(tdm_cuda_get_pointer(tensor->buffer, &begin));
    *pointer = (char *)begin + (size_t)tensor->offset * tdm_dtype_size(tensor->dtype) + at;
    return TDM_OK;
}

tdm_status tdmi_direct_set(const tdm_comm *comm, tdm_queue *queue, tdmi_piece *piece,
                           const tdm_tensor *x, size_t x_at, const tdm_tensor *y, size_t y_at) {
    char *from = NULL, *into = NULL;
    if (x) TDMI_TRY(place(comm, queue, x, x_at, &from));
    if (y) TDMI_TRY(place(comm, queue, y, y_at, &into));
    piece->x = from;
    piece->y = into;
    return TDM_OK;
}

tdm_status tdmi_direct_run(tdm_comm *comm, tdm_queue *queue, tdmi_piece piece, const tdm_tensor *x,
                           const tdm_tensor *y) {
    if (piece.count == 0) return TDM_OK;
    TDMI_TRY(tdmi_direct_set(comm, queue, &piece, x, 0, y, 0));
    return tdmi_team_run(comm->team, queue, &piece, 1);
}

tdm_status tdmi_direct_leave(tdm_comm *comm, tdm_status status) {
    if (status != TDM_OK && comm->ranks > 1 && !atomic_load(&comm->fault->failed))
        status = tdmi_comm_own_fault(comm, status);
    return tdmi_comm_end(comm, status);
}
