/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Queues and events of the cpu backend: work is done when a call returns. */
#include <stdlib.h>

#include "cpu_backend.h"
#include "platform/clock.h"
#include "platform/memory.h"

tdm_status tdmi_cpu_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue) {
    (void)flags; /* events always carry a time */
    queue->device = device;
    queue->scratch = NULL;
    return TDM_OK;
}

void tdmi_cpu_queue_deinit(tdmi_bqueue *queue) { tdmi_aligned_free(queue->scratch); }

tdm_status tdmi_cpu_queue_nothing(tdmi_bqueue *queue) {
    (void)queue;
    return TDM_OK;
}

tdm_status tdmi_cpu_event_init(tdmi_bdevice *device, tdmi_bevent *event) {
    (void)device;
    atomic_init(&event->nanoseconds, 0);
    return TDM_OK;
}

void tdmi_cpu_event_deinit(tdmi_bevent *event) { (void)event; }

tdm_status tdmi_cpu_event_record(tdmi_bevent *event, tdmi_bqueue *queue) {
    (void)queue;
    atomic_store(&event->nanoseconds, (int64_t)tdmi_nanoseconds());
    return TDM_OK;
}

tdm_status tdmi_cpu_event_wait(tdmi_bevent *event) {
    (void)event;
    return TDM_OK;
}

tdm_status tdmi_cpu_event_query(tdmi_bevent *event, bool *done) {
    (void)event;
    *done = true;
    return TDM_OK;
}

tdm_status tdmi_cpu_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds) {
    int64_t from = atomic_load(&start->nanoseconds), to = atomic_load(&end->nanoseconds);
    *seconds = (double)(to - from) * 1e-9;
    return TDM_OK;
}

tdm_status tdmi_cpu_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event) {
    (void)queue;
    (void)event;
    return TDM_OK;
}
