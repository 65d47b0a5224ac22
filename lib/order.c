/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The order of work: what is pending, and what must be over before memory is used again. Each submission has a
 * number, and a queue remembers its first one since a wait.
 *
 * A block of memory remembers the one queue that uses it. When it is released, and taken for another
 * buffer, that queue's work may still be pending: work that the same queue is given for the new buffer runs
 * after it by itself, and another queue first waits, on the device, for what that queue has been given so
 * far. So the host does not wait for the first queue that uses the memory again; for a second one it does, as there is
 * no point of the former queue left to record. Blocks that several queues have used are rare, and left to the pool. How
 * queues take turns with one buffer is for the program to say, by events. */

#include "core.h"

static _Thread_local uint64_t last_queue;

uint64_t tdmi_last_queue(void) { return last_queue; }

tdm_status tdmi_queue_submitted(tdm_queue *queue, tdm_status status) {
    tdm_device *device = queue->device;
    if (!device->facts->synchronous) {
        last_queue = queue->number;
        uint64_t number = atomic_fetch_add_explicit(&device->sequence, 1, memory_order_relaxed) + 1;
        uint64_t none = 0;
        atomic_compare_exchange_strong(&queue->first_pending, &none, number);
    }
    return tdmi_device_result(device, status);
}

uint64_t tdmi_oldest_pending(const tdm_device *device) {
    uint64_t oldest = UINT64_MAX;
    for (const tdm_queue *queue = device->queues; queue; queue = queue->next) {
        const uint64_t first = tdmi_pending_since(queue);
        if (first != 0 && first < oldest) oldest = first;
    }
    return oldest;
}

tdm_queue *tdmi_former_user(const tdm_device *device, const tdmi_block *block) {
    const uint64_t number = atomic_load(&block->former);
    if (number == 0) return NULL;
    tdm_queue *queue = device->queues;
    while (queue && queue->number != number)
        queue = queue->next;
    if (!queue) return NULL; /* its work was over when it was destroyed */
    const uint64_t first = tdmi_pending_since(queue);
    return first != 0 && first <= block->released ? queue : NULL;
}

tdm_status tdmi_make_event(tdm_device *device, tdmi_bevent **event) {
    tdmi_bevent *made = tdmi_calloc(1, device->backend->event_size);
    const tdm_status status =
        made ? device->backend->event_init(device->impl, made)
             : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for an event");
    if (status == TDM_OK)
        *event = made;
    else
        tdmi_free(made);
    return tdmi_device_result(device, status);
}

void tdmi_free_event(tdm_device *device, tdmi_bevent *event) {
    if (event) device->backend->event_deinit(event);
    tdmi_free(event);
}

/* Has the queue wait for all that the other one has been given. */
static tdm_status wait_for_queue(tdm_queue *queue, const tdm_queue *other) {
    tdm_device *device = queue->device;
    const tdmi_backend *backend = device->backend;
    if (!device->order) TDMI_TRY(tdmi_make_event(device, &device->order));
    TDMI_TRY(tdmi_device_result(device, backend->event_record(device->order, other->impl)));
    return tdmi_queue_submitted(queue, backend->queue_wait_event(queue->impl, device->order));
}

tdm_status tdmi_queue_drain(tdm_queue *queue) {
    tdm_device *device = queue->device;
    queue->waiters++;
    tdmi_mutex_unlock(&device->lock);
    const tdm_status status = tdmi_device_result(device, device->backend->queue_drain(queue->impl));
    tdmi_mutex_lock(&device->lock);
    if (--queue->waiters > 0) return status;
    queue->waited_from = 0;
    tdmi_cond_broadcast(&device->drained);
    return status;
}

static tdm_status order_locked(tdm_queue *queue, tdmi_block *block) {
    const uint64_t user = atomic_load(&block->user);
    tdm_queue *former = tdmi_former_user(queue->device, block);
    if (former && former != queue) {
        /* For a second user there is nothing left to record: the first one's work is queued by now. So the host waits,
         * and another thread that does the same meanwhile comes to the same end. */
        TDMI_TRY(user == 0 ? wait_for_queue(queue, former) : tdmi_queue_drain(former));
        if (user != 0) former = NULL;
    }
    if (!former) atomic_store(&block->former, 0);
    atomic_store(&block->user, user == 0 ? queue->number : TDMI_SEVERAL);
    return TDM_OK;
}

tdm_status tdmi_order_block(tdm_queue *queue, tdmi_block *block) {
    TDMI_LOCKED(&queue->device->lock);
    return order_locked(queue, block);
}

tdm_status tdmi_order_foreign(const tdm_buffer *buffer) {
    tdm_device *device = buffer->device;
    tdmi_block *block = buffer->block;
    tdm_status status = TDM_OK;
    /* A queue that has used it came after the former user, and what comes after that queue does, too. */
    if (!block || atomic_load(&block->former) == 0 || atomic_load(&block->user) != 0) return TDM_OK;
    TDMI_LOCKED(&device->lock);
    tdm_queue *former = tdmi_former_user(device, block);
    if (former) status = tdmi_queue_drain(former);
    if (status == TDM_OK) atomic_store(&block->former, 0);
    return status;
}
