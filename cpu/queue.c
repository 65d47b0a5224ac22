/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Queues and events of the cpu backend: work is done when a call returns, and begins when the queue's gates are open.
 * Gates are few, and waited for rarely: one lock is for all. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "cpu_backend.h"

struct tdmi_cpu_gate {
    int references;
    int_least64_t opened; /* CLOCK_MONOTONIC when it was; 0: it is closed */
};

/* of all gates, and of who refers to them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- with the lock held ---- */

static void release(tdmi_cpu_gate *gate) {
    if (gate && --gate->references == 0) free(gate);
}

static void set(_Atomic(tdmi_cpu_gate *) *place, tdmi_cpu_gate *gate) {
    if (gate) gate->references++;
    release(atomic_exchange(place, gate));
}

/* Waits for what is there now, which is then forgotten unless it was replaced; when it opened, 0: there was none. */
static int64_t wait_for(_Atomic(tdmi_cpu_gate *) *place) {
    tdmi_cpu_gate *gate = atomic_load(place);
    if (!gate) return 0;
    gate->references++;
    while (gate->opened == 0)
        pthread_cond_wait(&opened, &lock);
    const int64_t when = gate->opened;
    if (atomic_load(place) == gate) set(place, NULL);
    release(gate);
    return when;
}

/* ---- gates ---- */

void tdmi_cpu_wait_for_gate(tdmi_bqueue *queue) {
    pthread_mutex_lock(&lock);
    (void)wait_for(&queue->gate);
    pthread_mutex_unlock(&lock);
}

tdm_status tdmi_cpu_gate_close(tdmi_bqueue *queue, tdmi_bgate *gate) {
    gate->gate = calloc(1, sizeof *gate->gate);
    if (!gate->gate) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    gate->gate->references = 1;
    pthread_mutex_lock(&lock);
    set(&queue->gate, gate->gate);
    pthread_mutex_unlock(&lock);
    return TDM_OK;
}

void tdmi_cpu_gate_open(tdmi_bgate *gate) {
    pthread_mutex_lock(&lock);
    gate->gate->opened = now();
    release(gate->gate);
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
}

/* ---- queues ---- */

tdm_status tdmi_cpu_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue) {
    (void)flags; /* events always carry a time */
    queue->device = device;
    queue->scratch = NULL;
    atomic_init(&queue->gate, NULL);
    return TDM_OK;
}

void tdmi_cpu_queue_deinit(tdmi_bqueue *queue) {
    tdmi_cpu_pass_gate(queue);
    free(queue->scratch);
}

tdm_status tdmi_cpu_queue_flush(tdmi_bqueue *queue) {
    (void)queue;
    return TDM_OK;
}

tdm_status tdmi_cpu_queue_finish(tdmi_bqueue *queue) {
    tdmi_cpu_pass_gate(queue);
    return TDM_OK;
}

/* ---- events ---- */

tdm_status tdmi_cpu_event_init(tdmi_bdevice *device, tdmi_bevent *event) {
    (void)device;
    atomic_init(&event->nanoseconds, 0);
    atomic_init(&event->gate, NULL);
    return TDM_OK;
}

static void set_gate(tdmi_bevent *event, tdmi_bqueue *queue) {
    pthread_mutex_lock(&lock);
    set(&event->gate, queue ? atomic_load(&queue->gate) : NULL);
    pthread_mutex_unlock(&lock);
}

void tdmi_cpu_event_deinit(tdmi_bevent *event) {
    if (atomic_load(&event->gate)) set_gate(event, NULL);
}

tdm_status tdmi_cpu_event_record(tdmi_bevent *event, tdmi_bqueue *queue) {
    atomic_store(&event->nanoseconds, now());
    if (atomic_load(&queue->gate) || atomic_load(&event->gate)) set_gate(event, queue);
    return TDM_OK;
}

tdm_status tdmi_cpu_event_wait(tdmi_bevent *event) {
    if (!atomic_load(&event->gate)) return TDM_OK;
    pthread_mutex_lock(&lock);
    const int64_t when = wait_for(&event->gate);
    if (when > atomic_load(&event->nanoseconds)) atomic_store(&event->nanoseconds, when);
    pthread_mutex_unlock(&lock);
    return TDM_OK;
}

tdm_status tdmi_cpu_event_query(tdmi_bevent *event, bool *done) {
    pthread_mutex_lock(&lock);
    const tdmi_cpu_gate *gate = atomic_load(&event->gate);
    *done = !gate || gate->opened != 0;
    pthread_mutex_unlock(&lock);
    return TDM_OK;
}

tdm_status tdmi_cpu_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds) {
    int64_t from = atomic_load(&start->nanoseconds), to = atomic_load(&end->nanoseconds);
    *seconds = (double)(to - from) * 1e-9;
    return TDM_OK;
}

/* Here, as work is done when a call returns. */
tdm_status tdmi_cpu_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event) {
    (void)queue;
    return tdmi_cpu_event_wait(event);
}
