/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* broadcast, all_gather, all_to_all and barrier: elements that move as they are. */
#include "direct.h"

enum { SMALL = 64 << 10 /* bytes that a broadcast sends whole, down a tree */ };

static void add(tdm_comm *comm, tdmi_comm_move move) { comm->moves[comm->move_count++] = move; }

/* This rank's part of y, which `from` is, and all others' go from each rank to all. */
static void spread(tdm_comm *comm, size_t element) {
    const int ranks = comm->ranks;
    const int64_t *starts = comm->starts;
    const size_t own = (size_t)starts[comm->rank] * element,
                 own_size = (size_t)starts[comm->rank + 1] * element - own;
    comm->move_count = 0;
    for (int i = 1; i < ranks; i++) {
        const int peer = (comm->rank + ranks - i) % ranks;
        const size_t at = (size_t)starts[peer] * element;
        add(comm, (tdmi_comm_move){.kind = TDMI_MOVE_RECEIVE,
                                   .peer = peer,
                                   .into = at,
                                   .size = (size_t)starts[peer + 1] * element - at});
    }
    for (int i = 1; i < ranks; i++)
        add(comm, (tdmi_comm_move){
                      .kind = TDMI_MOVE_SEND, .peer = (comm->rank + i) % ranks, .size = own_size});
    add(comm,
        (tdmi_comm_move){.kind = TDMI_MOVE_COPY, .fetches = true, .into = own, .size = own_size});
}

/* `size` bytes from the root down a binomial tree. */
static void down_tree(tdm_comm *comm, int root, size_t size) {
    const int ranks = comm->ranks, place = (comm->rank - root + ranks) % ranks;
    int step = 1;
    comm->move_count = 0;
    while (step < ranks && !(place & step))
        step *= 2;
    if (place > 0)
        add(comm, (tdmi_comm_move){.kind = TDMI_MOVE_RELAY,
                                   .peer = (place - step + root) % ranks,
                                   .size = size});
    for (step /= 2; step > 0; step /= 2)
        if (place + step < ranks)
            add(comm, (tdmi_comm_move){.kind = place > 0 ? TDMI_MOVE_FORWARD : TDMI_MOVE_SEND,
                                       .peer = (place + step + root) % ranks,
                                       .fetches = comm->move_count == 0,
                                       .size = size});
}

/* A part to each rank but the root, which passes it on to the others. */
static void in_parts(tdm_comm *comm, int root, size_t size) {
    const int ranks = comm->ranks, rank = comm->rank;
    const size_t share = (size + (size_t)ranks - 2) / (size_t)(ranks - 1);
    comm->move_count = 0;
    for (int i = 0; i < ranks; i++) {
        const size_t number = (size_t)(i < root ? i : i - 1), at = number * share;
        if (i == root || at >= size) continue;
        tdmi_comm_move move = {.kind = i == rank ? TDMI_MOVE_RELAY : TDMI_MOVE_RECEIVE,
                               .peer = i == rank ? root : i,
                               .from = at,
                               .into = at,
                               .size = size - at < share ? size - at : share};
        if (rank == root) {
            move.kind = TDMI_MOVE_SEND;
            move.fetches = true;
        }
        add(comm, move);
        move.kind = TDMI_MOVE_FORWARD;
        for (int k = 1; i == rank && k < ranks; k++) {
            move.peer = (rank + k) % ranks;
            if (move.peer != root) add(comm, move);
        }
    }
}

/* A part of so many bytes to each rank, and one from each. */
static void exchange(tdm_comm *comm, size_t part) {
    const int ranks = comm->ranks;
    comm->move_count = 0;
    for (int i = 0; i < ranks; i++) {
        const int to = (comm->rank + i) % ranks, from = (comm->rank + ranks - i) % ranks;
        tdmi_comm_move move = {.kind = i == 0 ? TDMI_MOVE_COPY : TDMI_MOVE_SEND,
                               .peer = to,
                               .fetches = true,
                               .from = (size_t)to * part,
                               .into = (size_t)from * part,
                               .size = part};
        add(comm, move);
        if (i == 0) continue;
        move.kind = TDMI_MOVE_RECEIVE;
        move.peer = from;
        move.fetches = false;
        add(comm, move);
    }
}

/* Runs the moves and ends the call. */
static tdm_status run(tdm_comm *comm, tdm_queue *queue, tdm_status status, tdmi_comm_side *from,
                      tdmi_comm_side *into) {
    if (status == TDM_OK) status = tdmi_comm_run_moves(comm, TDMI_CHANNEL_DATA, from, into);
    if (status == TDM_OK) status = tdmi_comm_check(comm);
    return tdmi_comm_leave(comm, queue, status, from, into);
}

