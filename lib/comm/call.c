/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How a collective call begins and ends. Its header goes to all ranks, so that each of them finds by itself who called
 * something else, whatever the call would have sent to whom. */
#include <stdio.h>

#include "comm.h"

tdm_status tdmi_comm_end(tdm_comm *comm, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    tdmi_comm_abandon(comm);
    if (comm->team && comm->fault->failed) tdmi_team_give_up(comm->team, comm->fault->text);
    return tdmi_outcome_end(&outcome);
}

tdm_status tdmi_comm_begin(tdm_comm *comm, tdm_status refused) {
    char why[300] = "";
    comm->in_use = false;
    comm->header.refused = refused != TDM_OK;
    comm->header.call = comm->calls++;
    if (refused != TDM_OK) snprintf(why, sizeof why, "%.290s", tdm_last_error());
    if (comm->ranks == 1 || !tdmi_comm_has_transport(comm)) return refused;
    for (int i = 1; i < comm->ranks; i++) {
        const int from = (comm->rank + comm->ranks - i) % comm->ranks;
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_GROUP_CHECK, from, TDMI_CHANNEL_CHECK,
                                   &comm->headers[from], sizeof comm->header));
    }
    for (int i = 1; i < comm->ranks; i++)
        TDMI_TRY(tdmi_comm_send(comm, TDMI_GROUP_CHECK, (comm->rank + i) % comm->ranks,
                                TDMI_CHANNEL_CHECK, &comm->header, sizeof comm->header));
    if (refused == TDM_OK) return TDM_OK;
    /* Wrong on all ranks alike, the call has done nothing. Else the others must not wait for this one. */
    tdm_status status = tdmi_comm_wait(comm, TDMI_GROUP_CHECK);
    for (int i = 0; status == TDM_OK && i < comm->ranks; i++)
        if (i != comm->rank &&
            (!comm->headers[i].refused || comm->headers[i].function != comm->header.function))
            status = tdmi_comm_fail(comm, refused, "rank %d refused its call: %s", comm->rank, why);
    if (status != TDM_OK) return tdmi_comm_end(comm, status);
    return tdmi_fail(refused, "%s", why);
}

tdm_status tdmi_comm_check(tdm_comm *comm) {
    if (comm->ranks == 1 || !tdmi_comm_has_transport(comm)) return TDM_OK;
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_GROUP_CHECK));
    for (int rank = 0; rank < comm->ranks; rank++)
        if (rank != comm->rank) TDMI_TRY(tdmi_comm_compare(comm, rank));
    return TDM_OK;
}

tdm_status tdmi_comm_agree(tdm_comm *comm, tdm_status refused) {
    TDMI_TRY(tdmi_comm_begin(comm, refused));
    return tdmi_comm_end(comm, tdmi_comm_check(comm));
}

tdm_status tdmi_comm_spoil(tdm_comm *comm, tdm_status status) {
    if (status == TDM_OK || comm->fault->failed) return status;
    char why[512];
    snprintf(why, sizeof why, "%.500s", tdm_last_error());
    return tdmi_comm_end(comm, tdmi_comm_fail(comm, status, "rank %d: %s", comm->rank, why));
}
