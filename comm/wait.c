/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Messages under way, and waiting for them: until they are done, a fault is known, or nothing came for too long. */
#include <stdio.h>

#include "comm.h"
#include "platform/threads.h"

enum { SPINS = 64 }; /* tests of all messages between two looks at the notes */

/* A rank to which nothing comes for so long naps, and looks again after each nap. */
#define SPIN_SECONDS 1e-3

static tdmi_message *next(tdmi_message_set *set, int peer, size_t size, bool receives) {
    tdmi_message *message = &set->messages[set->count];
    *message = (tdmi_message){.size = size, .peer = peer, .receives = receives};
    return message;
}

static tdm_status begun(tdm_comm *comm, tdmi_message_set *set, tdm_status status) {
    if (status != TDM_OK) return tdmi_comm_fail(comm, status, "%s", tdm_last_error());
    set->messages[set->count++].active = true;
    return TDM_OK;
}

tdm_status tdmi_comm_send(tdm_comm *comm, int set, int to, int channel, const void *bytes,
                          size_t size) {
    if (size == 0) return TDM_OK;
    tdmi_message_set *of = &comm->sets[set];
    tdmi_message *message = next(of, to, size, false);
    return begun(
        comm, of,
        comm->transport.send(comm->transport.state, to, channel, bytes, size, &message->message));
}

tdm_status tdmi_comm_receive(tdm_comm *comm, int set, int from, int channel, void *bytes,
                             size_t size) {
    if (size == 0) return TDM_OK;
    tdmi_message_set *of = &comm->sets[set];
    tdmi_message *message = next(of, from, size, true);
    return begun(comm, of,
                 comm->transport.receive(comm->transport.state, from, channel, bytes, size,
                                         &message->message));
}

tdm_status tdmi_comm_exchange_headers(tdm_comm *comm) {
    const int step = 1 << comm->heard, ranks = comm->ranks;
    const int from = (comm->rank + ranks - step) % ranks, to = (comm->rank + step) % ranks;
    TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_CHECK, from, TDMI_CHANNEL_CHECK, &comm->headers[from],
                               sizeof comm->header));
    return tdmi_comm_send(comm, TDMI_SET_CHECK, to, TDMI_CHANNEL_CHECK, &comm->header,
                          sizeof comm->header);
}

/* Where the header that is waited for has come, it is compared, and the next ones begin. *more: there are some. */
static tdm_status pass_on(tdm_comm *comm, bool *more) {
    const tdmi_message_set *check = &comm->sets[TDMI_SET_CHECK];
    const int received = 2 * comm->heard; /* after a receive and a send of each step before */
    *more = false;
    if (received >= check->count || !check->messages[received].done) return TDM_OK;
    TDMI_TRY(tdmi_comm_compare(comm, check->messages[received].peer));
    comm->heard++;
    *more = 1 << comm->heard < comm->ranks;
    return *more ? tdmi_comm_exchange_headers(comm) : TDM_OK;
}

/* Headers of other ranks, and their notes, which report faults. */
static tdm_status look(tdm_comm *comm, int waits_for) {
    tdmi_message_set *check = &comm->sets[TDMI_SET_CHECK];
    for (int i = 0; i < check->count; i++) {
        tdmi_message *message = &check->messages[i];
        size_t received = 0;
        int failed = -1;
        bool done = false;
        if (!message->active) continue;
        if (comm->transport.test(comm->transport.state, &message->message, &done, &received,
                                 &failed) != TDM_OK) {
            comm->in_use = tdmi_comm_drop(comm, message) || comm->in_use;
            continue;
        }
        message->active = !done;
        message->done = done && (!message->receives || received == message->size);
    }
    bool more;
    TDMI_TRY(pass_on(comm, &more));
    return tdmi_comm_look(comm, waits_for);
}

/* One message. If it failed, or is not as large as it should be, a header or a note may give the reason. It is
 * given up before these are looked at, which would test it again, were it a header. */
