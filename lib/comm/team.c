/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Teams and their watch. What a team runs waits on the device for the other ranks, and so for ever for one that is
 * lost; the host that waits for the queue then does, too. So each team has a thread, which asks the library whether
 * something failed and looks at events around what was run: what has begun and does not end within the time limit
 * is given up. PyTorch's ProcessGroupNCCL watches over NCCL in the same way. */
#include "team.h"

#include <stdio.h>
#include <time.h>

enum { LOOK_EVERY_NS = 4000000 };

/* What was run at once. */
typedef struct work {
    tdmi_bevent *begin, *end;
    double began; /* 0: it has not */
    tdmi_loss *loss;
    struct work *next;
} work;

struct tdmi_team {
    tdm_device *device;
    const tdmi_collectives *of;
    tdmi_bteam *impl;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    double timeout;
    work *first, *last, *spare;
    double inside; /* since when a thread is in the library's run; 0: none is */
    bool ending, lost;
    char why[300];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void free_event(const tdmi_team *team, tdmi_bevent *event) {
    if (!event) return;
    team->device->backend->event_deinit(event);
    tdmi_free(event);
}

static void free_works(const tdmi_team *team, work *first) {
    while (first) {
        work *next = first->next;
        free_event(team, first->begin);
        free_event(team, first->end);
        tdmi_loss_release(first->loss);
        tdmi_free(first);
        first = next;
    }
}

static tdmi_bevent *make_event(const tdmi_team *team) {
    const tdmi_backend *backend = team->device->backend;
    tdmi_bevent *event = tdmi_calloc(1, backend->event_size);
    if (event && backend->event_init(team->device->impl, event) != TDM_OK) {
        tdmi_free(event);
        return NULL;
    }
    return event;
}

/* ---- the watch; all with the lock held ---- */

static tdm_status is_over(const tdmi_team *team, tdmi_bevent *event, bool *over) {
    return team->device->backend->event_query(event, over);
}

/* Takes away what has ended. */
static tdm_status look(tdmi_team *team) {
    while (team->first) {
        work *at = team->first;
        bool over = false;
        if (at->began <= 0) {
            TDMI_TRY(is_over(team, at->begin, &over));
            if (!over) return TDM_OK;
            at->began = now();
        }
        TDMI_TRY(is_over(team, at->end, &over));
        if (!over) return TDM_OK;
        team->first = at->next;
        if (!team->first) team->last = NULL;
        tdmi_loss_release(at->loss);
        at->loss = NULL;
        at->next = team->spare;
        team->spare = at;
        pthread_cond_broadcast(&team->changed);
    }
    return TDM_OK;
}

/* What has ended until now is not lost. The library's call is made without the lock: it may take as long as what it
 * ends. */
static void give_up(tdmi_team *team, const char *why) {
    if (team->lost) return;
    (void)look(team); /* where the device fails, all is lost */
    team->lost = true;
    snprintf(team->why, sizeof team->why, "%s", why);
    for (work *at = team->first; at; at = at->next)
        tdmi_loss_tell(at->loss, TDM_ERROR_RANK_LOST, team->why);
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    team->of->give_up(team->impl);
    pthread_mutex_lock(&team->lock);
}

static void watch_over(tdmi_team *team) {
    char why[300];
    tdm_status status = look(team);
    if (team->lost) return;
    if (status == TDM_OK) status = team->of->test(team->impl);
    if (status != TDM_OK) {
        snprintf(why, sizeof why, "%.290s", tdm_last_error());
        give_up(team, why);
        return;
    }
    double since = team->first ? team->first->began : 0;
    if (team->inside > 0 && (since <= 0 || team->inside < since)) since = team->inside;
    if (since <= 0 || now() - since <= team->timeout) return;
    snprintf(why, sizeof why,
             "a rank ended or did not answer within %g s: what %s has begun on %s does not end",
             team->timeout, team->of->name, team->device->facts->info.id);
    give_up(team, why);
}

static void *watch(void *context) {
    tdmi_team *team = context;
    pthread_mutex_lock(&team->lock);
    while (!team->ending) {
        if ((!team->first && team->inside <= 0) || team->lost) {
            pthread_cond_wait(&team->changed, &team->lock);
            continue;
        }
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_nsec += LOOK_EVERY_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&team->changed, &team->lock, &next);
        if (!team->ending) watch_over(team);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* ---- making and ending ---- */

static bool make_lock(tdmi_team *team) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) return false;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    bool made = pthread_cond_init(&team->changed, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    if (!made) return false;
    if (pthread_mutex_init(&team->lock, NULL) == 0) return true;
    (void)pthread_cond_destroy(&team->changed);
    return false;
}

static void free_team(tdmi_team *team) {
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->changed);
    free_works(team, team->first);
    free_works(team, team->spare);
    tdmi_free(team->impl);
    tdmi_free(team);
}

