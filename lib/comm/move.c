/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* broadcast, all_gather, all_to_all and barrier: elements that move as they are. */
#include "direct.h"

enum { SMALL = 64 << 10 /* bytes that a broadcast sends whole, down a tree */ };

/* All parts of y go from their ranks to the others, this rank's from where it is, `own`, which is copied into y on the
 * way. The rank `has_all`, or -1, takes no part. */
static tdm_status spread(tdm_comm *comm, const void *own, char *y, size_t element, int has_all) {
    const int ranks = comm->ranks;
    const int64_t *starts = comm->starts;
    char *own_place = y + (size_t)starts[comm->rank] * element;
    const size_t own_size = (size_t)(starts[comm->rank + 1] - starts[comm->rank]) * element;
    for (int i = 1; i < ranks; i++) {
        const int from = (comm->rank + ranks - i) % ranks;
        if (comm->rank == has_all || from == has_all) continue;
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_GROUP_DATA, from, TDMI_CHANNEL_DATA,
                                   y + (size_t)starts[from] * element,
                                   (size_t)(starts[from + 1] - starts[from]) * element));
    }
    for (int i = 1; i < ranks; i++) {
        const int to = (comm->rank + i) % ranks;
        if (comm->rank == has_all || to == has_all) continue;
        TDMI_TRY(tdmi_comm_send(comm, TDMI_GROUP_DATA, to, TDMI_CHANNEL_DATA, own, own_size));
    }
    if (own_size && own != own_place) memcpy(own_place, own, own_size);
    return tdmi_comm_wait(comm, TDMI_GROUP_DATA);
}

/* From the root down a binomial tree. */
static tdm_status down_tree(tdm_comm *comm, int root, char *x, size_t size) {
    const int ranks = comm->ranks, place = (comm->rank - root + ranks) % ranks;
    int step = 1;
    for (; step < ranks; step *= 2) {
        if (!(place & step)) continue;
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_GROUP_DATA, (place - step + root) % ranks,
                                   TDMI_CHANNEL_DATA, x, size));
        TDMI_TRY(tdmi_comm_wait(comm, TDMI_GROUP_DATA));
        break;
    }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < ranks)
            TDMI_TRY(tdmi_comm_send(comm, TDMI_GROUP_DATA, (place + step + root) % ranks,
                                    TDMI_CHANNEL_DATA, x, size));
    return tdmi_comm_wait(comm, TDMI_GROUP_DATA);
}

/* A part to each rank but the root, which pass them on to each other. */
static tdm_status in_parts(tdm_comm *comm, int root, char *x, size_t size) {
    const int ranks = comm->ranks;
    const int64_t share = (int64_t)((size + (size_t)ranks - 2) / (size_t)(ranks - 1));
    comm->starts[0] = 0;
    for (int i = 0; i < ranks; i++) {
        const int64_t end = comm->starts[i] + (i == root ? 0 : share);
        comm->starts[i + 1] = end < (int64_t)size ? end : (int64_t)size;
    }
    for (int i = 0; comm->rank == root && i < ranks; i++)
        if (i != root)
            TDMI_TRY(tdmi_comm_send(comm, TDMI_GROUP_DATA, i, TDMI_CHANNEL_DATA,
                                    x + comm->starts[i],
                                    (size_t)(comm->starts[i + 1] - comm->starts[i])));
    if (comm->rank != root)
        TDMI_TRY(tdmi_comm_receive(
            comm, TDMI_GROUP_DATA, root, TDMI_CHANNEL_DATA, x + comm->starts[comm->rank],
            (size_t)(comm->starts[comm->rank + 1] - comm->starts[comm->rank])));
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_GROUP_DATA));
    return spread(comm, x + comm->starts[comm->rank], x, 1, root);
}

/* The end of each of these: the check, and the memory given back. */
static tdm_status leave(tdm_comm *comm, tdm_queue *queue, tdm_status status, tdmi_comm_side *from,
                        tdmi_comm_side *into) {
    if (status == TDM_OK) status = tdmi_comm_check(comm);
    status = tdmi_comm_end(comm, status);
    if (from) status = tdmi_comm_give(comm, queue, from, status);
    return tdmi_comm_give(comm, queue, into, status);
}

static tdm_status no_memory(tdm_comm *comm, tdm_status status) {
    return tdmi_comm_fail(comm, status, "rank %d: %s", comm->rank, tdm_last_error());
}

static tdm_status run_broadcast(tdm_comm *comm, tdm_queue *queue, const tdmi_comm_call *c) {
    return tdm_comm_broadcast(comm, queue, c->peer, c->y);
}

tdm_status tdm_comm_broadcast(tdm_comm *comm, tdm_queue *queue, int root, tdm_tensor *x) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_broadcast"));
    tdmi_comm_describe(comm, TDMI_COMM_BROADCAST, 0, root, x);
    tdm_status status = tdmi_comm_check_rank(comm, "root", root);
    const unsigned output = comm->rank == root ? 0u : TDMI_ARG_OUTPUT;
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED | output, 0}};
    if (status == TDM_OK) status = tdmi_comm_check_args(comm, queue, args, 1);
    if (comm->behind)
        return tdmi_comm_post(comm, queue, status,
                              &(tdmi_comm_call){run_broadcast, .peer = root, .y = x});
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_broadcast(comm, queue, root, x);
    tdmi_comm_side side = {0};
    status = comm->rank == root ? tdmi_comm_read(queue, x, &side)
                                : tdmi_comm_write(queue, x, false, &side);
    if (status != TDM_OK)
        status = no_memory(comm, status);
    else if (side.size <= SMALL || comm->ranks <= 2)
        status = down_tree(comm, root, side.bytes, side.size);
    else
        status = in_parts(comm, root, side.bytes, side.size);
    return leave(comm, queue, status, NULL, &side);
}

