/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Teams and their watch. A team's work waits on the device for the other ranks, and so for ever for one that is lost;
 * the host that waits for the queue then does, too. So each team has a thread, which asks NCCL whether something failed
 * and looks at events around the work: work that has begun and does not end within the time limit is given up.
 * PyTorch's ProcessGroupNCCL watches over NCCL in the same way. */
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/cuda.h>

#include "error.h"
#include "platform/clock.h"
#include "platform/threads.h"

enum { LOOK_EVERY_NS = 4000000 };

/* Work that was started together. */
typedef struct work {
    tdm_event *begin, *end;
    double began; /* 0: it has not */
    tdm_failure *failure;
    struct work *next;
} work;

struct tdmi_team {
    tdm_device *device;
    ncclComm_t comm;
    tdmi_thread thread;
    tdmi_mutex lock; /* of all below */
    tdmi_cond changed;
    double timeout;
    work *first, *last, *spare;
    double inside; /* since when a thread is in the library's run; 0: none is */
    bool ending, lost, aborted;
    char why[300];
};

static double now(void) { return (double)tdmi_nanoseconds() * 1e-9; }

static void free_works(work *first) {
    while (first) {
        work *next = first->next;
        tdm_event_destroy(first->begin);
        tdm_event_destroy(first->end);
        tdm_failure_release(first->failure);
        free(first);
        first = next;
    }
}

/* ---- the watch; all with the lock held ---- */

/* Removes work that has ended. */
static tdm_status look(tdmi_team *team) {
    while (team->first) {
        work *at = team->first;
        bool over = false;
        if (at->began <= 0) {
            TDMI_TRY(tdm_event_query(at->begin, &over));
            if (!over) return TDM_OK;
            at->began = now();
        }
        TDMI_TRY(tdm_event_query(at->end, &over));
        if (!over) return TDM_OK;
        team->first = at->next;
        if (!team->first) team->last = NULL;
        tdm_failure_release(at->failure);
        at->failure = NULL;
        at->next = team->spare;
        team->spare = at;
        tdmi_cond_broadcast(&team->changed);
    }
    return TDM_OK;
}

static void end_comm(const tdmi_team *team, ncclResult_t (*end)(ncclComm_t)) {
    bool entered;
    if (tdm_cuda_enter(team->device, &entered) != TDM_OK) return;
    (void)end(team->comm);
    tdm_cuda_leave(team->device, entered);
}

/* Whether NCCL knows that something failed. */
static tdm_status test(const tdmi_team *team) {
    ncclResult_t error = ncclSuccess;
    TDMI_TRY(tdmi_nccl_check(tdmi_nccl.ncclCommGetAsyncError(team->comm, &error),
                             "ncclCommGetAsyncError"));
    return error == ncclInProgress ? TDM_OK : tdmi_nccl_check(error, "NCCL");
}

/* The abort frees the communicator, so it waits for a thread that is in there, but no longer than the time limit. It is
 * made without the lock, as it may take as long as the work that it ends. */
static void abort_lost(tdmi_team *team) {
    const bool is_inside = team->inside > 0 && now() - team->inside <= team->timeout;
    if (!team->lost || team->aborted || is_inside) return;
    team->aborted = true;
    tdmi_mutex_unlock(&team->lock);
    end_comm(team, tdmi_nccl.ncclCommAbort);
    tdmi_mutex_lock(&team->lock);
}

/* Work that has ended until now is not lost. */
static void give_up(tdmi_team *team, const char *why) {
    if (team->lost) return;
    (void)look(team); /* where the device fails, all is lost */
    team->lost = true;
    snprintf(team->why, sizeof team->why, "%s", why);
    for (work *at = team->first; at; at = at->next)
        tdm_failure_report(at->failure, TDM_ERROR_RANK_LOST, team->why);
    tdmi_cond_broadcast(&team->changed);
    abort_lost(team);
}

static void watch_over(tdmi_team *team) {
    char why[300];
    tdm_status status = look(team);
    if (status == TDM_OK) status = test(team);
    if (status != TDM_OK) {
        snprintf(why, sizeof why, "%.290s", tdm_last_error());
        give_up(team, why);
        return;
    }
    double since = team->first ? team->first->began : 0;
    if (team->inside > 0 && (since <= 0 || team->inside < since)) since = team->inside;
    if (since <= 0 || now() - since <= team->timeout) return;
    snprintf(why, sizeof why,
             "a rank ended or did not answer within %g s: what NCCL has begun on %s does not end",
             team->timeout, tdm_device_get_info(team->device)->id);
    give_up(team, why);
}

static void *watch(void *context) {
    tdmi_team *team = context;
    tdmi_mutex_lock(&team->lock);
    for (;;) {
        const bool rests = team->lost ? team->aborted : !team->first && team->inside <= 0;
        if (team->ending && (rests || !team->lost)) break;
        if (rests) {
            tdmi_cond_wait(&team->changed, &team->lock);
            continue;
        }
        (void)tdmi_cond_wait_for(&team->changed, &team->lock, LOOK_EVERY_NS);
        if (team->lost)
            abort_lost(team);
        else if (!team->ending)
            watch_over(team);
    }
    tdmi_mutex_unlock(&team->lock);
    return NULL;
}

/* ---- making and ending ---- */

static bool make_lock(tdmi_team *team) {
    if (!tdmi_cond_init(&team->changed)) return false;
    if (tdmi_mutex_init(&team->lock)) return true;
    tdmi_cond_destroy(&team->changed);
    return false;
}

