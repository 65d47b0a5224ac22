/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NCCL. Its work runs in the order of the stream that it is given. It reports uses that NCCL leaves
 * undefined: a wrong stream or memory, 16-bit floats, which Tandem adds in f32. As the real one may, its maxima
 * lose a NaN. Between ranks everything goes through shared memory (exchange.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exchange.h"
#include "sim.h"

#include "comm/nccl_api.h"

typedef enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE } kind;

typedef struct piece {
    kind kind;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer;
    const char *x;
    char *y;
    size_t count, done; /* elements; bytes */
} piece;

struct ncclComm {
    sim_ends ends;
    CUcontext context;
    atomic_int pending; /* work on streams that has not ended */
    atomic_int inside;  /* threads in a call that is given it */
    ncclComm_t next;    /* of those that were aborted */
};
static _Atomic(ncclComm_t) aborted;

/* The pieces between the start and the end of a group, or one piece. */
enum { MOST_PIECES = 32 };
typedef struct job {
    ncclComm_t comm;
    cudaStream_t stream;
    size_t count, uses;
    sim_block *blocks[SIM_MAX_USES];
    piece pieces[MOST_PIECES];
} job;
static _Thread_local job group;
static _Thread_local int depth;

static size_t size_of(ncclDataType_t type) {
    if (type == ncclInt8 || type == ncclUint8) return 1;
    return type == ncclInt64 || type == ncclUint64 || type == ncclFloat64 ? 8 : 4;
}

/* ---- arithmetic ---- */

#define COMBINE(T, pick_max, pick_min)                                                             \
    {                                                                                              \
        const T *b = from;                                                                         \
        T *a = to;                                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            a[i] = op == ncclSum   ? (T)(a[i] + b[i])                                              \
                   : op == ncclMax ? (T)(pick_max)                                                 \
                                   : (T)(pick_min);                                                \
        return;                                                                                    \
    }
#define INTEGERS(T) COMBINE(T, a[i] > b[i] ? a[i] : b[i], a[i] < b[i] ? a[i] : b[i])

static void combine(ncclDataType_t type, ncclRedOp_t op, void *to, const void *from, size_t n) {
    switch (type) {
    case ncclInt8:
        INTEGERS(int8_t)
    case ncclUint8:
        INTEGERS(uint8_t)
    case ncclInt32:
        INTEGERS(int32_t)
    case ncclUint32:
        INTEGERS(uint32_t)
    case ncclInt64:
        INTEGERS(int64_t)
    case ncclUint64:
        INTEGERS(uint64_t)
    case ncclFloat32:
        COMBINE(float, fmaxf(a[i], b[i]), fminf(a[i], b[i]))
    case ncclFloat64:
        COMBINE(double, fmax(a[i], b[i]), fmin(a[i], b[i]))
    }
}

/* ---- in the stream's thread ---- */

/* `size` bytes of each rank's x, in steps; take is called with each rank's piece, and where it
 * begins. */
static bool in_steps(const piece *p, sim_ends *ends, size_t size,
                     void (*take)(const piece *p, const sim_ends *ends, size_t at, size_t n)) {
    for (size_t at = 0; at < size; at += SIM_SLOT) {
        const size_t n = size - at < SIM_SLOT ? size - at : SIM_SLOT;
        if (p->x) memcpy(ends->room->slots[ends->rank], p->x + at, n);
        if (!exchange_meet(ends)) return false;
        take(p, ends, at, n);
        if (!exchange_meet(ends)) return false;
    }
    return true;
}

static void take_sum(const piece *p, const sim_ends *ends, size_t at, size_t n) {
    static _Thread_local char sum[SIM_SLOT];
    const size_t element = size_of(p->type), own = (size_t)ends->rank * p->count * element;
    if (p->kind == REDUCE && p->peer != ends->rank) return;
    memcpy(sum, ends->room->slots[0], n);
    for (int i = 1; i < ends->ranks; i++)
        combine(p->type, p->op, sum, ends->room->slots[i], n / element);
    if (p->kind != REDUCE_SCATTER) {
        memcpy(p->y + at, sum, n);
        return;
    }
    const size_t end = own + p->count * element, from = at > own ? at : own,
                 to = at + n < end ? at + n : end;
    if (from < to) memcpy(p->y + (from - own), sum + (from - at), to - from);
}

static void take_root(const piece *p, const sim_ends *ends, size_t at, size_t n) {
    memcpy(p->y + at, ends->room->slots[p->peer], n);
}

static void take_all(const piece *p, const sim_ends *ends, size_t at, size_t n) {
    for (int i = 0; i < ends->ranks; i++)
        memcpy(p->y + (size_t)i * p->count * size_of(p->type) + at, ends->room->slots[i], n);
}

