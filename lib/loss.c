/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a queue is to tell who waits for it next, though the driver knows of no failure: that work which waited for
 * another process was given up. Whoever watches such work holds this record, and so does the queue. */
#include <stdio.h>

#include "core.h"

enum { NOTHING, BEING_WRITTEN, WRITTEN };

struct tdmi_loss {
    atomic_uint references;
    atomic_int state;
    tdm_status status;
    char text[800];
};

void tdmi_loss_release(tdmi_loss *loss) {
    if (loss && atomic_fetch_sub(&loss->references, 1) == 1) tdmi_free(loss);
}

tdmi_loss *tdmi_queue_loss(tdm_queue *queue) {
    tdmi_loss *loss = atomic_load(&queue->loss);
    if (!loss) {
        loss = tdmi_calloc(1, sizeof *loss);
        if (!loss) return NULL;
        atomic_init(&loss->references, 1);
        atomic_store(&queue->loss, loss);
    }
    atomic_fetch_add(&loss->references, 1);
    return loss;
}

void tdmi_loss_tell(tdmi_loss *loss, tdm_status status, const char *text) {
    int nothing = NOTHING;
    if (!atomic_compare_exchange_strong(&loss->state, &nothing, BEING_WRITTEN)) return;
    loss->status = status;
    snprintf(loss->text, sizeof loss->text, "%s", text);
    atomic_store(&loss->state, WRITTEN);
}

tdm_status tdmi_queue_tell_loss(tdm_queue *queue) {
    tdmi_loss *loss = atomic_load(&queue->loss);
    if (!loss || atomic_load(&loss->state) != WRITTEN) return TDM_OK;
    tdm_status status =
        tdmi_fail(loss->status, "what the queue was given did not end: %s", loss->text);
    atomic_store(&loss->state, NOTHING);
    return status;
}
