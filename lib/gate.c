/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Gates. */
#include "gate.h"

#include <time.h>

static void free_gate(tdmi_gate *gate) {
    if (gate->event) gate->device->backend->event_deinit(gate->event);
    tdmi_free(gate->event);
    tdmi_free(gate->impl);
    tdmi_loss_release(gate->loss);
    *gate = (tdmi_gate){0};
}

static tdm_status make(tdm_queue *queue, tdmi_gate *gate) {
    const tdmi_backend *backend = queue->device->backend;
    *gate = (tdmi_gate){.device = queue->device};
    tdmi_bevent *event = tdmi_calloc(1, backend->event_size);
    gate->impl = tdmi_calloc(1, backend->gate_size);
    gate->loss = tdmi_queue_loss(queue);
    tdm_status status = event && gate->impl && gate->loss
                            ? backend->event_init(queue->device->impl, event)
                            : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (status == TDM_OK)
        gate->event = event;
    else
        tdmi_free(event);
    return status;
}

tdm_status tdmi_gate_close(tdm_queue *queue, tdmi_gate *gate) {
    tdm_device *device = queue->device;
    tdm_status status = make(queue, gate);
    if (status == TDM_OK) {
        /* Under the lock: who holds it, and found no gate closed, may be waiting for the queue. */
        pthread_mutex_lock(&device->lock);
        atomic_fetch_add(&device->gates_closed, 1);
        pthread_mutex_unlock(&device->lock);
        status = device->backend->event_record(gate->event, queue->impl);
        if (status == TDM_OK) status = device->backend->gate_close(queue->impl, gate->impl);
        if (status != TDM_OK) atomic_fetch_add(&device->gates_opened, 1);
    }
    if (status != TDM_OK) free_gate(gate);
    return tdmi_queue_submitted(queue, status);
}

tdm_status tdmi_gate_reach(tdmi_gate *gate) {
    return tdmi_device_result(gate->device, gate->device->backend->event_wait(gate->event));
}

void tdmi_gate_open(tdmi_gate *gate, tdm_status status) {
    if (status != TDM_OK) tdmi_loss_tell(gate->loss, status, tdm_last_error());
    /* Counted first: who then waits for the queue with the lock held waits for this thread, which takes no lock. */
    atomic_fetch_add(&gate->device->gates_opened, 1);
    gate->device->backend->gate_open(gate->impl);
    free_gate(gate);
}

bool tdmi_device_await_gates(tdm_device *device) {
    const uint64_t closed = atomic_load(&device->gates_closed);
    if (tdmi_last_queue() == TDMI_ALONE || atomic_load(&device->gates_opened) >= closed)
        return false;
    while (atomic_load(&device->gates_opened) < closed)
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return true;
}
