/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How a collective call begins and ends. Headers show which rank called something else, whatever data the call sends.
 * They spread by dissemination: in steps of 1, 2, 4, … ranks, each sends its header that far ahead, receives
 * one from as far back, and compares it before the next step. A rank that has received the last one knows that
 * all called the same, as each passes on only what was the same. The rank that a different header reaches
 * reports it to all. */
#include <stdio.h>

#include "comm.h"

tdm_status tdmi_comm_end(tdm_comm *comm, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(&outcome, status);
    tdmi_comm_abandon(comm);
    const char *why = tdmi_comm_broken(comm);
    if (comm->team && why) tdmi_team_give_up(comm->team, why);
    return tdmi_comm_outcome_end(&outcome);
}

tdm_status tdmi_comm_begin(tdm_comm *comm, tdm_status refused) {
    comm->in_use = false;
    comm->header.refused = refused != TDM_OK;
    comm->header.call = comm->calls++;
    comm->refusal = refused;
    if (refused != TDM_OK)
        snprintf(comm->refusal_text, sizeof comm->refusal_text, "%.290s", tdm_last_error());
    if (comm->ranks == 1 || !tdmi_comm_has_transport(comm)) return refused;
    comm->heard = 0;
    tdm_status status = tdmi_comm_exchange_headers(comm);
    /* Wrong on all ranks alike, the call has done nothing. Else the others must not wait for this one. */
    if (status == TDM_OK && refused != TDM_OK) status = tdmi_comm_wait(comm, TDMI_SET_CHECK);
    if (status != TDM_OK) return tdmi_comm_end(comm, status);
    return refused == TDM_OK ? TDM_OK : tdmi_comm_error(refused, "%s", comm->refusal_text);
}

tdm_status tdmi_comm_check(tdm_comm *comm) {
    if (comm->ranks == 1 || !tdmi_comm_has_transport(comm)) return TDM_OK;
    return tdmi_comm_wait(comm, TDMI_SET_CHECK);
}

tdm_status tdmi_comm_agree(tdm_comm *comm, tdm_status refused) {
    TDMI_TRY(tdmi_comm_begin(comm, refused));
    return tdmi_comm_end(comm, tdmi_comm_check(comm));
}

tdm_status tdmi_comm_spoil(tdm_comm *comm, tdm_status status) {
    if (status == TDM_OK || atomic_load(&comm->fault->failed)) return status;
    return tdmi_comm_end(comm, tdmi_comm_own_fault(comm, status));
}
