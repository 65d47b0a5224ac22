/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Pieces as calls of NCCL. */
#include <tandem/cuda.h>

#include "error.h"
#include "team.h"

/* Sums of integers are those of unsigned ones, whose overflow is defined. */
static ncclDataType_t type_of(tdm_dtype dtype, ncclRedOp_t op) {
    const bool sum = op == ncclSum;
    switch (dtype) {
    case TDM_F64:
        return ncclFloat64;
    case TDM_F32:
        return ncclFloat32;
    case TDM_I64:
        return sum ? ncclUint64 : ncclInt64;
    case TDM_U64:
        return ncclUint64;
    case TDM_I32:
        return sum ? ncclUint32 : ncclInt32;
    case TDM_U32:
        return ncclUint32;
    case TDM_I8:
        return sum ? ncclUint8 : ncclInt8;
    default: /* u8, bool, and bytes */
        return ncclUint8;
    }
}

#define CALL(function, arguments) tdmi_nccl_check(tdmi_nccl.function arguments, #function)

static tdm_status run_piece(ncclComm_t comm, cudaStream_t stream, const tdmi_piece *p) {
    const ncclDataType_t type = type_of(p->dtype, p->op);
    switch (p->kind) {
    case TDMI_PIECE_ALL_REDUCE:
        return CALL(ncclAllReduce, (p->x, p->y, p->count, type, p->op, comm, stream));
    case TDMI_PIECE_REDUCE:
        return CALL(ncclReduce, (p->x, p->y, p->count, type, p->op, p->peer, comm, stream));
    case TDMI_PIECE_REDUCE_SCATTER:
        return CALL(ncclReduceScatter, (p->x, p->y, p->count, type, p->op, comm, stream));
    case TDMI_PIECE_BROADCAST:
        return CALL(ncclBroadcast, (p->x, p->y, p->count, ncclUint8, p->peer, comm, stream));
    case TDMI_PIECE_ALL_GATHER:
        return CALL(ncclAllGather, (p->x, p->y, p->count, ncclUint8, comm, stream));
    case TDMI_PIECE_SEND:
        return CALL(ncclSend, (p->x, p->count, ncclUint8, p->peer, comm, stream));
    default:
        return CALL(ncclRecv, (p->y, p->count, ncclUint8, p->peer, comm, stream));
    }
}

/* A group has to be ended also when one of its calls failed: only then does NCCL forget it. */
tdm_status tdmi_team_enqueue(tdm_device *device, ncclComm_t comm, tdm_queue *queue,
                             const tdmi_piece *pieces, size_t count) {
    tdmi_comm_outcome outcome = {0};
    cudaStream_t stream;
    bool entered;
    TDMI_TRY(tdm_cuda_get_stream(queue, &stream));
    TDMI_TRY(tdm_cuda_enter(device, &entered));
    if (count > 1) tdmi_comm_outcome_add(&outcome, CALL(ncclGroupStart, ()));
    for (size_t i = 0; i < count && outcome.status == TDM_OK; i++)
        tdmi_comm_outcome_add(&outcome, run_piece(comm, stream, &pieces[i]));
    if (count > 1) tdmi_comm_outcome_add(&outcome, CALL(ncclGroupEnd, ()));
    tdm_cuda_leave(device, entered);
    return tdmi_comm_outcome_end(&outcome);
}
