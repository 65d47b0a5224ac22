/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elements that move as they are, from device to device by a team. */
#include "direct.h"

tdm_status tdmi_direct_broadcast(tdm_comm *comm, tdm_queue *queue, int root, tdm_tensor *x) {
    tdm_tensor packed = {0};
    TDMI_TRY(tdmi_comm_end(comm, tdmi_comm_check(comm)));
    const bool is_root = comm->rank == root;
    tdm_status status =
        is_root ? tdmi_comm_pack(queue, x, &packed) : tdmi_comm_pack_room(queue, x, &packed);
    const tdmi_piece piece = {
        .kind = TDMI_PIECE_BROADCAST, .peer = root, .count = tdmi_comm_bytes_of(x)};
    if (status == TDM_OK) status = tdmi_direct_run(comm, queue, piece, &packed, &packed);
    if (!is_root) status = tdmi_direct_give(queue, x, &packed, status);
    if (is_root) tdm_tensor_release(&packed);
    return tdmi_direct_leave(comm, status);
}

/* Parts that are not equal: each is broadcast by its rank. */
static tdm_status gather_parts(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                               const tdm_tensor *y) {
    const size_t element = tdm_dtype_size(y->dtype);
    tdmi_piece *pieces = calloc((size_t)comm->ranks, sizeof *pieces);
    if (!pieces) return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = TDM_OK;
    size_t count = 0;
    for (int i = 0; status == TDM_OK && i < comm->ranks; i++) {
        const size_t at = (size_t)comm->starts[i] * element;
        const bool own = i == comm->rank;
        tdmi_piece piece = {.kind = TDMI_PIECE_BROADCAST,
                            .peer = i,
                            .count = (size_t)comm->starts[i + 1] * element - at};
        if (piece.count == 0) continue;
        status = tdmi_direct_set(comm, queue, &piece, own ? x : y, own ? 0 : at, y, at);
        pieces[count++] = piece;
    }
    if (status == TDM_OK) status = tdmi_team_run(comm->team, queue, pieces, count);
    free(pieces);
    return status;
}

static tdm_status gather(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                         const tdm_tensor *y) {
    const int64_t *starts = comm->starts;
    for (int i = 0; i < comm->ranks; i++)
        if (starts[i + 1] - starts[i] != starts[1]) return gather_parts(comm, queue, x, y);
    const tdmi_piece piece = {.kind = TDMI_PIECE_ALL_GATHER, .count = tdmi_comm_bytes_of(x)};
    return tdmi_direct_run(comm, queue, piece, x, y);
}

static size_t start_of(const tdm_tensor *x) { return (size_t)x->offset * tdm_dtype_size(x->dtype); }

/* A part to each rank, and one from each; the own one is copied. */
static tdm_status transpose(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                            const tdm_tensor *y) {
    const size_t part = tdmi_comm_bytes_of(x) / (size_t)comm->ranks,
                 own = (size_t)comm->rank * part;
    if (part == 0) return TDM_OK;
    tdmi_piece *pieces = calloc(2 * (size_t)comm->ranks, sizeof *pieces);
    if (!pieces) return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    size_t count = 0;
    tdm_status status = TDM_OK;
    for (int i = 1; status == TDM_OK && i < comm->ranks; i++) {
        const int to = (comm->rank + i) % comm->ranks,
                  from = (comm->rank + comm->ranks - i) % comm->ranks;
        tdmi_piece *sent = &pieces[count++], *got = &pieces[count++];
        *sent = (tdmi_piece){.kind = TDMI_PIECE_SEND, .peer = to, .count = part};
        *got = (tdmi_piece){.kind = TDMI_PIECE_RECEIVE, .peer = from, .count = part};
        status = tdmi_direct_set(comm, queue, sent, x, (size_t)to * part, NULL, 0);
        if (status == TDM_OK)
            status = tdmi_direct_set(comm, queue, got, NULL, 0, y, (size_t)from * part);
    }
    if (status == TDM_OK) status = tdmi_team_run(comm->team, queue, pieces, count);
    if (status == TDM_OK)
        status = tdm_buffer_copy_async(queue, x->buffer, start_of(x) + own, y->buffer,
                                       start_of(y) + own, part);
    free(pieces);
    return status;
}

/* From x to y, both packed where they have gaps. */
static tdm_status between(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y,
                          tdm_status (*move)(tdm_comm *, tdm_queue *, const tdm_tensor *,
                                             const tdm_tensor *)) {
    tdm_tensor from = {0}, into = {0};
    TDMI_TRY(tdmi_comm_end(comm, tdmi_comm_check(comm)));
    tdm_status status = tdmi_comm_pack(queue, x, &from);
    if (status == TDM_OK) status = tdmi_comm_pack_room(queue, y, &into);
    if (status == TDM_OK) status = move(comm, queue, &from, &into);
    tdm_tensor_release(&from);
    return tdmi_direct_leave(comm, tdmi_direct_give(queue, y, &into, status));
}

tdm_status tdmi_direct_all_gather(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                  tdm_tensor *y) {
    return between(comm, queue, x, y, gather);
}

tdm_status tdmi_direct_all_to_all(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                  tdm_tensor *y) {
    return between(comm, queue, x, y, transpose);
}

static tdm_status exchange(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x, int from,
                           const tdm_tensor *y) {
    tdmi_piece pieces[2] = {{.kind = TDMI_PIECE_SEND, .peer = to}};
    size_t count = 0;
    if (to >= 0 && tdmi_comm_bytes_of(x) > 0) {
        TDMI_TRY(tdmi_direct_set(comm, queue, &pieces[0], x, 0, NULL, 0));
        pieces[count++].count = tdmi_comm_bytes_of(x);
    }
    if (from >= 0 && tdmi_comm_bytes_of(y) > 0) {
        pieces[count] = (tdmi_piece){.kind = TDMI_PIECE_RECEIVE, .peer = from};
        TDMI_TRY(tdmi_direct_set(comm, queue, &pieces[count], NULL, 0, y, 0));
        pieces[count++].count = tdmi_comm_bytes_of(y);
    }
    return tdmi_team_run(comm->team, queue, pieces, count);
}

tdm_status tdmi_direct_pass(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x, int from,
                            tdm_tensor *y) {
    tdm_tensor sent = {0}, got = {0};
    tdm_status status = TDM_OK;
    if (to >= 0) status = tdmi_comm_pack(queue, x, &sent);
    if (status == TDM_OK && from >= 0) status = tdmi_comm_pack_room(queue, y, &got);
    if (status == TDM_OK) status = exchange(comm, queue, to, &sent, from, &got);
    tdm_tensor_release(&sent);
    if (from >= 0) status = tdmi_direct_give(queue, y, &got, status);
    return tdmi_direct_leave(comm, status);
}

/* A byte of each rank's, added up. */
tdm_status tdmi_direct_barrier(tdm_comm *comm, tdm_queue *queue) {
    static const int64_t one[] = {1};
    tdm_tensor met = {0};
    tdm_status status = tdm_zeros(queue, TDM_U8, 1, one, &met);
    const tdmi_piece piece = {
        .kind = TDMI_PIECE_ALL_REDUCE, .op = ncclSum, .dtype = TDM_U8, .count = 1};
    if (status == TDM_OK) status = tdmi_direct_run(comm, queue, piece, &met, &met);
    tdm_tensor_release(&met);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    return tdmi_direct_leave(comm, status);
}
