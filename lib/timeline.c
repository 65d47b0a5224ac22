/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The devices' part of a profile. Events around each piece of work give its length, and how long after the queue's
 * first event it began. That event's place on the host's clock is not known, but none of the others can have taken
 * place before the host recorded it: the one that was quickest says best where it is. */
#include "timeline.h"

#include <stdio.h>
#include <string.h>

enum {
    LINES = 1 << 23,                /* numbers of threads are below */
    MOST_UNWRITTEN = 256,           /* pieces of work, before a look at what is over */
    ORIGIN_NANOSECONDS = 1000000000 /* after which the clocks may have drifted apart */
};

struct tdmi_timed {
    tdm_queue *queue;
    tdmi_bevent *begun, *ended;
    uint64_t given; /* when the host recorded `begun` */
    tdmi_profile_span span;
    char name[64];
    tdmi_timed *next;
};

struct tdmi_timeline {
    tdmi_mutex lock;
    tdmi_timed *first, **last; /* whose ends were recorded, the oldest first */
    tdmi_timed *spare;
    size_t unwritten;
    tdmi_bevent *origin;
    bool has_origin;
    uint64_t origin_time; /* on the host's clock; too early, if anything */
};

static tdmi_bevent *make_event(const tdm_queue *queue) {
    const tdmi_backend *backend = queue->device->backend;
    tdmi_bevent *event = tdmi_calloc(1, backend->event_size);
    if (event && backend->event_init(queue->device->impl, event) == TDM_OK) return event;
    tdmi_free(event);
    return NULL;
}

static void free_event(const tdm_queue *queue, tdmi_bevent *event) {
    if (event) queue->device->backend->event_deinit(event);
    tdmi_free(event);
}

static void free_timed(tdmi_timed *timed) {
    while (timed) {
        tdmi_timed *next = timed->next;
        free_event(timed->queue, timed->begun);
        free_event(timed->queue, timed->ended);
        tdmi_free(timed);
        timed = next;
    }
}

tdmi_timeline *tdmi_timeline_make(const tdm_queue *queue) {
    tdmi_timeline *made = tdmi_calloc(1, sizeof *made);
    if (!made) return NULL;
    made->last = &made->first;
    made->origin = make_event(queue);
    if (made->origin && tdmi_mutex_init(&made->lock)) {
        char name[sizeof queue->device->facts->info.id + 32];
        snprintf(name, sizeof name, "%s, queue %llu", queue->device->facts->info.id,
                 (unsigned long long)queue->number);
        tdmi_profile_line(LINES + (long)queue->number, name);
        return made;
    }
    free_event(queue, made->origin);
    tdmi_free(made);
    return NULL;
}

void tdmi_timeline_end(tdm_queue *queue) {
    tdmi_timeline *timeline = queue->timeline;
    if (!timeline) return;
    tdmi_timeline_write(queue);
    free_timed(timeline->first);
    free_timed(timeline->spare);
    free_event(queue, timeline->origin);
    tdmi_mutex_destroy(&timeline->lock);
    tdmi_free(timeline);
    queue->timeline = NULL;
}

/* Of events that are over; false where the driver fails, of a lost device for example. */
static bool place(tdmi_timeline *timeline, tdmi_timed *timed) {
    const tdmi_backend *backend = timed->queue->device->backend;
    double after, length;
    if (backend->event_elapsed(timeline->origin, timed->begun, &after) != TDM_OK ||
        backend->event_elapsed(timed->begun, timed->ended, &length) != TDM_OK || length < 0)
        return false;
    uint64_t begun = timeline->origin_time + (uint64_t)(after > 0 ? after * 1e9 : 0);
    if (begun < timed->given) {
        timeline->origin_time += timed->given - begun;
        begun = timed->given;
    }
    timed->span.began = begun;
    timed->span.ended = begun + (uint64_t)(length * 1e9);
    return true;
}

void tdmi_timeline_write(tdm_queue *queue) {
    tdmi_timeline *timeline = queue->timeline;
    if (!timeline) return;
    TDMI_LOCKED(&timeline->lock);
    while (timeline->first) {
        tdmi_timed *timed = timeline->first;
        bool is_over = false;
        const tdm_status status = queue->device->backend->event_query(timed->ended, &is_over);
        if (status == TDM_OK && !is_over) return;
        if (status == TDM_OK && place(timeline, timed)) tdmi_profile_write(&timed->span);
        timeline->first = timed->next;
        timed->next = timeline->spare;
        timeline->spare = timed;
        timeline->unwritten--;
    }
    timeline->last = &timeline->first;
    if (tdmi_nanoseconds() - timeline->origin_time > ORIGIN_NANOSECONDS)
        timeline->has_origin = false;
}

static void put_back(tdmi_timeline *timeline, tdmi_timed *timed) {
    TDMI_LOCKED(&timeline->lock);
    timed->next = timeline->spare;
    timeline->spare = timed;
}

/* One whose events are free, and the origin, unless it is there. */
static tdmi_timed *take(tdm_queue *queue) {
    tdmi_timeline *timeline = queue->timeline;
    TDMI_LOCKED(&timeline->lock);
    if (!timeline->has_origin) {
        timeline->origin_time = tdmi_nanoseconds();
        timeline->has_origin =
            queue->device->backend->event_record(timeline->origin, queue->impl) == TDM_OK;
    }
    if (!timeline->has_origin) return NULL;
    tdmi_timed *timed = timeline->spare;
    if (timed) {
        timeline->spare = timed->next;
        return timed;
    }
    timed = tdmi_calloc(1, sizeof *timed);
    if (!timed) return NULL;
    timed->queue = queue;
    timed->begun = make_event(queue);
    timed->ended = make_event(queue);
    if (timed->begun && timed->ended) return timed;
    free_timed(timed);
    return NULL;
}

tdmi_timed *tdmi_timed_begin(tdm_queue *queue) {
    if (queue->lender || !tdmi_profiles()) return NULL;
    tdmi_profile_span span;
    if (!tdmi_profile_innermost(&span)) return NULL;
    tdmi_timed *timed = take(queue);
    if (!timed) return NULL;
    timed->span = span;
    snprintf(timed->name, sizeof timed->name, "%s", span.name);
    timed->span.name = timed->name;
    timed->span.category = "device";
    timed->span.line = LINES + (long)queue->number;
    timed->given = tdmi_nanoseconds();
    if (queue->device->backend->event_record(timed->begun, queue->impl) == TDM_OK) return timed;
    put_back(queue->timeline, timed);
    return NULL;
}

void tdmi_timed_end(tdmi_timed *const *begun) {
    tdmi_timed *timed = *begun;
    if (!timed) return;
    tdm_queue *queue = timed->queue;
    tdmi_timeline *timeline = queue->timeline;
    if (atomic_load(&queue->device->lost) ||
        queue->device->backend->event_record(timed->ended, queue->impl) != TDM_OK) {
        put_back(timeline, timed);
        return;
    }
    tdmi_mutex_lock(&timeline->lock);
    timed->next = NULL;
    *timeline->last = timed;
    timeline->last = &timed->next;
    const bool is_long = ++timeline->unwritten >= MOST_UNWRITTEN;
    tdmi_mutex_unlock(&timeline->lock);
    if (is_long) tdmi_timeline_write(queue);
}