/* Moves the bytes that can be moved; returns whether the piece is done. */
static bool pass(piece *p, sim_ends *ends) {
    const size_t size = p->count * size_of(p->type);
    sim_mail *mail = p->kind == SEND ? &ends->room->mail[ends->rank][p->peer]
                                     : &ends->room->mail[p->peer][ends->rank];
    const size_t full = atomic_load(&mail->full);
    if ((full == 0) != (p->kind == SEND)) return false;
    if (p->kind == SEND) {
        const size_t n = size - p->done < SIM_MAIL ? size - p->done : SIM_MAIL;
        memcpy(mail->bytes, p->x + p->done, n);
        p->done += n;
        atomic_store(&mail->full, n);
    } else {
        const size_t n = full < size - p->done ? full : size - p->done;
        memcpy(p->y + p->done, mail->bytes, n);
        p->done += n;
        atomic_store(&mail->full, 0);
    }
    return p->done >= size;
}

/* All sends and receives of a group at once. */
static bool pass_all(job *j, sim_ends *ends) {
    for (;;) {
        size_t open = 0;
        for (size_t i = 0; i < j->count; i++) {
            piece *p = &j->pieces[i];
            if (p->kind != SEND && p->kind != RECEIVE) continue;
            if (p->done < p->count * size_of(p->type) && !pass(p, ends)) open++;
        }
        if (open == 0) return true;
        if (atomic_load(&ends->aborted)) return false;
        exchange_pause();
    }
}

static void run_job(void *payload) {
    job *j;
    memcpy(&j, payload, sizeof(job *));
    sim_ends *ends = &j->comm->ends;
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < j->count; i++) {
        const piece *p = &j->pieces[i];
        const size_t size = p->count * size_of(p->type);
        if (p->kind == SEND || p->kind == RECEIVE) continue;
        if (p->kind == BROADCAST)
            goes_on = in_steps(p, ends, size, take_root);
        else if (p->kind == ALL_GATHER)
            goes_on = in_steps(p, ends, size, take_all);
        else
            goes_on = in_steps(
                p, ends, p->kind == REDUCE_SCATTER ? size * (size_t)ends->ranks : size, take_sum);
    }
    if (goes_on) (void)pass_all(j, ends);
    atomic_fetch_sub(&j->comm->pending, 1);
    free(j);
}

/* ---- in the caller's thread ---- */

static ncclResult_t enqueue(void) {
    if (group.count == 0) return ncclSuccess;
    job *made = malloc(sizeof *made);
    if (!made) return ncclSystemError;
    *made = group;
    group = (job){0};
    int error = sim_stream_check(made->stream, "NCCL");
    sim_work work = {.run = run_job, .payload = &made, .size = sizeof made, .always = true};
    memcpy(work.uses, made->blocks, sizeof made->blocks);
    atomic_fetch_add(&made->comm->pending, 1);
    if (!error) error = sim_enqueue(made->stream, &work);
    if (!error) return ncclSuccess;
    atomic_fetch_sub(&made->comm->pending, 1);
    free(made);
    return ncclUnhandledCudaError;
}

/* The bytes that an address of the device's stands for. */
static bool find(ncclComm_t comm, const char *function, const void *address, size_t size,
                 char **bytes) {
    sim_block *block = sim_find(comm->context->device, address, size, function);
    if (!block) return false;
    *bytes = sim_bytes(block, address);
    for (size_t i = 0; i < group.uses; i++)
        if (group.blocks[i] == block) return true;
    if (group.uses == SIM_MAX_USES) return false;
    group.blocks[group.uses++] = block;
    return true;
}

static ncclResult_t add_inside(const char *function, piece p, const void *x, size_t x_count,
                               void *y, size_t y_count, ncclComm_t comm, cudaStream_t stream) {
    char *x_bytes = NULL, *y_bytes = NULL;
    const size_t element = size_of(p.type);
    int error = sim_fault(function);
    if (error) return (ncclResult_t)error;
    if (atomic_load(&comm->ends.aborted)) {
        sim_report("%s: of a communicator that was aborted", function);
        return ncclInvalidUsage;
    }
    if (sim_current() != comm->context) {
        sim_report("%s: the communicator is of another context than the current one", function);
        return ncclInvalidUsage;
    }
    if (p.type > ncclFloat64 || p.type == 6 || p.count == 0 || group.count == MOST_PIECES ||
        p.peer < 0 || p.peer >= comm->ends.ranks) {
        sim_report("%s: type %d, count %zu, peer %d", function, (int)p.type, p.count, p.peer);
        return ncclInvalidArgument;
    }
    if (group.count > 0 && (group.stream != stream || group.comm != comm)) {
        sim_report("%s: a group of two streams or communicators is not simulated", function);
        return ncclInvalidUsage;
    }
    if ((x_count && !find(comm, function, x, x_count * element, &x_bytes)) ||
        (y_count && !find(comm, function, y, y_count * element, &y_bytes)))
        return ncclInvalidArgument;
    p.x = x_bytes;
    p.y = y_bytes;
    group.comm = comm;
    group.stream = stream;
    group.pieces[group.count++] = p;
    return depth > 0 ? ncclSuccess : enqueue();
}

