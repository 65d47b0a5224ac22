/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Events. */

#include "core.h"

tdm_status tdm_event_create(tdm_device *device, tdm_event **event) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, event);
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    tdm_event *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for an event");
    const tdm_status status = tdmi_make_event(device, &made->impl);
    if (status != TDM_OK) {
        tdmi_free(made);
        return status;
    }
    made->device = tdm_device_retain(device);
    atomic_init(&made->recorded, false);
    atomic_init(&made->timed, false);
    *event = made;
    return TDM_OK;
}

void tdm_event_destroy(tdm_event *event) {
    TDMI_UNCANCELLED();
    if (!event || tdmi_forked) return;
    tdmi_free_event(event->device, event->impl);
    tdm_device_release(event->device);
    tdmi_free(event);
}

tdm_status tdm_queue_record_event(tdm_queue *queue, tdm_event *event) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, event);
    TDMI_NOT_NULL(__func__, queue);
    if (event->device != queue->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "tdm_queue_record_event: event is of %s, but queue is of %s",
                         event->device->facts->info.id, queue->device->facts->info.id);
    TDMI_TRY(tdmi_device_usable(event->device));
    TDMI_TRY(tdmi_check_not_recording("tdm_queue_record_event", queue));
    TDMI_TRY(tdmi_queue_submitted(queue,
                                  event->device->backend->event_record(event->impl, queue->impl)));
    atomic_store(&event->timed, (queue->flags & TDM_QUEUE_TIMING) != 0);
    atomic_store(&event->recorded, true);
    return TDM_OK;
}

/* NULL, lost and never recorded: the checks of every function that looks at an event. */
static tdm_status check_recorded(const tdm_event *event, const char *function, const char *name) {
    if (!event) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, name);
    TDMI_TRY(tdmi_device_usable(event->device));
    if (!atomic_load(&event->recorded))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: %s was never recorded; call tdm_queue_record_event first", function,
                         name);
    return TDM_OK;
}

tdm_status tdm_event_wait(tdm_event *event) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_recorded(event, "tdm_event_wait", "event"));
    return tdmi_device_result(event->device, event->device->backend->event_wait(event->impl));
}

tdm_status tdm_event_query(tdm_event *event, bool *done) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, done);
    *done = false;
    TDMI_TRY(check_recorded(event, "tdm_event_query", "event"));
    return tdmi_device_result(event->device,
                              event->device->backend->event_query(event->impl, done));
}

tdm_status tdm_event_elapsed(tdm_event *start, tdm_event *end, double *seconds) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, seconds);
    *seconds = 0;
    TDMI_TRY(check_recorded(start, "tdm_event_elapsed", "start"));
    TDMI_TRY(check_recorded(end, "tdm_event_elapsed", "end"));
    if (start->device != end->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "tdm_event_elapsed: start is of %s, but end is of %s",
                         start->device->facts->info.id, end->device->facts->info.id);
    bool start_timed = atomic_load(&start->timed);
    if (!start_timed || !atomic_load(&end->timed))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_event_elapsed: %s was recorded in a queue made without "
                         "TDM_QUEUE_TIMING",
                         start_timed ? "end" : "start");
    const tdmi_backend *backend = start->device->backend;
    TDMI_TRY(tdmi_device_result(start->device, backend->event_wait(start->impl)));
    TDMI_TRY(tdmi_device_result(start->device, backend->event_wait(end->impl)));
    return tdmi_device_result(start->device,
                              backend->event_elapsed(start->impl, end->impl, seconds));
}

tdm_status tdm_queue_wait_event(tdm_queue *queue, tdm_event *event) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    TDMI_TRY(check_recorded(event, "tdm_queue_wait_event", "event"));
    TDMI_TRY(tdmi_check_not_recording("tdm_queue_wait_event", queue));
    const tdmi_backend *backend = queue->device->backend;
    if (event->device != queue->device &&
        (event->device->backend != backend || !backend->orders_devices))
        return tdm_event_wait(event);
    return tdmi_queue_submitted(queue, backend->queue_wait_event(queue->impl, event->impl));
}
