/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The communicator: made and given back. */
#include "comm.h"

#include <math.h>
#include <stdio.h>

#include "host/kernels.h"
#include "sized.h"

static const tdmi_sized TRANSPORT = {"tdm_transport", "sizeof(tdm_transport)",
                                     offsetof(tdm_transport, device_memory), sizeof(tdm_transport)};

tdm_status tdm_transport_fail(tdm_status status, const char *sentence) {
    TDMI_UNCANCELLED();
    return tdmi_fail(status, "%s", sentence ? sentence : tdm_status_text(status));
}

static void release_fault(tdmi_fault *fault) {
    while (fault && atomic_fetch_sub(&fault->references, 1) == 1) {
        tdmi_fault *parent = fault->of_parent;
        tdmi_free(fault);
        fault = parent;
    }
}

static tdmi_fault *make_fault(tdmi_fault *parent) {
    tdmi_fault *fault = tdmi_calloc(1, sizeof *fault);
    if (!fault) return NULL;
    atomic_init(&fault->references, 1);
    fault->of_parent = parent;
    if (parent) atomic_fetch_add(&parent->references, 1);
    return fault;
}

static bool make_group(tdmi_group *group, int room) {
    group->room = room;
    group->messages = tdmi_calloc((size_t)room, sizeof *group->messages);
    return group->messages;
}

static void free_comm(tdm_comm *comm) {
    for (int i = 0; i < TDMI_GROUP_COUNT; i++)
        tdmi_free(comm->groups[i].messages);
    tdmi_free(comm->notes_in.messages);
    tdmi_free(comm->notes_out.messages);
    tdmi_free(comm->received);
    tdmi_free(comm->sent);
    tdmi_free(comm->waits);
    tdmi_free(comm->headers);
    tdmi_free(comm->starts);
    tdmi_free(comm->moves);
    tdmi_free(comm->scratch);
    release_fault(comm->fault);
    tdmi_free(comm);
}

/* Whether the transport keeps nothing of these. */
static bool give_up(tdm_comm *comm, tdmi_group *group) {
    bool all = true;
    for (int i = 0; i < group->room; i++)
        all = !tdmi_comm_drop(comm, &group->messages[i]) && all;
    return all;
}

tdm_status tdmi_comm_make(const char *function, const tdm_transport *transport, tdm_device *device,
                          tdmi_fault *parent, tdm_comm **result) {
    tdm_comm *comm = tdmi_calloc(1, sizeof *comm);
    if (!comm) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    comm->transport = *transport;
    comm->device = device;
    comm->rank = transport->rank;
    comm->ranks = transport->ranks;
    comm->timeout = 300;
    comm->overlaps = -1;
    comm->function = function;
    const size_t ranks = (size_t)comm->ranks;
    bool made = true;
    for (int i = 0; made && i < TDMI_GROUP_COUNT; i++)
        made = make_group(&comm->groups[i], 2 * comm->ranks + 4);
    made = made && make_group(&comm->notes_in, comm->ranks) &&
           make_group(&comm->notes_out, TDMI_NOTE_KINDS * comm->ranks);
    comm->received = tdmi_calloc(ranks, sizeof *comm->received);
    comm->sent = tdmi_calloc(TDMI_NOTE_KINDS * ranks, sizeof *comm->sent);
    comm->waits = tdmi_calloc(ranks, sizeof *comm->waits);
    comm->headers = tdmi_calloc(ranks, sizeof *comm->headers);
    comm->starts = tdmi_calloc(ranks + 1, sizeof *comm->starts);
    comm->moves = tdmi_calloc(2 * ranks, sizeof *comm->moves);
    comm->fault = make_fault(parent);
    if (!made || !comm->received || !comm->sent || !comm->headers || !comm->waits ||
        !comm->starts || !comm->moves || !comm->fault) {
        free_comm(comm);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    tdmi_outcome outcome = {0};
    if (tdmi_comm_has_transport(comm)) tdmi_outcome_add(&outcome, tdmi_comm_begin_notes(comm));
    if (outcome.status != TDM_OK) {
        if (give_up(comm, &comm->notes_in)) free_comm(comm);
        return tdmi_outcome_end(&outcome);
    }
    (void)tdm_device_retain(device);
    *result = comm;
    return TDM_OK;
}

tdm_status tdm_comm_create(const tdm_transport *transport, tdm_device *device, tdm_comm **comm) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_comm_create";
    if (!comm) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: comm is NULL", function);
    *comm = NULL;
    tdm_transport own = {0};
    TDMI_TRY(tdmi_sized_read(function, "transport", &TRANSPORT, transport, &own));
    if (!device) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: device is NULL", function);
    TDMI_TRY(tdmi_device_usable(device));
    if (!own.send || !own.receive || !own.test || !own.abandon || !own.split || !own.destroy)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: transport lacks a function", function);
    if (own.ranks < 1 || own.rank < 0 || own.rank >= own.ranks)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: transport has rank %d of %d", function,
                         own.rank, own.ranks);
    if (!tdmi_host_kernels())
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "%s: the library was built without the cpu backend, whose kernels add what "
            "ranks send",
            function);
    return tdmi_comm_make(function, &own, device, NULL, comm);
}

void tdm_comm_destroy(tdm_comm *comm) {
    TDMI_UNCANCELLED();
    if (!comm) return;
    if (comm->team && atomic_load(&comm->fault->failed))
        tdmi_team_give_up(comm->team, comm->fault->text);
    if (comm->team) tdmi_team_end(comm->team);
    const bool in = give_up(comm, &comm->notes_in), out = give_up(comm, &comm->notes_out);
    if (tdmi_comm_has_transport(comm))
        comm->transport.destroy(comm->transport.state, atomic_load(&comm->fault->failed));
    tdm_device_release(comm->device);
    if (in && out) free_comm(comm); /* else the transport may write into it */
}

int tdm_comm_rank(const tdm_comm *comm) {
    TDMI_UNCANCELLED();
    return comm ? comm->rank : -1;
}

int tdm_comm_size(const tdm_comm *comm) {
    TDMI_UNCANCELLED();
    return comm ? comm->ranks : -1;
}

tdm_device *tdm_comm_get_device(const tdm_comm *comm) { return comm ? comm->device : NULL; }

tdm_status tdm_comm_set_timeout(tdm_comm *comm, double seconds) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_comm_set_timeout";
    if (!comm) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: comm is NULL", function);
    if (!(seconds > 0))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: seconds is %g, must be more than 0",
                         function, seconds);
    comm->timeout = seconds;
    if (comm->team) tdmi_team_set_timeout(comm->team, seconds);
    return TDM_OK;
}