tdm_status tdm_comm_broadcast(tdm_comm *comm, tdm_queue *queue, int root, tdm_tensor *x) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_broadcast"));
    tdmi_comm_describe(comm, TDMI_COMM_BROADCAST, 0, root, x);
    tdm_status status = tdmi_comm_check_rank(comm, "root", root);
    const unsigned output = comm->rank == root ? 0u : TDM_OPERAND_OUTPUT;
    const tdm_operand args[] = {{"x", x, TDM_OPERAND_MOVED | output, 0}};
    if (status == TDM_OK) status = tdmi_comm_check_args(comm, queue, args, 1);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_broadcast(comm, queue, root, x);
    tdmi_comm_side from = tdmi_comm_moved_side(comm), into = from;
    const bool is_root = comm->rank == root;
    const size_t size = tdmi_comm_bytes_of(x);
    status = tdmi_comm_sides(comm, queue, is_root ? x : NULL, is_root ? NULL : x, &from, &into);
    if (size <= SMALL || comm->ranks <= 2)
        down_tree(comm, root, size);
    else
        in_parts(comm, root, size);
    return run(comm, queue, status, &from, &into);
}

tdm_status tdm_comm_all_gather(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                               const int64_t *extents, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_all_gather"));
    tdmi_comm_describe(comm, TDMI_COMM_ALL_GATHER, 0, -1, y);
    tdm_status status = tdmi_comm_check_parts(comm, queue, x, extents, y, true);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_all_gather(comm, queue, x, y);
    tdmi_comm_side from = tdmi_comm_moved_side(comm), into = from;
    status = tdmi_comm_sides(comm, queue, x, y, &from, &into);
    spread(comm, tdm_dtype_size(y->dtype));
    return run(comm, queue, status, &from, &into);
}

tdm_status tdm_comm_all_to_all(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                               tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_all_to_all"));
    tdmi_comm_describe(comm, TDMI_COMM_ALL_TO_ALL, 0, -1, x);
    const tdm_operand args[] = {{"x", x, TDM_OPERAND_MOVED, 0},
                                {"y", y, TDM_OPERAND_MOVED | TDM_OPERAND_OUTPUT, 0}};
    tdm_status status = tdmi_comm_check_args(comm, queue, args, 2);
    if (status == TDM_OK) status = tdmi_comm_check_same_dtype(comm, x, y);
    if (status == TDM_OK) status = tdmi_comm_check_same_shape(comm->function, "x", x, "y", y);
    if (status == TDM_OK && x->shape[0] % comm->ranks != 0)
        status = tdmi_comm_error(
            TDM_ERROR_INVALID_SHAPE,
            "%s: the first extent of x is %lld, which is not a multiple of %d ranks",
            comm->function, (long long)x->shape[0], comm->ranks);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (comm->team) return tdmi_direct_all_to_all(comm, queue, x, y);
    tdmi_comm_side from = tdmi_comm_moved_side(comm), into = from;
    status = tdmi_comm_sides(comm, queue, x, y, &from, &into);
    exchange(comm, tdmi_comm_bytes_of(x) / (size_t)comm->ranks);
    return run(comm, queue, status, &from, &into);
}

tdm_status tdmi_comm_share(tdm_comm *comm, void *all, size_t size) {
    tdmi_comm_side from = {.bytes = (char *)all + (size_t)comm->rank * size}, into = {.bytes = all};
    for (int i = 0; i <= comm->ranks; i++)
        comm->starts[i] = i;
    spread(comm, size);
    return tdmi_comm_run_moves(comm, TDMI_CHANNEL_DATA, &from, &into);
}

tdm_status tdmi_comm_any(tdm_comm *comm, bool own, bool *any) {
    char *all = tdmi_comm_scratch(comm, (size_t)comm->ranks);
    if (!all)
        return tdmi_comm_fail(comm, TDM_ERROR_OUT_OF_MEMORY, "rank %d is out of host memory",
                              comm->rank);
    all[comm->rank] = own;
    TDMI_TRY(tdmi_comm_end(comm, tdmi_comm_share(comm, all, 1)));
    *any = memchr(all, 1, (size_t)comm->ranks);
    return TDM_OK;
}

tdm_status tdm_comm_barrier(tdm_comm *comm, tdm_queue *queue) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_barrier"));
    tdmi_comm_describe(comm, TDMI_COMM_BARRIER, 0, -1, NULL);
    tdm_status status = tdmi_comm_check_args(comm, queue, NULL, 0);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    if (!tdmi_comm_has_transport(comm)) return tdmi_direct_barrier(comm, queue);
    return tdmi_comm_end(comm, tdmi_comm_check(comm)); /* then all ranks have come */
}