static tdm_status run_all_gather(tdm_comm *comm, tdm_queue *queue, const tdmi_comm_call *c) {
    return tdm_comm_all_gather(comm, queue, c->x, c->extents, c->y);
}

tdm_status tdm_comm_all_gather(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                               const int64_t *extents, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_all_gather"));
    tdmi_comm_describe(comm, TDMI_COMM_ALL_GATHER, 0, -1, y);
    tdm_status status = tdmi_comm_check_parts(comm, queue, x, extents, y, true);
    if (comm->behind)
        return tdmi_comm_post(
            comm, queue, status,
            &(tdmi_comm_call){run_all_gather, .x = x, .y = y, .extents = extents});
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_all_gather(comm, queue, x, y);
    const bool inside = x->buffer == y->buffer;
    tdmi_comm_side from = {0}, into = {0};
    status = inside ? tdmi_comm_read_aside(queue, x, &from) : tdmi_comm_read(queue, x, &from);
    if (status == TDM_OK) status = tdmi_comm_write(queue, y, false, &into);
    if (status != TDM_OK)
        status = no_memory(comm, status);
    else
        status = spread(comm, from.bytes, into.bytes, tdm_dtype_size(y->dtype), -1);
    return leave(comm, queue, status, &from, &into);
}

static tdm_status run_all_to_all(tdm_comm *comm, tdm_queue *queue, const tdmi_comm_call *c) {
    return tdm_comm_all_to_all(comm, queue, c->x, c->y);
}

tdm_status tdm_comm_all_to_all(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                               tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_all_to_all"));
    tdmi_comm_describe(comm, TDMI_COMM_ALL_TO_ALL, 0, -1, x);
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    tdm_status status = tdmi_comm_check_args(comm, queue, args, 2);
    if (status == TDM_OK && x->dtype != y->dtype)
        status = tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of y is %s, but that of x is %s",
                           comm->function, tdm_dtype_name(y->dtype), tdm_dtype_name(x->dtype));
    if (status == TDM_OK) status = tdmi_check_same_shape(comm->function, "x", x, "y", y);
    if (status == TDM_OK && x->shape[0] % comm->ranks != 0)
        status = tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                           "%s: the first extent of x is %lld, which is no multiple of %d ranks",
                           comm->function, (long long)x->shape[0], comm->ranks);
    if (comm->behind)
        return tdmi_comm_post(comm, queue, status,
                              &(tdmi_comm_call){run_all_to_all, .x = x, .y = y});
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_all_to_all(comm, queue, x, y);
    tdmi_comm_side from = {0}, into = {0};
    const bool inside = x->buffer == y->buffer;
    status = inside ? tdmi_comm_read_aside(queue, x, &from) : tdmi_comm_read(queue, x, &from);
    if (status == TDM_OK) status = tdmi_comm_write(queue, y, false, &into);
    if (status != TDM_OK) return leave(comm, queue, no_memory(comm, status), &from, &into);
    const size_t part = from.size / (size_t)comm->ranks;
    const char *x_bytes = from.bytes;
    char *y_bytes = into.bytes;
    for (int i = 1; status == TDM_OK && i < comm->ranks; i++) {
        const int peer = (comm->rank + comm->ranks - i) % comm->ranks;
        status = tdmi_comm_receive(comm, TDMI_GROUP_DATA, peer, TDMI_CHANNEL_DATA,
                                   y_bytes + (size_t)peer * part, part);
    }
    for (int i = 1; status == TDM_OK && i < comm->ranks; i++) {
        const int peer = (comm->rank + i) % comm->ranks;
        status = tdmi_comm_send(comm, TDMI_GROUP_DATA, peer, TDMI_CHANNEL_DATA,
                                x_bytes + (size_t)peer * part, part);
    }
    const size_t own = (size_t)comm->rank * part;
    if (part) memcpy(y_bytes + own, x_bytes + own, part);
    if (status == TDM_OK) status = tdmi_comm_wait(comm, TDMI_GROUP_DATA);
    return leave(comm, queue, status, &from, &into);
}

tdm_status tdmi_comm_any(tdm_comm *comm, bool own, bool *any) {
    char *all = tdmi_comm_scratch(comm, (size_t)comm->ranks);
    if (!all)
        return tdmi_comm_fail(comm, TDM_ERROR_OUT_OF_MEMORY, "rank %d is out of host memory",
                              comm->rank);
    all[comm->rank] = own;
    for (int i = 0; i <= comm->ranks; i++)
        comm->starts[i] = i;
    TDMI_TRY(tdmi_comm_end(comm, spread(comm, &all[comm->rank], all, 1, -1)));
    *any = memchr(all, 1, (size_t)comm->ranks);
    return TDM_OK;
}

tdm_status tdm_comm_barrier(tdm_comm *comm, tdm_queue *queue) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter_alone(&comm, "tdm_comm_barrier"));
    tdmi_comm_describe(comm, TDMI_COMM_BARRIER, 0, -1, NULL);
    tdm_status status = tdmi_comm_check_args(comm, queue, NULL, 0);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (!tdmi_comm_has_transport(comm)) return tdmi_direct_barrier(comm, queue);
    return tdmi_comm_end(comm, tdmi_comm_check(comm)); /* then all ranks have come */
}