/* With a fault of "nccl slow" it takes as many milliseconds. */
static ncclResult_t add(const char *function, piece p, const void *x, size_t x_count, void *y,
                        size_t y_count, ncclComm_t comm, cudaStream_t stream) {
    atomic_fetch_add(&comm->inside, 1);
    (void)usleep(1000 * (useconds_t)sim_fault("nccl slow"));
    const ncclResult_t result = add_inside(function, p, x, x_count, y, y_count, comm, stream);
    atomic_fetch_sub(&comm->inside, 1);
    return result;
}

ncclResult_t ncclGroupStart(void) {
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) { return --depth > 0 ? ncclSuccess : enqueue(); }

ncclResult_t ncclAllReduce(const void *x, void *y, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const piece p = {.kind = ALL_REDUCE, .type = type, .op = op, .count = count};
    return add("ncclAllReduce", p, x, count, y, count, comm, stream);
}

ncclResult_t ncclReduce(const void *x, void *y, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
    const piece p = {.kind = REDUCE, .type = type, .op = op, .peer = root, .count = count};
    return add("ncclReduce", p, x, count, y, root == comm->ends.rank ? count : 0, comm, stream);
}

ncclResult_t ncclBroadcast(const void *x, void *y, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
    const piece p = {.kind = BROADCAST, .type = type, .peer = root, .count = count};
    return add("ncclBroadcast", p, x, root == comm->ends.rank ? count : 0, y, count, comm, stream);
}

ncclResult_t ncclAllGather(const void *x, void *y, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    const piece p = {.kind = ALL_GATHER, .type = type, .count = count};
    return add("ncclAllGather", p, x, count, y, count * (size_t)comm->ends.ranks, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *x, void *y, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const piece p = {.kind = REDUCE_SCATTER, .type = type, .op = op, .count = count};
    return add("ncclReduceScatter", p, x, count * (size_t)comm->ends.ranks, y, count, comm, stream);
}

ncclResult_t ncclSend(const void *x, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
    const piece p = {.kind = SEND, .type = type, .peer = to, .count = count};
    return add("ncclSend", p, x, count, NULL, 0, comm, stream);
}

ncclResult_t ncclRecv(void *y, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
    const piece p = {.kind = RECEIVE, .type = type, .peer = from, .count = count};
    return add("ncclRecv", p, NULL, 0, y, count, comm, stream);
}

/* ---- communicators ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    static atomic_int number;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/tandem-nccl-%ld-%d", (long)getpid(),
             atomic_fetch_add(&number, 1));
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "in progress"};
    return result <= ncclInProgress ? texts[result] : "unknown result code";
}

/* The last rank that comes takes the memory's name away. */
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
    int error = sim_fault("ncclCommInitRank");
    if (error) return (ncclResult_t)error;
    CUcontext context = sim_current();
    if (!context || ranks > SIM_MAX_RANKS) return ncclInvalidUsage;
    sim_room *room = exchange_open(id.internal);
    ncclComm_t made = room ? calloc(1, sizeof *made) : NULL;
    if (!made) return ncclSystemError;
    made->ends = (sim_ends){.room = room, .rank = rank, .ranks = ranks};
    made->context = context;
    atomic_store(&room->device[rank], context->device->number + 1);
    (void)exchange_meet(&made->ends);
    bool shared = false;
    for (int i = 0; i < ranks; i++)
        shared = shared ||
                 (i != rank && atomic_load(&room->device[i]) == atomic_load(&room->device[rank]));
    if (atomic_fetch_add(&room->left, 1) == ranks - 1) (void)shm_unlink(id.internal);
    if (shared) return ncclInvalidUsage;
    *comm = made;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (atomic_load(&comm->pending) > 0) sim_report("ncclCommDestroy: work is under way");
    exchange_close(comm->ends.room);
    free(comm);
    return ncclSuccess;
}

/* Waits end. The rest is kept, in a list: a stream may not be past it yet. */
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    (void)sim_fault("ncclCommAbort");
    if (atomic_load(&comm->inside) > 0) sim_report("ncclCommAbort: a thread is in another call");
    if (atomic_exchange(&comm->ends.aborted, true)) {
        sim_report("ncclCommAbort: for the second time");
        return ncclSuccess;
    }
    comm->next = atomic_load(&aborted);
    while (!atomic_compare_exchange_weak(&aborted, &comm->next, comm)) {
    }
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
    (void)comm;
    *error = (ncclResult_t)sim_fault("nccl async error");
    return ncclSuccess;
}
