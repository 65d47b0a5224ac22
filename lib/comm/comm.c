/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The communicator: made, split, and given back. */
#include "comm.h"

#include <math.h>
#include <stdio.h>

#include "host/kernels.h"
#include "sized.h"

static const tdmi_sized TRANSPORT = {"tdm_transport", "sizeof(tdm_transport)",
                                     sizeof(tdm_transport), sizeof(tdm_transport)};

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
    tdmi_free(comm->waits);
    tdmi_free(comm->headers);
    tdmi_free(comm->starts);
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

static tdm_status create(const char *function, const tdm_transport *transport, tdm_device *device,
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
           make_group(&comm->notes_out, 2 * comm->ranks);
    comm->received = tdmi_calloc(ranks, sizeof *comm->received);
    comm->waits = tdmi_calloc(ranks, sizeof *comm->waits);
    comm->headers = tdmi_calloc(ranks, sizeof *comm->headers);
    comm->starts = tdmi_calloc(ranks + 1, sizeof *comm->starts);
    comm->fault = make_fault(parent);
    if (!made || !comm->received || !comm->headers || !comm->waits || !comm->starts ||
        !comm->fault) {
        free_comm(comm);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, tdmi_comm_begin_notes(comm));
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
    return create(function, &own, device, NULL, comm);
}

void tdm_comm_destroy(tdm_comm *comm) {
    TDMI_UNCANCELLED();
    if (!comm) return;
    const bool in = give_up(comm, &comm->notes_in), out = give_up(comm, &comm->notes_out);
    comm->transport.destroy(comm->transport.state, comm->fault->failed);
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
    return TDM_OK;
}

static tdm_status split(tdm_comm *comm, int color, int key, tdm_comm **part) {
    tdm_transport transport = {.size = sizeof transport};
    TDMI_TRY(tdmi_comm_meet(comm)); /* the transport's own has no time limit */
    tdm_status status =
        comm->transport.split(comm->transport.state, color < 0 ? -1 : color, key, &transport);
    if (status != TDM_OK) return tdmi_comm_fail(comm, status, "%s", tdm_last_error());
    if (color < 0) return TDM_OK;
    status = create(comm->function, &transport, comm->device, comm->fault, part);
    if (status == TDM_OK) {
        (*part)->timeout = comm->timeout;
        return TDM_OK;
    }
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    transport.destroy(transport.state, false);
    return tdmi_outcome_end(&outcome);
}

tdm_status tdm_comm_split(tdm_comm *comm, int color, int key, tdm_comm **part) {
    TDMI_UNCANCELLED();
    if (part) *part = NULL;
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_split"));
    tdmi_comm_describe(comm, TDMI_COMM_SPLIT, 0, -1, NULL);
    tdm_status status =
        part ? TDM_OK : tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: part is NULL", comm->function);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    return tdmi_comm_end(comm, split(comm, color, key, part));
}
