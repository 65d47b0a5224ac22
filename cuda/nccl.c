/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NCCL: the collectives of several processes' devices, on the streams of their queues. */
#include "cuda_backend.h"

#include "nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) __typeof__(&name) name;
static struct { TDMI_NCCL_LIST(FIELD) } nccl;

#define SYMBOL(name) {#name, (void (**)(void)) & nccl.name, false},
static const tdmi_symbol symbols[] = {TDMI_NCCL_LIST(SYMBOL)};

static const char *names[] = {"libnccl.so.2", NULL};
static tdmi_library library = {.title = "NVIDIA's NCCL",
                               .names = names,
                               .advice = "install NCCL 2.7 or newer (libnccl2), name its directory "
                                         "in TANDEM_LIBRARY_PATH, or its file in "
                                         "TANDEM_NCCL_LIBRARY"};

static void choose_file(void) {
    const char *file = tdmi_env_nccl_library();
    if (!file) return;
    names[0] = file;
    library.shared = true; /* this file and no other */
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static tdm_status open_library(void) {
    pthread_once(&once, choose_file);
    return tdmi_library_open(&library, symbols, sizeof symbols / sizeof *symbols);
}

void tdmi_nccl_diagnose(void) {
    pthread_once(&once, choose_file);
    tdmi_library_diagnose(&library, symbols, sizeof symbols / sizeof *symbols);
}

/* A rank's end of a communicator of NCCL's. */
struct tdmi_bteam {
    tdmi_bdevice *device;
    ncclComm_t comm;
};

static tdm_status check(ncclResult_t result, const char *what) {
    if (result == ncclSuccess) return TDM_OK;
    const char *text = nccl.ncclGetErrorString(result);
    return tdmi_fail(result == ncclRemoteError ? TDM_ERROR_RANK_LOST : TDM_ERROR_BACKEND,
                     "%s: %s (error %d)", what, text ? text : "unknown error", (int)result);
}

static tdm_status get_id(unsigned char bytes[TDMI_TEAM_ID]) {
    ncclUniqueId id;
    TDMI_TRY(open_library());
    TDMI_TRY(check(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId"));
    memcpy(bytes, id.internal, TDMI_TEAM_ID);
    return TDM_OK;
}

static tdm_status init(tdmi_bdevice *device, const unsigned char *bytes, int rank, int ranks,
                       tdmi_bteam *team) {
    ncclUniqueId id;
    bool pushed;
    TDMI_TRY(open_library());
    memcpy(id.internal, bytes, TDMI_TEAM_ID);
    TDMI_TRY(tdmi_cuda_enter(device, &pushed));
    tdm_status status =
        check(nccl.ncclCommInitRank(&team->comm, ranks, id, rank), "ncclCommInitRank");
    tdmi_cuda_leave(pushed);
    team->device = device;
    return status;
}

static void end(tdmi_bteam *team) {
    bool pushed;
    if (tdmi_cuda_enter(team->device, &pushed) != TDM_OK) return;
    (void)nccl.ncclCommDestroy(team->comm);
    tdmi_cuda_leave(pushed);
}

static void give_up(tdmi_bteam *team) {
    bool pushed;
    if (tdmi_cuda_enter(team->device, &pushed) != TDM_OK) return;
    (void)nccl.ncclCommAbort(team->comm);
    tdmi_cuda_leave(pushed);
}

static tdm_status test(tdmi_bteam *team) {
    ncclResult_t error = ncclSuccess;
    TDMI_TRY(check(nccl.ncclCommGetAsyncError(team->comm, &error), "ncclCommGetAsyncError"));
    return error == ncclInProgress ? TDM_OK : check(error, "NCCL");
}

/* Sums of integers are those of unsigned ones, whose overflow is defined. */
static ncclDataType_t type_of(tdm_dtype dtype, tdmi_team_op op) {
    const bool sum = op == TDMI_TEAM_SUM;
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

static tdm_status run_piece(const tdmi_bteam *team, cudaStream_t stream, const tdmi_piece *p) {
    static const ncclRedOp_t ops[] = {
        [TDMI_TEAM_SUM] = ncclSum, [TDMI_TEAM_MAX] = ncclMax, [TDMI_TEAM_MIN] = ncclMin};
    const void *x = p->x ? (const char *)p->x->handle + p->x_offset : NULL;
    void *y = p->y ? (char *)p->y->handle + p->y_offset : NULL;
    const ncclDataType_t type = type_of(p->dtype, p->op);
    const ncclRedOp_t op = ops[p->op];
    switch (p->kind) {
    case TDMI_TEAM_ALL_REDUCE:
        return check(nccl.ncclAllReduce(x, y, p->count, type, op, team->comm, stream),
                     "ncclAllReduce");
    case TDMI_TEAM_REDUCE:
        return check(nccl.ncclReduce(x, y, p->count, type, op, p->peer, team->comm, stream),
                     "ncclReduce");
    case TDMI_TEAM_REDUCE_SCATTER:
        return check(nccl.ncclReduceScatter(x, y, p->count, type, op, team->comm, stream),
                     "ncclReduceScatter");
    case TDMI_TEAM_BROADCAST:
        return check(nccl.ncclBroadcast(x, y, p->count, ncclUint8, p->peer, team->comm, stream),
                     "ncclBroadcast");
    case TDMI_TEAM_ALL_GATHER:
        return check(nccl.ncclAllGather(x, y, p->count, ncclUint8, team->comm, stream),
                     "ncclAllGather");
    case TDMI_TEAM_SEND:
        return check(nccl.ncclSend(x, p->count, ncclUint8, p->peer, team->comm, stream),
                     "ncclSend");
    default:
        return check(nccl.ncclRecv(y, p->count, ncclUint8, p->peer, team->comm, stream),
                     "ncclRecv");
    }
}

/* A group has to be ended also when one of its calls failed: only then does NCCL forget it. */
static tdm_status run(tdmi_bteam *team, tdmi_bqueue *queue, const tdmi_piece *pieces,
                      size_t count) {
    tdmi_outcome outcome = {0};
    bool pushed;
    TDMI_TRY(tdmi_cuda_enter(team->device, &pushed));
    if (count > 1) tdmi_outcome_add(&outcome, check(nccl.ncclGroupStart(), "ncclGroupStart"));
    for (size_t i = 0; i < count && outcome.status == TDM_OK; i++)
        tdmi_outcome_add(&outcome, run_piece(team, queue->stream, &pieces[i]));
    if (count > 1) tdmi_outcome_add(&outcome, check(nccl.ncclGroupEnd(), "ncclGroupEnd"));
    tdmi_cuda_leave(pushed);
    return tdmi_outcome_end(&outcome);
}

const tdmi_collectives tdmi_cuda_collectives = {.name = "NCCL",
                                                .team_size = sizeof(tdmi_bteam),
                                                .open = open_library,
                                                .get_id = get_id,
                                                .init = init,
                                                .end = end,
                                                .give_up = give_up,
                                                .test = test,
                                                .run = run};
