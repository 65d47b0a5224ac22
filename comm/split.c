/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Parts of a communicator, each with a team where the whole has one. */
#include "comm.h"

/* This rank's part, over a transport that it owns or that is destroyed. */
static tdm_status make(tdm_comm *comm, const tdm_transport *transport, tdm_comm **part) {
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(
        &outcome, tdmi_comm_make(comm->function, transport, comm->device, comm->fault, part));
    if (outcome.status != TDM_OK) transport->destroy(transport->state, true);
    return tdmi_comm_outcome_end(&outcome);
}

static tdm_status split(tdm_comm *comm, int color, int key, tdm_comm **part) {
    tdm_transport transport = {.size = sizeof transport};
    TDMI_TRY(tdmi_comm_check(comm)); /* that all come: the transport's own has no time limit */
    tdm_status status =
        comm->transport.split(comm->transport.state, color < 0 ? -1 : color, key, &transport);
    if (status != TDM_OK) return tdmi_comm_fail(comm, status, "%s", tdm_last_error());
    if (color >= 0) status = make(comm, &transport, part);
    TDMI_TRY(tdmi_comm_agree(comm, status)); /* a part that lacks a rank would wait for it */
    if (color < 0) return TDM_OK;
    (*part)->timeout = comm->timeout;
    return comm->team ? tdmi_comm_own_fault(comm, tdmi_comm_join(*part)) : TDM_OK;
}

tdm_status tdm_comm_split(tdm_comm *comm, int color, int key, tdm_comm **part) {
    TDMI_UNCANCELLED();
    if (part) *part = NULL;
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_split"));
    tdmi_comm_describe(comm, TDMI_COMM_SPLIT, 0, -1, NULL);
    tdm_status status =
        part ? TDM_OK
             : tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: part is NULL", comm->function);
    if (!tdmi_comm_has_transport(comm))
        return part ? tdmi_comm_error(TDM_ERROR_UNSUPPORTED,
                                      "%s: the communicator is over NCCL alone: make another with "
                                      "tdm_comm_from_nccl",
                                      comm->function)
                    : status;
    TDMI_TRY(tdmi_comm_begin(comm, status));
    status = tdmi_comm_end(comm, split(comm, color, key, part));
    if (status == TDM_OK) return TDM_OK;
    tdmi_comm_outcome why = {0};
    tdmi_comm_outcome_add(&why, status);
    tdm_comm_destroy(*part);
    *part = NULL;
    return tdmi_comm_outcome_end(&why);
}
