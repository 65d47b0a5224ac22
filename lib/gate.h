/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A gate: what a thread does on the host in the order of a queue. It comes behind the queue's earlier work, and later
 * work waits for it, on the device where the backend can. Whoever closes a gate gives it to one thread, which reaches
 * it, does its work on a queue of its own (`behind_gates`) and opens it, always, and with gates of one queue in
 * their order. */
#ifndef TDMI_GATE_H
#define TDMI_GATE_H

#include "core.h"

typedef struct tdmi_gate {
    tdm_device *device; /* outlives the gate */
    tdmi_bevent *event; /* recorded before */
    tdmi_bgate *impl;
    tdmi_loss *loss; /* of the queue, which the gate does not need any more once it is closed */
} tdmi_gate;

/* Whether a device's backend has gates. */
static inline bool tdmi_has_gates(const tdm_device *device) { return device->backend->gate_close; }

/* The queue is of the device, and what the work uses of its buffers has been ordered on it. *gate is all zero on
 * failure. */
tdm_status tdmi_gate_close(tdm_queue *queue, tdmi_gate *gate) TDM_MUST_USE;
/* Waits here for the earlier work. */
tdm_status tdmi_gate_reach(tdmi_gate *gate) TDM_MUST_USE;
/* Frees the gate. A failure, with the thread's message, is what the queue's next wait tells. */
void tdmi_gate_open(tdmi_gate *gate, tdm_status status);

#endif
