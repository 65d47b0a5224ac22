/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Bytes that move as they are, in rounds. While one is on its way, what the next one sends is fetched from the device,
 * and what the one before brought is stored there and sent on. All ranks cut alike, whatever their devices. */
#include "comm.h"

enum { ROUND = 4 << 20 /* bytes of a move in one round */ };

/* The bytes that one call moves. */
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

/* The work on n bytes of a move, from `at` on, in one of two rounds that may be under way. */
typedef tdm_status step(const rounds *r, int slot, const tdmi_comm_move *move, size_t at, size_t n);

static tdm_status each(const rounds *r, size_t round, tdmi_move_kind kind, step *what) {
    for (int i = 0; i < r->comm->move_count; i++) {
        const tdmi_comm_move *move = &r->comm->moves[i];
        size_t at;
        const size_t n = part(move, round, &at);
        if (move->kind == kind && n > 0) TDMI_TRY(what(r, (int)(round % 2), move, at, n));
    }
    return TDM_OK;
}

static tdm_status fetch(const rounds *r, size_t round) {
    tdm_status status = TDM_OK;
    for (int i = 0; status == TDM_OK && i < r->comm->move_count; i++) {
        const tdmi_comm_move *move = &r->comm->moves[i];
        size_t at;
        const size_t n = part(move, round, &at);
        if (move->fetches) status = tdmi_comm_fetch(r->from, move->from + at, n);
    }
    if (status == TDM_OK) status = tdmi_comm_fetched_later(r->from, (int)(round % 2));
    return tdmi_comm_own_fault(r->comm, status);
}

static tdm_status store(const rounds *r, int slot, const tdmi_comm_move *move, size_t at,
                        size_t n) {
    (void)slot;
    return tdmi_comm_own_fault(r->comm, tdmi_comm_store(r->into, move->into + at, n));
}

static tdm_status copy(const rounds *r, int slot, const tdmi_comm_move *move, size_t at, size_t n) {
    TDMI_TRY(tdmi_comm_own_fault(
        r->comm, tdmi_comm_copy(r->from, move->from + at, r->into, move->into + at, n)));
    return store(r, slot, move, at, n);
}

static tdm_status send(const rounds *r, int slot, const tdmi_comm_move *move, size_t at, size_t n) {
    const bool forwards = move->kind == TDMI_MOVE_FORWARD;
    const char *bytes = forwards ? r->into->bytes : r->from->bytes;
    return tdmi_comm_send(r->comm, (forwards ? TDMI_SET_RESULTS : TDMI_SET_DATA) + slot, move->peer,
                          r->channel, bytes + move->from + at, n);
}

static tdm_status receive(const rounds *r, int slot, const tdmi_comm_move *move, size_t at,
                          size_t n) {
    const int set = move->kind == TDMI_MOVE_RELAY ? TDMI_SET_DATA : TDMI_SET_RESULTS;
    return tdmi_comm_receive(r->comm, set + slot, move->peer, r->channel,
                             (char *)r->into->bytes + move->into + at, n);
}

static tdm_status begin(const rounds *r, size_t round, bool last) {
    TDMI_TRY(each(r, round, TDMI_MOVE_RELAY, receive));
    TDMI_TRY(each(r, round, TDMI_MOVE_RECEIVE, receive));
    TDMI_TRY(tdmi_comm_own_fault(r->comm, tdmi_comm_fetched(r->from, (int)(round % 2))));
    if (!last) TDMI_TRY(fetch(r, round + 1));
    TDMI_TRY(each(r, round, TDMI_MOVE_SEND, send));
    return r->into->direct ? TDM_OK : each(r, round, TDMI_MOVE_COPY, copy);
}

/* The bytes to forward have come, and are sent on; then the rest has come, too. */
static tdm_status finish(const rounds *r, size_t round) {
    const int slot = (int)(round % 2);
    TDMI_TRY(tdmi_comm_wait(r->comm, TDMI_SET_DATA + slot));
    TDMI_TRY(each(r, round, TDMI_MOVE_FORWARD, send));
    TDMI_TRY(tdmi_comm_wait(r->comm, TDMI_SET_RESULTS + slot));
    TDMI_TRY(each(r, round, TDMI_MOVE_RELAY, store));
    return each(r, round, TDMI_MOVE_RECEIVE, store);
}

tdm_status tdmi_comm_run_moves(tdm_comm *comm, int channel, tdmi_comm_side *from,
                               tdmi_comm_side *into) {
    const rounds r = {comm, channel, from, into};
    size_t most = 0;
    for (int i = 0; i < comm->move_count; i++)
        if (comm->moves[i].size > most) most = comm->moves[i].size;
    const size_t count = most / ROUND + (most % ROUND > 0);
    if (count == 0) return TDM_OK;
    TDMI_TRY(fetch(&r, 0));
    for (size_t round = 0; round <= count; round++) {
        if (round < count) TDMI_TRY(begin(&r, round, round == count - 1));
        if (round > 0) TDMI_TRY(finish(&r, round - 1));
    }
    for (int i = 0; into->direct && i < comm->move_count; i++) /* the device copies all at once */
        if (comm->moves[i].kind == TDMI_MOVE_COPY)
            TDMI_TRY(copy(&r, 0, &comm->moves[i], 0, comm->moves[i].size));
    return TDM_OK;
}