static tdm_status test(tdm_comm *comm, tdmi_message *message, bool *done) {
    size_t received = message->size;
    int failed = -1;
    tdm_status status =
        comm->transport.test(comm->transport.state, &message->message, done, &received, &failed);
    const bool fits = !*done || !message->receives || received == message->size;
    message->done = status == TDM_OK && *done && fits;
    if (status == TDM_OK && *done) message->active = false;
    if (status == TDM_OK && fits) return TDM_OK;
    char why[256];
    if (status == TDM_OK)
        snprintf(why, sizeof why, "rank %d sent %zu bytes where %zu were expected", message->peer,
                 received, message->size);
    else
        snprintf(why, sizeof why, "%.200s", tdm_last_error());
    comm->in_use = tdmi_comm_drop(comm, message) || comm->in_use;
    TDMI_TRY(tdmi_comm_explain(comm, message->peer, look));
    if (status != TDM_OK && failed >= 0)
        return tdmi_comm_fail(comm, TDM_ERROR_RANK_LOST, "rank %d ended: %s", failed, why);
    return tdmi_comm_fail(comm, status == TDM_OK ? TDM_ERROR_INVALID_SHAPE : status, "%s", why);
}

/* All messages that are not done; *open is the rank that one of these waits for, -1: there is none. */
static tdm_status test_all(tdm_comm *comm, tdmi_message_set *set, int *open, bool *moved) {
    *open = -1;
    for (int i = 0; i < set->count; i++) {
        tdmi_message *message = &set->messages[i];
        if (!message->active) continue;
        bool done = false;
        TDMI_TRY(test(comm, message, &done));
        *moved = *moved || done;
        if (!done && *open < 0) *open = message->peer;
    }
    return TDM_OK;
}

/* Fails where, while something else was waited for, a header could not be sent or received. */
static tdm_status all_headers(tdm_comm *comm) {
    const tdmi_message_set *check = &comm->sets[TDMI_SET_CHECK];
    for (int i = 0; i < check->count; i++) {
        const tdmi_message *message = &check->messages[i];
        if (message->done) continue;
        TDMI_TRY(tdmi_comm_explain(comm, message->peer, look));
        return tdmi_comm_fail(comm, TDM_ERROR_BACKEND, "the header of rank %d could not be %s",
                              message->receives ? message->peer : comm->rank,
                              message->receives ? "received" : "sent");
    }
    return TDM_OK;
}

tdm_status tdmi_comm_wait(tdm_comm *comm, int set) {
    tdmi_message_set *of = &comm->sets[set];
    double since = tdmi_comm_now();
    for (unsigned spins = 1;; spins++) {
        bool moved = false;
        int open;
        TDMI_TRY(test_all(comm, of, &open, &moved));
        bool more = false;
        if (set == TDMI_SET_CHECK) TDMI_TRY(pass_on(comm, &more));
        if (more) continue;
        if (open < 0 && set == TDMI_SET_CHECK) TDMI_TRY(all_headers(comm));
        if (open < 0) break;
        const double now = tdmi_comm_now();
        if (moved) since = now;
        if (now - since > comm->timeout) return tdmi_comm_late(comm, open);
        if (spins % SPINS != 0) continue;
        TDMI_TRY(look(comm, open));
        tdmi_thread_yield();
        if (now - since > SPIN_SECONDS) tdmi_comm_nap();
    }
    of->count = 0;
    return TDM_OK;
}

static void give_up(tdm_comm *comm, tdmi_message_set *set) {
    for (int i = 0; i < set->count; i++)
        comm->in_use = tdmi_comm_drop(comm, &set->messages[i]) || comm->in_use;
    set->count = 0;
}

void tdmi_comm_abandon(tdm_comm *comm) {
    for (int i = 0; i < TDMI_SET_COUNT; i++)
        give_up(comm, &comm->sets[i]);
    if (!comm->in_use) return;
    comm->scratch = NULL; /* no longer ours */
    comm->scratch_size = 0;
}