static tdm_status no_memory(void) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
}

tdm_status tdmi_team_make(tdm_device *device, const unsigned char id[TDMI_TEAM_ID], int rank,
                          int ranks, double timeout, tdmi_team **result) {
    const tdmi_collectives *of = device->backend->collectives;
    tdmi_team *team = tdmi_calloc(1, sizeof *team);
    if (!team) return no_memory();
    team->device = device;
    team->of = of;
    team->timeout = timeout;
    team->impl = tdmi_calloc(1, of->team_size);
    if (!team->impl || !make_lock(team)) {
        tdmi_free(team->impl);
        tdmi_free(team);
        return no_memory();
    }
    tdm_status status =
        tdmi_device_result(device, of->init(device->impl, id, rank, ranks, team->impl));
    if (status == TDM_OK && !tdmi_thread_start(&team->thread, watch, team)) {
        of->give_up(team->impl);
        status = tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "there cannot be another thread");
    }
    if (status != TDM_OK) {
        tdmi_outcome outcome = {0};
        tdmi_outcome_add(&outcome, status);
        free_team(team);
        return tdmi_outcome_end(&outcome);
    }
    *result = team;
    return TDM_OK;
}

void tdmi_team_end(tdmi_team *team) {
    pthread_mutex_lock(&team->lock);
    while (team->first && !team->lost)
        pthread_cond_wait(&team->changed, &team->lock);
    team->ending = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    pthread_join(team->thread, NULL);
    if (!team->lost) team->of->end(team->impl);
    free_team(team);
}

void tdmi_team_set_timeout(tdmi_team *team, double seconds) {
    pthread_mutex_lock(&team->lock);
    team->timeout = seconds;
    pthread_mutex_unlock(&team->lock);
}

bool tdmi_team_is_lost(tdmi_team *team, const char **why) {
    pthread_mutex_lock(&team->lock);
    const bool lost = team->lost;
    pthread_mutex_unlock(&team->lock);
    *why = team->why;
    return lost;
}

void tdmi_team_give_up(tdmi_team *team, const char *why) {
    pthread_mutex_lock(&team->lock);
    give_up(team, why);
    pthread_mutex_unlock(&team->lock);
}

/* ---- what a team runs ---- */

static work *take_work(tdmi_team *team) {
    pthread_mutex_lock(&team->lock);
    work *taken = team->spare;
    if (taken) team->spare = taken->next;
    pthread_mutex_unlock(&team->lock);
    if (!taken) {
        taken = tdmi_calloc(1, sizeof *taken);
        if (!taken) return NULL;
        taken->begin = make_event(team);
        taken->end = make_event(team);
    }
    taken->next = NULL;
    taken->began = 0;
    return taken;
}

/* The library may take its time in here, for a rank with which it makes a connection: that is watched over, too. */
static tdm_status enqueue(tdmi_team *team, tdm_queue *queue, const work *around,
                          const tdmi_piece *pieces, size_t count) {
    const tdmi_backend *backend = team->device->backend;
    TDMI_TRY(backend->event_record(around->begin, queue->impl));
    TDMI_TRY(team->of->run(team->impl, queue->impl, pieces, count));
    return backend->event_record(around->end, queue->impl);
}

tdm_status tdmi_team_run(tdmi_team *team, tdm_queue *queue, const tdmi_piece *pieces,
                         size_t count) {
    if (count == 0) return TDM_OK;
    work *around = take_work(team);
    if (around && !around->loss) around->loss = tdmi_queue_loss(queue);
    if (!around || !around->begin || !around->end || !around->loss) {
        free_works(team, around);
        return no_memory();
    }
    pthread_mutex_lock(&team->lock);
    bool lost = team->lost;
    if (!lost) team->inside = now();
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    tdmi_outcome outcome = {0};
    if (!lost) tdmi_outcome_add(&outcome, enqueue(team, queue, around, pieces, count));
    pthread_mutex_lock(&team->lock);
    team->inside = 0;
    lost = team->lost;
    if (lost) tdmi_loss_tell(around->loss, TDM_ERROR_RANK_LOST, team->why);
    const bool added = !lost && outcome.status == TDM_OK;
    if (added && team->last) team->last->next = around;
    if (added && !team->first) team->first = around;
    if (added) team->last = around;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    if (!added) free_works(team, around);
    tdm_status status = tdmi_queue_submitted(queue, tdmi_outcome_end(&outcome));
    return lost ? tdmi_fail(TDM_ERROR_RANK_LOST, "%s", team->why) : status;
}
