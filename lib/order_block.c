/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The order of work: behind what memory is used again.
 *
 * A block of memory remembers the one queue that uses it. When it is released, and taken for another
 * buffer, that queue's work may still be pending: work that the same queue is given for the new buffer runs
 * behind it by itself, and another queue first waits, on the device, for what that queue has been given so
 * far. So nobody waits on the host. What several queues have used is rare, and left to the pool. How
 * queues that use one buffer at a time come behind each other is for the program to say, by events.
 *
 * A gate (gate.c) has a queue's later work wait for a thread, whose own queue must wait for nobody then. It works with
 * buffers in the place of the queue that has the gate, which is their user; and memory of its own it only takes where
 * nobody's work is pending. */

#include "core.h"

/* Has the queue wait for all that the other one has been given. */
static tdm_status wait_behind(tdm_queue *queue, const tdm_queue *other) {
    tdm_device *device = queue->device;
    const tdmi_backend *backend = device->backend;
    if (!device->order) {
        tdmi_bevent *made = tdmi_calloc(1, backend->event_size);
        if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for an event");
        tdm_status status = tdmi_device_result(device, backend->event_init(device->impl, made));
        if (status != TDM_OK) {
            tdmi_free(made);
            return status;
        }
        device->order = made;
    }
    TDMI_TRY(tdmi_device_result(device, backend->event_record(device->order, other->impl)));
    return tdmi_queue_submitted(queue, backend->queue_wait_event(queue->impl, device->order));
}

/* Waits here, which is for what has no order of its own on the device. */
static tdm_status wait_out(tdm_device *device, const tdm_queue *former) {
    return tdmi_device_result(device, device->backend->queue_drain(former->impl));
}

static tdm_status order_locked(tdm_queue *queue, tdmi_block *block) {
    uint64_t user = atomic_load(&block->user);
    if (queue->behind_gates) {
        if (user == 0) atomic_store(&block->user, queue->number);
        return TDM_OK;
    }
    const tdm_queue *former = tdmi_former_user(queue->device, block);
    if (former && former != queue) {
        /* For a second user there is nothing left to record: the first one's work is queued by now. While there are
         * gates nobody waits here, and the first comes behind nobody: it has other memory. */
        const bool gated = tdmi_device_is_gated(queue->device), here = user != 0 && !gated;
        if (here)
            TDMI_TRY(wait_out(queue->device, former));
        else if (user != 0 || !gated || tdmi_pool_renew(queue->device, block) != TDM_OK)
            TDMI_TRY(wait_behind(queue, former));
        if (here) former = NULL;
    }
    if (!former) atomic_store(&block->former, 0);
    atomic_store(&block->user, user == 0 ? queue->number : TDMI_SEVERAL);
    return TDM_OK;
}

tdm_status tdmi_order_block(tdm_queue *queue, tdmi_block *block) {
    pthread_mutex_lock(&queue->device->lock);
    tdm_status status = order_locked(queue, block);
    pthread_mutex_unlock(&queue->device->lock);
    return status;
}

tdm_status tdmi_order_foreign(const tdm_buffer *buffer) {
    tdm_device *device = buffer->device;
    tdmi_block *block = buffer->block;
    tdm_status status = TDM_OK;
    if (!block || atomic_load(&block->former) == 0) return TDM_OK;
    pthread_mutex_lock(&device->lock);
    while (tdmi_former_user(device, block) && tdmi_device_is_gated(device)) {
        pthread_mutex_unlock(&device->lock);
        (void)tdmi_device_await_gates(device);
        pthread_mutex_lock(&device->lock);
    }
    const tdm_queue *former = tdmi_former_user(device, block);
    if (former) status = wait_out(device, former);
    if (status == TDM_OK) atomic_store(&block->former, 0);
    pthread_mutex_unlock(&device->lock);
    return status;
}
