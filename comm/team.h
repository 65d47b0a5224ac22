/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A team: the ranks' CUDA devices as NCCL knows them, and the thread that watches what the team has under way. */
#ifndef TDMI_TEAM_H
#define TDMI_TEAM_H

#include <tandem/nccl.h>

#include "nccl_api.h"

typedef struct tdmi_team tdmi_team;

/* A team's work is put on a queue of its device, comes after the earlier work there, and may not be done when the call
 * returns. All ranks run the same pieces in the same order, but for sends and receives. */
typedef enum tdmi_piece_kind {
    TDMI_PIECE_ALL_REDUCE,
    TDMI_PIECE_REDUCE,
    TDMI_PIECE_REDUCE_SCATTER, /* count: of the part that a rank gets */
    TDMI_PIECE_BROADCAST,
    TDMI_PIECE_ALL_GATHER, /* count: of the part that a rank gives */
    TDMI_PIECE_SEND,
    TDMI_PIECE_RECEIVE
} tdmi_piece_kind;

/* Contiguous. A reduction has elements of a dtype that is no 16-bit one; the rest moves bytes. x may be y. */
typedef struct tdmi_piece {
    tdmi_piece_kind kind;
    ncclRedOp_t op;
    tdm_dtype dtype;
    int peer;      /* the root, or the other rank */
    const void *x; /* on the device, as y */
    void *y;       /* NULL where nothing is received */
    size_t count;  /* elements, or bytes; not 0 */
} tdmi_piece;

/* ---- nccl_library.c ---- */

/* Opens NCCL, once; TDM_ERROR_UNAVAILABLE says what to install. */
tdm_status tdmi_nccl_open(void) TDM_MUST_USE;
tdm_status tdmi_nccl_check(ncclResult_t result, const char *what) TDM_MUST_USE;
/* Its functions, once it is open. */
#define TDMI_NCCL_FIELD(name) __typeof__(&name) name;
typedef struct tdmi_nccl_functions {
    TDMI_NCCL_LIST(TDMI_NCCL_FIELD)
} tdmi_nccl_functions;
extern tdmi_nccl_functions tdmi_nccl;

/* ---- team.c ---- */

/* Collective: waits for all ranks, as long as NCCL does. The device outlives the team. */
tdm_status tdmi_team_make(tdm_device *device, const tdm_nccl_id *id, int rank, int ranks,
                          double timeout, tdmi_team **team) TDM_MUST_USE;
/* Waits for its work, unless it was given up, which the time limit sees to; returns whether it was. */
bool tdmi_team_end(tdmi_team *team);

void tdmi_team_set_timeout(tdmi_team *team, double seconds);

/* Puts pieces that run together on the queue, and watches over them. */
tdm_status tdmi_team_run(tdmi_team *team, tdm_queue *queue, const tdmi_piece *pieces,
                         size_t count) TDM_MUST_USE;

/* Whether the team was given up, and why: a text that stays. */
bool tdmi_team_is_lost(tdmi_team *team, const char **why);

/* Aborts the work in flight, which then ends; its queues report it. From any thread. */
void tdmi_team_give_up(tdmi_team *team, const char *why);

/* ---- team_run.c ---- */

/* The pieces, on the queue's stream. */
tdm_status tdmi_team_enqueue(tdm_device *device, ncclComm_t comm, tdm_queue *queue,
                             const tdmi_piece *pieces, size_t count) TDM_MUST_USE;

#endif
