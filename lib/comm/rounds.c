/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Bytes that move as they are, in rounds. While one is on its way, what the next one sends is fetched from the device,
 * and what the one before brought is stored there and sent on. All ranks cut alike, whatever their devices. */
#include "comm.h"

enum { ROUND = 1 << 20 /* bytes of a move in one round */ };

/* What one call moves. */
typedef struct rounds {
    tdm_comm *comm;
    int channel;
    tdmi_comm_side *from, *into;
} rounds;

/* The bytes of a move that a round has. */
static size_t part(const tdmi_comm_move *move, size_t round, size_t *at) {
    *at = round * ROUND;
    if (*at >= move->size) return 0;
    return move->size - *at < ROUND ? move->size - *at : ROUND;
}

static tdm_status fetch(const rounds *r, size_t round) {
    tdm_comm *comm = r->comm;
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        size_t at;
        const size_t n = part(move, round, &at);
        if (move->fetches) TDMI_TRY(tdmi_comm_fetch(r->from, move->from + at, n));
    }
    return tdmi_comm_fetched_later(r->from, (int)(round % 2));
}

/* To itself, a rank copies. */
static tdm_status copy(const rounds *r, const tdmi_comm_move *move, size_t at, size_t n) {
    tdm_status status = tdmi_comm_copy(r->from, move->from + at, r->into, move->into + at, n);
    if (status == TDM_OK) status = tdmi_comm_store(r->into, move->into + at, n);
    return tdmi_comm_own_fault(r->comm, status);
}

static tdm_status send(const rounds *r, int group, const tdmi_comm_move *move,
                       const tdmi_comm_side *side, size_t at, size_t n) {
    return tdmi_comm_send(r->comm, group, move->peer, r->channel,
                          (const char *)side->bytes + move->from + at, n);
}

static tdm_status receive(const rounds *r, int group, const tdmi_comm_move *move, size_t at,
                          size_t n) {
    return tdmi_comm_receive(r->comm, group, move->peer, r->channel,
                             (char *)r->into->bytes + move->into + at, n);
}

static tdm_status begin(const rounds *r, size_t round, bool last) {
    tdm_comm *comm = r->comm;
    const int slot = (int)(round % 2);
    size_t at;
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        const size_t n = part(move, round, &at);
        if (move->kind == TDMI_MOVE_RECEIVE)
            TDMI_TRY(receive(r, TDMI_GROUP_RESULTS + slot, move, at, n));
        if (move->kind == TDMI_MOVE_RELAY)
            TDMI_TRY(receive(r, TDMI_GROUP_DATA + slot, move, at, n));
    }
    TDMI_TRY(tdmi_comm_own_fault(comm, tdmi_comm_fetched(r->from, slot)));
    if (!last) TDMI_TRY(tdmi_comm_own_fault(comm, fetch(r, round + 1)));
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        const size_t n = part(move, round, &at);
        if (move->kind == TDMI_MOVE_SEND)
            TDMI_TRY(send(r, TDMI_GROUP_DATA + slot, move, r->from, at, n));
    }
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        const size_t n = part(move, round, &at);
        if (move->kind == TDMI_MOVE_COPY && !r->into->direct) TDMI_TRY(copy(r, move, at, n));
    }
    return TDM_OK;
}

/* What is to be forwarded has come, and goes on; then the rest has come, too. */
static tdm_status finish(const rounds *r, size_t round) {
    tdm_comm *comm = r->comm;
    const int slot = (int)(round % 2);
    size_t at;
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_GROUP_DATA + slot));
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        const size_t n = part(move, round, &at);
        if (move->kind == TDMI_MOVE_FORWARD)
            TDMI_TRY(send(r, TDMI_GROUP_RESULTS + slot, move, r->into, at, n));
    }
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_GROUP_RESULTS + slot));
    for (int i = 0; i < comm->move_count; i++) {
        const tdmi_comm_move *move = &comm->moves[i];
        const size_t n = part(move, round, &at);
        if (move->kind == TDMI_MOVE_RECEIVE || move->kind == TDMI_MOVE_RELAY)
            TDMI_TRY(tdmi_comm_own_fault(comm, tdmi_comm_store(r->into, move->into + at, n)));
    }
    return TDM_OK;
}

tdm_status tdmi_comm_run_moves(tdm_comm *comm, int channel, tdmi_comm_side *from,
                               tdmi_comm_side *into) {
    const rounds r = {comm, channel, from, into};
    size_t most = 0;
    for (int i = 0; i < comm->move_count; i++)
        if (comm->moves[i].size > most) most = comm->moves[i].size;
    const size_t count = most / ROUND + (most % ROUND > 0);
    if (count == 0) return TDM_OK;
    TDMI_TRY(tdmi_comm_own_fault(comm, fetch(&r, 0)));
    for (size_t round = 0; round <= count; round++) {
        if (round < count) TDMI_TRY(begin(&r, round, round == count - 1));
        if (round > 0) TDMI_TRY(finish(&r, round - 1));
    }
    for (int i = 0; i < comm->move_count; i++) /* what the device copies has no rounds */
        if (comm->moves[i].kind == TDMI_MOVE_COPY && into->direct)
            TDMI_TRY(copy(&r, &comm->moves[i], 0, comm->moves[i].size));
    return TDM_OK;
}