static void free_team(tdmi_team *team) {
    tdmi_mutex_destroy(&team->lock);
    tdmi_cond_destroy(&team->changed);
    free_works(team->first);
    free_works(team->spare);
    free(team);
}

static tdm_status no_memory(void) {
    return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
}

static tdm_status join(tdmi_team *team, const tdm_nccl_id *id, int rank, int ranks) {
    ncclUniqueId name;
    bool entered;
    TDMI_TRY(tdmi_nccl_open());
    memcpy(name.internal, id->bytes, sizeof id->bytes);
    TDMI_TRY(tdm_cuda_enter(team->device, &entered));
    const tdm_status status = tdmi_nccl_check(
        tdmi_nccl.ncclCommInitRank(&team->comm, ranks, name, rank), "ncclCommInitRank");
    tdm_cuda_leave(team->device, entered);
    return status;
}

tdm_status tdmi_team_make(tdm_device *device, const tdm_nccl_id *id, int rank, int ranks,
                          double timeout, tdmi_team **result) {
    tdmi_team *team = calloc(1, sizeof *team);
    if (!team || !make_lock(team)) {
        free(team);
        return no_memory();
    }
    team->device = device;
    team->timeout = timeout;
    tdm_status status = join(team, id, rank, ranks);
    if (status == TDM_OK && !tdmi_thread_start(&team->thread, watch, team)) {
        end_comm(team, tdmi_nccl.ncclCommAbort);
        status = tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "there cannot be another thread");
    }
    if (status != TDM_OK) {
        free_team(team);
        return status;
    }
    *result = team;
    return TDM_OK;
}

bool tdmi_team_end(tdmi_team *team) {
    tdmi_mutex_lock(&team->lock);
    while (team->first && !team->lost)
        tdmi_cond_wait(&team->changed, &team->lock);
    team->ending = true;
    tdmi_cond_broadcast(&team->changed);
    tdmi_mutex_unlock(&team->lock);
    tdmi_thread_join(team->thread);
    const bool lost = team->lost;
    if (!lost) end_comm(team, tdmi_nccl.ncclCommDestroy);
    free_team(team);
    return lost;
}

void tdmi_team_set_timeout(tdmi_team *team, double seconds) {
    tdmi_mutex_lock(&team->lock);
    team->timeout = seconds;
    tdmi_mutex_unlock(&team->lock);
}

bool tdmi_team_is_lost(tdmi_team *team, const char **why) {
    tdmi_mutex_lock(&team->lock);
    const bool lost = team->lost;
    tdmi_mutex_unlock(&team->lock);
    *why = team->why;
    return lost;
}

void tdmi_team_give_up(tdmi_team *team, const char *why) {
    tdmi_mutex_lock(&team->lock);
    give_up(team, why);
    tdmi_mutex_unlock(&team->lock);
}

/* ---- what a team runs ---- */

static work *take_work(tdmi_team *team) {
    tdmi_mutex_lock(&team->lock);
    work *taken = team->spare;
    if (taken) team->spare = taken->next;
    tdmi_mutex_unlock(&team->lock);
    if (!taken) taken = calloc(1, sizeof *taken);
    if (!taken) return NULL;
    taken->next = NULL;
    taken->began = 0;
    return taken;
}

/* NCCL may take its time in here, for a rank with which it makes a connection: that is watched, too. */
static tdm_status enqueue(const tdmi_team *team, tdm_queue *queue, const work *around,
                          const tdmi_piece *pieces, size_t count) {
    TDMI_TRY(tdm_queue_record_event(queue, around->begin));
    TDMI_TRY(tdmi_team_enqueue(team->device, team->comm, queue, pieces, count));
    return tdm_queue_record_event(queue, around->end);
}

static tdm_status prepare(const tdmi_team *team, tdm_queue *queue, work *around) {
    if (!around) return no_memory();
    if (!around->begin) TDMI_TRY(tdm_event_create(team->device, &around->begin));
    if (!around->end) TDMI_TRY(tdm_event_create(team->device, &around->end));
    return tdm_failure_create(queue, &around->failure);
}

tdm_status tdmi_team_run(tdmi_team *team, tdm_queue *queue, const tdmi_piece *pieces,
                         size_t count) {
    if (count == 0) return TDM_OK;
    work *around = take_work(team);
    const tdm_status prepared = prepare(team, queue, around);
    if (prepared != TDM_OK) {
        free_works(around);
        return prepared;
    }
    tdmi_mutex_lock(&team->lock);
    bool lost = team->lost;
    if (!lost) team->inside = now();
    tdmi_cond_broadcast(&team->changed);
    tdmi_mutex_unlock(&team->lock);
    tdmi_comm_outcome outcome = {0};
    if (!lost) tdmi_comm_outcome_add(&outcome, enqueue(team, queue, around, pieces, count));
    tdmi_mutex_lock(&team->lock);
    team->inside = 0;
    lost = team->lost;
    if (lost) tdm_failure_report(around->failure, TDM_ERROR_RANK_LOST, team->why);
    const bool added = !lost && outcome.status == TDM_OK;
    if (added && team->last) team->last->next = around;
    if (added && !team->first) team->first = around;
    if (added) team->last = around;
    tdmi_cond_broadcast(&team->changed);
    tdmi_mutex_unlock(&team->lock);
    if (!added) free_works(around);
    return lost ? tdm_fail(TDM_ERROR_RANK_LOST, team->why) : tdmi_comm_outcome_end(&outcome);
}
