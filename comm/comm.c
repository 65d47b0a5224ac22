/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The communicator: made and given back. */
#include "comm.h"

#include <stddef.h>

tdm_status tdm_transport_fail(tdm_status status, const char *sentence) {
    TDMI_UNCANCELLED();
    return tdm_fail(status, sentence);
}

static void release_fault(tdmi_fault *fault) {
    while (fault && atomic_fetch_sub(&fault->references, 1) == 1) {
        tdmi_fault *parent = fault->of_parent;
        free(fault);
        fault = parent;
    }
}

static tdmi_fault *make_fault(tdmi_fault *parent) {
    tdmi_fault *fault = calloc(1, sizeof *fault);
    if (!fault) return NULL;
    atomic_init(&fault->references, 1);
    fault->of_parent = parent;
    if (parent) atomic_fetch_add(&parent->references, 1);
    return fault;
}

static bool make_set(tdmi_message_set *set, int room) {
    set->room = room;
    set->messages = calloc((size_t)room, sizeof *set->messages);
    return set->messages;
}

static void free_comm(tdm_comm *comm) {
    for (int i = 0; i < TDMI_SET_COUNT; i++)
        free(comm->sets[i].messages);
    free(comm->notes_in.messages);
    free(comm->notes_out.messages);
    free(comm->received);
    free(comm->sent);
    free(comm->waits);
    free(comm->headers);
    free(comm->starts);
    free(comm->moves);
    free(comm->scratch);
    release_fault(comm->fault);
    free(comm);
}

static void give_up(tdm_comm *comm, tdmi_message_set *set) {
    for (int i = 0; i < set->room; i++)
        (void)tdmi_comm_drop(comm, &set->messages[i]);
}

tdm_status tdmi_comm_make(const char *function, const tdm_transport *transport, tdm_device *device,
                          tdmi_fault *parent, tdm_comm **result) {
    tdm_comm *comm = calloc(1, sizeof *comm);
    if (!comm) return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    comm->transport = *transport;
    comm->device = device;
    comm->rank = transport->rank;
    comm->ranks = transport->ranks;
    comm->timeout = 300;
    comm->overlaps = -1;
    comm->function = function;
    const size_t ranks = (size_t)comm->ranks;
    bool made = true;
    for (int i = 0; made && i < TDMI_SET_COUNT; i++)
        made = make_set(&comm->sets[i], 2 * comm->ranks + 4);
    made = made && make_set(&comm->notes_in, comm->ranks) &&
           make_set(&comm->notes_out, TDMI_NOTE_KINDS * comm->ranks);
    comm->received = calloc(ranks, sizeof *comm->received);
    comm->sent = calloc(TDMI_NOTE_KINDS * ranks, sizeof *comm->sent);
    comm->waits = calloc(ranks, sizeof *comm->waits);
    comm->headers = calloc(ranks, sizeof *comm->headers);
    comm->starts = calloc(ranks + 1, sizeof *comm->starts);
    comm->moves = calloc(2 * ranks, sizeof *comm->moves);
    comm->fault = make_fault(parent);
    if (!made || !comm->received || !comm->sent || !comm->headers || !comm->waits ||
        !comm->starts || !comm->moves || !comm->fault) {
        free_comm(comm);
        return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    tdmi_comm_outcome outcome = {0};
    if (tdmi_comm_has_transport(comm)) tdmi_comm_outcome_add(&outcome, tdmi_comm_begin_notes(comm));
    if (outcome.status != TDM_OK) {
        give_up(comm, &comm->notes_in);
        if (!comm->kept) free_comm(comm);
        return tdmi_comm_outcome_end(&outcome);
    }
    (void)tdm_device_retain(device);
    *result = comm;
    return TDM_OK;
}

/* A struct that begins with its size: see tandem/status.h. */
static tdm_status read_transport(const char *function, const tdm_transport *given,
                                 tdm_transport *own) {
    enum { FIRST = offsetof(tdm_transport, device_memory), MOST = 1 << 16 };
    const size_t size = given->size, known = size < sizeof *own ? size : sizeof *own;
    if (size < FIRST || size > MOST)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT,
                               "%s: transport->size is %zu, which is not sizeof(tdm_transport)",
                               function, size);
    for (size_t i = known; i < size; i++)
        if (((const char *)given)[i])
            return tdmi_comm_error(TDM_ERROR_UNSUPPORTED,
                                   "%s: transport sets a field that this library does not have",
                                   function);
    memcpy(own, given, known);
    return TDM_OK;
}

tdm_status tdm_comm_create(const tdm_transport *transport, tdm_device *device, tdm_comm **comm) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, comm);
    TDMI_NOT_FORKED(__func__);
    TDMI_NOT_NULL(__func__, transport);
    tdm_transport own = {0};
    TDMI_TRY(read_transport(__func__, transport, &own));
    TDMI_NOT_NULL(__func__, device);
    if (!own.send || !own.receive || !own.test || !own.abandon || !own.split || !own.destroy)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: transport lacks a function",
                               __func__);
    if (own.ranks < 1 || own.rank < 0 || own.rank >= own.ranks)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: transport has rank %d of %d",
                               __func__, own.rank, own.ranks);
    return tdmi_comm_make(__func__, &own, device, NULL, comm);
}

void tdm_comm_destroy(tdm_comm *comm) {
    TDMI_UNCANCELLED();
    if (!comm || tdm_check_fork() != TDM_OK) return;
    const char *why = tdmi_comm_broken(comm);
    bool broken = why;
    if (comm->team && why) tdmi_team_give_up(comm->team, why);
    if (comm->team) broken = tdmi_team_end(comm->team) || broken;
    give_up(comm, &comm->notes_in);
    give_up(comm, &comm->notes_out);
    if (tdmi_comm_has_transport(comm)) comm->transport.destroy(comm->transport.state, broken);
    tdm_device_release(comm->device);
    if (!comm->kept) free_comm(comm); /* else the transport may write into it */
}

int tdm_comm_get_rank(const tdm_comm *comm) {
    TDMI_UNCANCELLED();
    return comm ? comm->rank : -1;
}

int tdm_comm_get_size(const tdm_comm *comm) {
    TDMI_UNCANCELLED();
    return comm ? comm->ranks : -1;
}

tdm_device *tdm_comm_get_device(const tdm_comm *comm) { return comm ? comm->device : NULL; }

tdm_status tdm_comm_set_timeout(tdm_comm *comm, double seconds) {
    TDMI_UNCANCELLED();
    TDMI_NOT_FORKED(__func__);
    TDMI_NOT_NULL(__func__, comm);
    if (!(seconds > 0))
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: seconds is %g, must be more than 0",
                               __func__, seconds);
    comm->timeout = seconds;
    if (comm->team) tdmi_team_set_timeout(comm->team, seconds);
    return TDM_OK;
}
