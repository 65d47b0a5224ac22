/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Communicators that have a team: over NCCL alone, or over a transport, by which the ranks agree on it. */
#include <tandem/nccl.h>

#include <stdio.h>

#include "comm.h"

_Static_assert(sizeof(tdm_nccl_id) == sizeof(ncclUniqueId), "an id is of another size");

static tdm_status get_id(tdm_nccl_id *id) {
    ncclUniqueId name;
    TDMI_TRY(tdmi_nccl_open());
    TDMI_TRY(tdmi_nccl_check(tdmi_nccl.ncclGetUniqueId(&name), "ncclGetUniqueId"));
    memcpy(id->bytes, name.internal, sizeof id->bytes);
    return TDM_OK;
}

static bool is_cuda(const tdm_device *device) {
    return tdm_device_get_info(device)->backend == TDM_CUDA;
}

tdm_status tdm_nccl_get_id(tdm_nccl_id *id) {
    TDMI_UNCANCELLED();
    TDMI_NOT_FORKED(__func__);
    TDMI_NOT_NULL(__func__, id);
    memset(id, 0, sizeof *id);
    return tdmi_comm_error_of(__func__, get_id(id));
}

static tdm_status check_device(const char *function, tdm_device *device) {
    TDMI_NOT_NULL(function, device);
    if (is_cuda(device)) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_UNSUPPORTED,
                           "%s: the device is %s, but NCCL is for CUDA devices", function,
                           tdm_device_get_info(device)->id);
}

tdm_status tdm_comm_from_nccl(const tdm_nccl_id *id, int rank, int ranks, tdm_device *device,
                              tdm_comm **comm) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, comm);
    TDMI_NOT_FORKED(__func__);
    TDMI_NOT_NULL(__func__, id);
    if (ranks < 1)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: ranks is %d, must be at least 1",
                               __func__, ranks);
    if (rank < 0 || rank >= ranks)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: rank is %d, allowed are 0 to %d",
                               __func__, rank, ranks - 1);
    TDMI_TRY(check_device(__func__, device));
    const tdm_transport none = {.size = sizeof none, .rank = rank, .ranks = ranks};
    tdm_comm *made = NULL;
    TDMI_TRY(tdmi_comm_make(__func__, &none, device, NULL, &made));
    tdm_status status = tdmi_team_make(device, id, rank, ranks, made->timeout, &made->team);
    if (status != TDM_OK) {
        tdmi_comm_outcome outcome = {0};
        tdmi_comm_outcome_add(&outcome, tdmi_comm_error_of(__func__, status));
        tdm_comm_destroy(made);
        return tdmi_comm_outcome_end(&outcome);
    }
    *comm = made;
    return TDM_OK;
}

/* ---- agreeing, over the transport ---- */

/* A rank's messages to the others before there is a team, and after it was made. */
typedef struct candidate {
    int32_t status;
    char uuid[48];  /* "" where it has none */
    tdm_nccl_id id; /* of rank 0 */
    char why[256];
} candidate;

static void set_outcome(candidate *own, tdm_status status) {
    own->status = (int32_t)status;
    if (status != TDM_OK) snprintf(own->why, sizeof own->why, "%.250s", tdm_last_error());
}

static void introduce(const tdm_comm *comm, candidate *own) {
    const tdm_device_info *info = tdm_device_get_info(comm->device);
    *own = (candidate){0};
    snprintf(own->uuid, sizeof own->uuid, "%s", info->uuid);
    if (!is_cuda(comm->device))
        set_outcome(own, tdmi_comm_error(TDM_ERROR_UNSUPPORTED, "its device is %s, no CUDA device",
                                         info->id));
    else
        set_outcome(own, comm->rank == 0 ? get_id(&own->id) : tdmi_nccl_open());
}

/* The same on all ranks, as it depends on what all have received. */
static tdm_status judge(const tdm_comm *comm, candidate *all) {
    for (int i = 0; i < comm->ranks; i++) {
        all[i].why[sizeof all[i].why - 1] = all[i].uuid[sizeof all[i].uuid - 1] = '\0';
        if (all[i].status != TDM_OK)
            return tdmi_comm_error((tdm_status)all[i].status, "%s: rank %d: %s", comm->function, i,
                                   all[i].why);
    }
    for (int i = 0; i < comm->ranks; i++)
        for (int j = 0; j < i; j++)
            if (all[i].uuid[0] && strcmp(all[i].uuid, all[j].uuid) == 0)
                return tdmi_comm_error(
                    TDM_ERROR_INVALID_ARGUMENT,
                    "%s: ranks %d and %d have the same GPU, but NCCL needs one for "
                    "each rank",
                    comm->function, j, i);
    return TDM_OK;
}

/* A failure while the transport works leaves the communicator as it was, on all ranks: then *refused is set. */
static tdm_status join(tdm_comm *comm, candidate *all, bool *refused) {
    candidate *own = &all[comm->rank];
    introduce(comm, own);
    TDMI_TRY(tdmi_comm_share(comm, all, sizeof *all));
    *refused = true;
    TDMI_TRY(judge(comm, all));
    *refused = false;
    tdmi_team *team = NULL;
    set_outcome(own, tdmi_team_make(comm->device, &all[0].id, comm->rank, comm->ranks,
                                    comm->timeout, &team));
    tdm_status status = tdmi_comm_share(comm, all, sizeof *all);
    if (status == TDM_OK) {
        status = judge(comm, all);
        *refused = status != TDM_OK;
    }
    if (status == TDM_OK) {
        comm->team = team;
        return TDM_OK;
    }
    if (!team) return status;
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(&outcome, status);
    tdmi_team_give_up(team, "another rank has no part in it");
    (void)tdmi_team_end(team);
    return tdmi_comm_outcome_end(&outcome);
}

tdm_status tdmi_comm_join(tdm_comm *comm) {
    bool refused = false;
    candidate *all = calloc((size_t)comm->ranks, sizeof *all);
    if (!all)
        return tdmi_comm_end(comm, tdmi_comm_fail(comm, TDM_ERROR_OUT_OF_MEMORY,
                                                  "rank %d is out of host memory", comm->rank));
    tdm_status status = join(comm, all, &refused);
    if (!refused) status = tdmi_comm_end(comm, status);
    if (!comm->in_use) free(all); /* else the transport may write into it */
    return status;
}

tdm_status tdm_comm_use_nccl(tdm_comm *comm) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_use_nccl"));
    if (comm->team) return TDM_OK;
    tdmi_comm_describe(comm, TDMI_COMM_USE_NCCL, 0, -1, NULL);
    TDMI_TRY(tdmi_comm_agree(comm, TDM_OK));
    return tdmi_comm_join(comm);
}
