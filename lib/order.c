/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What is pending: each submission has a number, and a queue remembers its first one since a wait. */

#include "core.h"

static _Thread_local uint64_t last_queue;

uint64_t tdmi_last_queue(void) { return last_queue; }

void tdmi_stay_alone(void) { last_queue = TDMI_ALONE; }

tdm_status tdmi_queue_submitted(tdm_queue *queue, tdm_status status) {
    tdm_device *device = queue->device;
    if (!device->facts->synchronous) {
        if (!queue->behind_gates) last_queue = queue->number;
        uint64_t number = atomic_fetch_add_explicit(&device->sequence, 1, memory_order_relaxed) + 1;
        uint64_t none = 0;
        atomic_compare_exchange_strong(&queue->first_pending, &none, number);
    }
    return tdmi_device_result(device, status);
}

uint64_t tdmi_oldest_pending(const tdm_device *device) {
    uint64_t oldest = UINT64_MAX;
    for (const tdm_queue *queue = device->queues; queue; queue = queue->next) {
        uint64_t first = atomic_load(&queue->first_pending);
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
    const uint64_t first = atomic_load(&queue->first_pending);
    return first != 0 && first <= block->released ? queue : NULL;
}
