/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Waiting for queues, and what becomes of memory when a wait fails.
 *
 * The rule: memory that queued work may still use is neither freed before a wait for that queue succeeded,
 * nor handed out again except after that work (order.c). A wait that fails is tried once more, by the
 * backend's drain, which has no opinion on how the work ended. When that fails too the queue is in doubt:
 * what it may use is kept with it, and its work counts as pending for the pool, until a later wait
 * succeeds (queue_end.c: also when it is destroyed). That a driver says the device is lost is no such success: OpenCL's
 * codes for it are other failures' too, and transfers may go on. Only where loss_ends_work does a lost device run
 * nothing any more. */

#include "base/log.h"
#include "timeline.h"

/* Something that a queue in doubt may still use. */
typedef struct tdmi_deferred {
    void (*release)(void *thing);
    void *thing;
    struct tdmi_deferred *next;
} tdmi_deferred;

static tdm_status wait_again(tdm_queue *queue, tdm_status status, bool *over) {
    tdm_device *device = queue->device;
    tdmi_outcome first = {0};
    tdmi_outcome_add(&first, status);
    status = tdmi_device_result(device, device->backend->queue_drain(queue->impl));
    *over =
        status == TDM_OK || (status == TDM_ERROR_DEVICE_LOST && device->backend->loss_ends_work);
    return tdmi_device_result(device, tdmi_outcome_end(&first));
}

tdm_status tdmi_queue_wait(tdm_queue *queue, bool *over) {
    TDMI_SPAN("wait", "wait", TDMI_PROFILE_QUEUE, TDMI_PROFILE_QUEUE_OF(queue));
    tdm_status status = queue->device->backend->queue_finish(queue->impl);
    *over = status == TDM_OK;
    if (*over) tdmi_timeline_write(queue);
    return *over ? TDM_OK : wait_again(queue, status, over);
}

void tdmi_queue_doubt_locked(tdm_queue *queue) {
    if (atomic_exchange(&queue->doubtful, true)) return;
    atomic_fetch_add(&queue->device->doubtful, 1);
    tdmi_log(TDM_LOG_WARNING, "a wait for a queue of %s failed: what its work may use is kept",
             queue->device->facts->info.id);
}

bool tdmi_queue_doubt(tdm_queue *queue) {
    TDMI_LOCKED(&queue->device->lock);
    const bool pending = tdmi_pending_since(queue) != 0;
    if (pending) tdmi_queue_doubt_locked(queue);
    return pending;
}

void tdmi_queue_settle(tdm_queue *queue) {
    tdm_device *device = queue->device;
    tdmi_mutex_lock(&device->lock);
    tdmi_deferred *deferred = queue->deferred;
    queue->deferred = NULL;
    if (atomic_exchange(&queue->doubtful, false)) atomic_fetch_sub(&device->doubtful, 1);
    tdmi_mutex_unlock(&device->lock);
    while (deferred) {
        tdmi_deferred *next = deferred->next;
        deferred->release(deferred->thing);
        tdmi_free(deferred);
        deferred = next;
    }
}

/* Whether a queue is in doubt. It is as well when an error was taken for the loss of the device, until a wait has shown
 * that what was queued before has ended. */
static bool is_doubtful_locked(tdm_queue *queue) {
    if (atomic_load(&queue->device->lost) && tdmi_pending_since(queue) != 0)
        tdmi_queue_doubt_locked(queue);
    return atomic_load(&queue->doubtful);
}

/* Whether the queue, or with NULL any of the device's, is in doubt and has taken the thing. One
 * that there is no memory to remember by is never released, which is the safe side. */
static bool keep(tdm_device *device, tdm_queue *queue, void (*release)(void *), void *thing) {
    if (atomic_load(&device->doubtful) == 0 && !atomic_load(&device->lost)) return false;
    tdmi_deferred *deferred = tdmi_malloc(sizeof *deferred);
    tdmi_mutex_lock(&device->lock);
    if (!queue)
        for (queue = device->queues; queue && !is_doubtful_locked(queue);)
            queue = queue->next;
    bool doubtful = queue && is_doubtful_locked(queue);
    if (doubtful && deferred) {
        *deferred = (tdmi_deferred){release, thing, queue->deferred};
        queue->deferred = deferred;
        deferred = NULL;
    }
    tdmi_mutex_unlock(&device->lock);
    tdmi_free(deferred);
    return doubtful;
}

void tdmi_queue_let_go(tdm_queue *queue, void (*release)(void *), void *thing) {
    if (!keep(queue->device, queue, release, thing)) release(thing);
}

bool tdmi_device_keeps(tdm_device *device, void (*release)(void *), void *thing) {
    return keep(device, NULL, release, thing);
}
