/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors from one rank to another: a header, then the elements. */

#include "direct.h"

#define PAIR_MAGIC 0x70646d74u

static tdmi_comm_header header_of(const tdm_tensor *tensor) {
    tdmi_comm_header header = {
        .magic = PAIR_MAGIC, .dtype = (uint8_t)tensor->dtype, .ndim = tensor->ndim};
    for (int i = 0; i < tensor->ndim; i++)
        header.shape[i] = tensor->shape[i];
    return header;
}

/* The rest of a receive, whose header has come. */
static tdm_status compare(tdm_comm *comm, int from, const tdm_tensor *y) {
    const tdmi_comm_header wanted = header_of(y);
    if (memcmp(&wanted, &comm->pair_in, sizeof wanted) == 0) return TDM_OK;
    tdm_tensor sent = {.ndim = comm->pair_in.ndim};
    if (sent.ndim < 1 || sent.ndim > TDM_MAX_DIMS) sent.ndim = 1;
    memcpy(sent.shape, comm->pair_in.shape, sizeof sent.shape);
    char sent_text[128], y_text[128];
    return tdmi_comm_fail(
        comm,
        wanted.dtype == comm->pair_in.dtype ? TDM_ERROR_INVALID_SHAPE : TDM_ERROR_INVALID_DTYPE,
        "rank %d sent %s %s, but rank %d receives %s %s", from,
        tdm_dtype_name((tdm_dtype)comm->pair_in.dtype), tdmi_comm_shape_text(&sent, sent_text),
        comm->rank, tdm_dtype_name(y->dtype), tdmi_comm_shape_text(y, y_text));
}

static tdm_status exchange(tdm_comm *comm, int to, tdmi_comm_side *x, int from, tdmi_comm_side *y) {
    comm->move_count = 0;
    if (from >= 0)
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_RESULTS, from, TDMI_CHANNEL_PAIRS, &comm->pair_in,
                                   sizeof comm->pair_in));
    if (to >= 0) {
        comm->pair_out = header_of(x->tensor);
        TDMI_TRY(tdmi_comm_send(comm, TDMI_SET_RESULTS, to, TDMI_CHANNEL_PAIRS, &comm->pair_out,
                                sizeof comm->pair_out));
        comm->moves[comm->move_count++] =
            (tdmi_comm_move){.kind = TDMI_MOVE_SEND, .peer = to, .fetches = true, .size = x->size};
    }
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_SET_RESULTS));
    if (from >= 0) {
        TDMI_TRY(compare(comm, from, y->tensor));
        comm->moves[comm->move_count++] =
            (tdmi_comm_move){.kind = TDMI_MOVE_RECEIVE, .peer = from, .size = y->size};
    }
    return tdmi_comm_run_moves(comm, TDMI_CHANNEL_PAIRS, x, y);
}

/* Before a team moves the tensors, which cannot be taken back: the receiver has the sender's header, and answers it by
 * the channel of data where it is as expected. */
static tdm_status agree(tdm_comm *comm, int to, const tdm_tensor *x, int from,
                        const tdm_tensor *y) {
    static const char nothing = 0;
    if (!tdmi_comm_has_transport(comm)) return TDM_OK;
    if (from >= 0)
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_RESULTS, from, TDMI_CHANNEL_PAIRS, &comm->pair_in,
                                   sizeof comm->pair_in));
    if (to >= 0) {
        comm->pair_out = header_of(x);
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_DATA, to, TDMI_CHANNEL_DATA, &comm->met, 1));
        TDMI_TRY(tdmi_comm_send(comm, TDMI_SET_DATA, to, TDMI_CHANNEL_PAIRS, &comm->pair_out,
                                sizeof comm->pair_out));
    }
    if (from >= 0) {
        TDMI_TRY(tdmi_comm_wait(comm, TDMI_SET_RESULTS));
        TDMI_TRY(compare(comm, from, y));
        TDMI_TRY(tdmi_comm_send(comm, TDMI_SET_DATA, from, TDMI_CHANNEL_DATA, &nothing, 1));
    }
    return tdmi_comm_wait(comm, TDMI_SET_DATA);
}

static tdm_status pass_directly(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x,
                                int from, tdm_tensor *y) {
    comm->in_use = false;
    TDMI_TRY(tdmi_comm_end(comm, agree(comm, to, x, from, y)));
    return tdmi_direct_pass(comm, queue, to, x, from, y);
}

static tdm_status check_peer(const tdm_comm *comm, const char *name, int peer) {
    TDMI_TRY(tdmi_comm_check_rank(comm, name, peer));
    if (peer != comm->rank) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is %d, this rank itself",
                           comm->function, name, peer);
}

static tdm_status pass(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x, int from,
                       tdm_tensor *y) {
    const tdm_operand args[] = {
        {"x", to >= 0 ? x : y, TDM_OPERAND_MOVED, 0},
        {"y", y, TDM_OPERAND_MOVED | TDM_OPERAND_OUTPUT, to >= 0 ? 0u : 1u}};
    if (to >= 0) TDMI_TRY(check_peer(comm, "to", to));
    if (from >= 0) TDMI_TRY(check_peer(comm, "from", from));
    if (to < 0 && from < 0) return tdmi_comm_check_args(comm, queue, NULL, 0);
    if (to >= 0) TDMI_TRY(tdmi_comm_check_args(comm, queue, args, from >= 0 ? 2 : 1));
    if (to < 0) TDMI_TRY(tdmi_comm_check_args(comm, queue, args + 1, 1));
    if (comm->team) return pass_directly(comm, queue, to, x, from, y);
    tdmi_comm_side sent = tdmi_comm_moved_side(comm), got = sent;
    comm->in_use = false;
    tdm_status status =
        tdmi_comm_sides(comm, queue, to >= 0 ? x : NULL, from >= 0 ? y : NULL, &sent, &got);
    if (status == TDM_OK) status = exchange(comm, to, &sent, from, &got);
    return tdmi_comm_leave(comm, queue, status, &sent, &got);
}

tdm_status tdm_comm_send(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_send"));
    TDMI_TRY(check_peer(comm, "to", to));
    return pass(comm, queue, to, x, -1, NULL);
}

tdm_status tdm_comm_receive(tdm_comm *comm, tdm_queue *queue, int from, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_receive"));
    TDMI_TRY(check_peer(comm, "from", from));
    return pass(comm, queue, -1, NULL, from, y);
}

tdm_status tdm_comm_send_receive(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x,
                                 int from, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_send_receive"));
    if (to != -1) TDMI_TRY(check_peer(comm, "to", to));
    if (from != -1) TDMI_TRY(check_peer(comm, "from", from));
    return pass(comm, queue, to, x, from, y);
}
