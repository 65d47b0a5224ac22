/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of queues, and of graphs. */

#include "record.h"

tdm_status tdmi_queue_scratch(tdm_queue *queue, size_t size, const tdmi_mem **mem) {
    tdm_device *device = queue->device;
    tdm_status status = TDM_OK;
    /* A recorded graph goes on using a smaller one. */
    tdmi_block **scratch = queue->lender ? &queue->lender->scratch : &queue->scratch;
    tdmi_block *before = *scratch;
    if (!before || before->size < size) {
        tdmi_mutex_lock(&device->lock);
        if (before && !queue->lender) {
            *scratch = NULL;
            tdmi_pool_give(device, before, 0);
            before = NULL;
        }
        /* Scratch is not the user's: it counts as reserved, not as in use. */
        tdmi_block *taken = NULL;
        status = TDMI_ATTEMPT(tdmi_pool_take(device, size, 0, &taken));
        if (status == TDM_OK) {
            taken->next = before;
            *scratch = taken;
        }
        tdmi_mutex_unlock(&device->lock);
    }
    /* also of a block that was taken by a call that then failed to order it */
    if (status == TDM_OK && atomic_load(&(*scratch)->user) != queue->number)
        status = tdmi_order_block(queue, *scratch);
    if (status == TDM_OK)
        *mem = &(*scratch)->mem;
    else if (queue->recording) /* of an operation, part may be recorded */
        tdmi_outcome_add(&queue->recording->outcome, status);
    return status;
}
