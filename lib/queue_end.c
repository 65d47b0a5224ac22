/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The end of a queue. One that is destroyed in doubt (wait.c) lives on in its device, and is waited
 * for again when another one is made or destroyed. */

#include "base/log.h"
#include "timeline.h"

/* Frees a queue whose work is over. */
static void free_queue(tdm_queue *queue) {
    tdm_device *device = queue->device;
    if (queue->verified > 0)
        tdmi_log(TDM_LOG_INFO, "TANDEM_VERIFY: %llu calls on a queue of %s were compared",
                 (unsigned long long)queue->verified, device->facts->info.id);
    tdmi_timeline_end(queue);
    tdm_queue_destroy(queue->reference);
    tdmi_mutex_lock(&device->lock);
    while (queue->waiters > 0)
        tdmi_cond_wait(&device->drained, &device->lock);
    /* The pool waits for it no more; on a lost device it would keep what is settled now. */
    atomic_store(&queue->first_pending, 0);
    tdmi_mutex_unlock(&device->lock);
    tdmi_queue_settle(queue);
    tdmi_queue_free_kernels(queue);
    tdmi_queue_detach_blas(queue);
    tdmi_mutex_lock(&device->lock);
    if (queue->scratch) tdmi_pool_give(device, queue->scratch, 0);
    for (tdm_queue **at = &device->queues; *at; at = &(*at)->next) {
        if (*at != queue) continue;
        *at = queue->next;
        break;
    }
    tdmi_mutex_unlock(&device->lock);
    device->backend->queue_deinit(queue->impl);
    tdm_failure_release(atomic_load(&queue->failure));
    tdmi_free(queue->impl);
    tdmi_free(queue);
    tdmi_device_let_leave(device, true);
    tdm_device_release(device);
}

/* Puts the end off, unless nothing is pending (false). */
static bool abandon(tdm_queue *queue) {
    if (!tdmi_queue_doubt(queue)) return false;
    TDMI_LOCKED(&queue->device->lock);
    queue->abandoned = true;
    atomic_fetch_add(&queue->device->abandoned, 1);
    return true;
}

/* One that no other thread is waiting for, but for so many. */
static tdm_queue *borrow_abandoned(tdm_device *device, unsigned skip) {
    TDMI_LOCKED(&device->lock);
    tdm_queue *queue = device->queues;
    while (queue && (!queue->abandoned || queue->awaited || skip-- > 0))
        queue = queue->next;
    if (queue) queue->awaited = true;
    return queue;
}

void tdmi_device_end_abandoned(tdm_device *device) {
    for (unsigned failed = 0; atomic_load(&device->abandoned) > failed;) {
        tdm_queue *queue = borrow_abandoned(device, failed);
        bool over;
        if (!queue) return;
        (void)!tdmi_queue_wait(queue, &over);
        if (over) {
            atomic_fetch_sub(&device->abandoned, 1);
            free_queue(queue);
        } else {
            tdmi_mutex_lock(&device->lock);
            queue->awaited = false;
            tdmi_mutex_unlock(&device->lock);
            failed++;
        }
    }
}

void tdm_queue_destroy(tdm_queue *queue) {
    TDMI_UNCANCELLED();
    if (!queue || tdmi_forked) return;
    tdm_device *device = queue->device;
    bool over;
    tdmi_queue_leave_graphs(queue);
    tdmi_device_end_abandoned(device);
    (void)!tdmi_queue_wait(queue, &over);
    if (over || !abandon(queue)) free_queue(queue);
}
