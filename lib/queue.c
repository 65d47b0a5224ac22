/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* In-order queues. */

#include "timeline.h"

tdm_status tdm_queue_create(tdm_device *device, unsigned flags, tdm_queue **queue) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, queue);
    TDMI_NOT_NULL(__func__, device);
    if (flags & ~(unsigned)TDM_QUEUE_TIMING)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_queue_create: flags is %#x, only TDM_QUEUE_TIMING (%#x) is allowed",
                         flags, TDM_QUEUE_TIMING);
    TDMI_TRY(tdmi_device_usable(device));
    return tdmi_queue_make(device, flags, NULL, queue);
}

static tdm_status begin(tdm_device *device, unsigned *flags, void *handle, tdmi_bqueue *impl) {
    const tdmi_backend *backend = device->backend;
    return handle ? backend->queue_adopt(device->impl, handle, flags, impl)
                  : backend->queue_init(device->impl, *flags, impl);
}

tdm_status tdmi_queue_make(tdm_device *device, unsigned flags, void *handle, tdm_queue **queue) {
    tdmi_device_end_abandoned(device);
    const bool is_timed = tdmi_profiles() && !device->facts->synchronous;
    unsigned kept = flags | (is_timed ? TDM_QUEUE_TIMING : 0u); /* a profile does so by itself */
    tdm_queue *made = tdmi_calloc(1, sizeof *made);
    tdmi_bqueue *impl = tdmi_calloc(1, device->backend->queue_size);
    tdm_status status = made && impl
                            ? begin(device, &kept, handle, impl)
                            : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a queue");
    if (status != TDM_OK) {
        tdmi_free(made);
        tdmi_free(impl);
        return tdmi_device_result(device, status);
    }
    static atomic_uint_fast64_t queues;
    made->device = tdm_device_retain(device);
    made->impl = impl;
    made->number = atomic_fetch_add(&queues, 1) + 1;
    made->flags = handle ? kept : flags;
    if (is_timed && kept & TDM_QUEUE_TIMING) made->timeline = tdmi_timeline_make(made);
    made->verifies = tdmi_env_values()->verify > 0;
    made->row_choices = tdmi_tuned_rows_of(device->backend->name, device->facts);
    atomic_init(&made->first_pending, 0);
    atomic_init(&made->doubtful, false);
    tdmi_mutex_lock(&device->lock);
    made->next = device->queues;
    device->queues = made;
    tdmi_mutex_unlock(&device->lock);
    *queue = made;
    return TDM_OK;
}

tdm_status tdm_queue_finish(tdm_queue *queue) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, queue);
    TDMI_NOT_FORKED();
    TDMI_TRY(tdmi_check_not_recording("tdm_queue_finish", queue));
    /* Also of a device that was lost before: what was queued until then may go on. */
    const bool was_lost = atomic_load(&queue->device->lost);
    bool over;
    tdm_status status = tdmi_queue_wait(queue, &over);
    if (was_lost) status = tdmi_device_usable(queue->device);
    if (!over) {
        (void)tdmi_queue_doubt(queue);
        return status;
    }
    /* Only now: the pool takes a queue without pending work to be past all it was given. No
     * other thread submits to this queue meanwhile. */
    atomic_store(&queue->first_pending, 0);
    if (atomic_load(&queue->doubtful)) tdmi_queue_settle(queue);
    tdmi_device_let_leave(queue->device, true);
    return status == TDM_OK ? tdmi_queue_report_failure(queue) : status;
}

tdm_status tdm_queue_flush(tdm_queue *queue) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    return tdmi_device_result(queue->device, queue->device->backend->queue_flush(queue->impl));
}

tdm_device *tdm_queue_get_device(const tdm_queue *queue) { return queue ? queue->device : NULL; }
