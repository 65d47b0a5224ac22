/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that the program owns: a buffer is made over it, and the owner is called back, once, when the library no
 * longer uses it.
 *
 * Such a block never goes through the pool. When its last buffer is released while work is pending on it, an event is
 * recorded in each queue that may use it, and the block waits in the device's list `leaving`, the oldest first. The
 * host never waits for that: the next call that makes or releases a buffer checks whether the events of the oldest have
 * completed, and a wait for a queue checks all of them. At the latest, the wait that ends a queue
 * releases what only that queue has used. */

#include "core.h"

/* A queue's work up to the release. */
typedef struct tdmi_mark {
    uint64_t queue; /* its number */
    tdmi_bevent
        *event; /* NULL: none could be made, and only a wait for the queue shows that it is over */
} tdmi_mark;

typedef struct tdmi_adopted {
    tdmi_block block;
    tdm_device *device; /* a reference, from the release on */
    void (*release)(void *context);
    void *context;
    tdmi_mark *marks;
    size_t mark_count;
    bool unmarked; /* there was no memory for marks: over when nothing that old is pending */
    struct tdmi_adopted *next;
} tdmi_adopted;

/* ---- making ---- */

/* Kernels read memory in vectors of 16 bytes. */
static tdm_status check_address(const void *address, size_t size) {
    enum { ALIGNMENT = 16 };
    if (size > UINTPTR_MAX - (uintptr_t)address)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "memory of %zu bytes from %p on passes the end of all addresses", size,
                         address);
    if ((uintptr_t)address % ALIGNMENT != 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "memory begins at %p, which is not a multiple of %d: begin further ahead, "
                         "and let tensors have an offset",
                         address, ALIGNMENT);
    return TDM_OK;
}

static tdm_status adopt(const char *function, tdm_device *device, void *handle, tdm_buffer *buffer,
                        tdmi_adopted *adopted) {
    tdmi_block *block = &adopted->block;
    bool read_only = false;
    block->adopted = adopted;
    block->size = buffer->size;
    /* Of nothing there may be no handle either. */
    if (buffer->size > 0) {
        const tdmi_backend *backend = device->backend;
        tdm_status status =
            backend->adopts_addresses ? check_address(handle, buffer->size) : TDM_OK;
        if (status == TDM_OK)
            status =
                tdmi_device_result(device, backend->mem_adopt(device->impl, handle, buffer->size,
                                                              &block->mem, &read_only));
        if (status != TDM_OK)
            return tdmi_fail_in(status, "%s: on %s", function, device->facts->info.id);
    }
    atomic_init(&buffer->references, 1);
    atomic_init(&buffer->read_only, read_only);
    buffer->device = tdm_device_retain(device);
    buffer->block = block;
    return TDM_OK;
}

tdm_status tdmi_adopt_memory(const char *function, tdm_device *device, void *handle, size_t size,
                             void (*release)(void *context), void *context, tdm_buffer **buffer) {
    tdmi_device_let_leave(device, false);
    tdm_buffer *made = tdmi_calloc(1, sizeof *made);
    tdmi_adopted *adopted = tdmi_calloc(1, sizeof *adopted);
    tdm_status status = TDM_OK;
    if (made && adopted) {
        made->size = size;
        adopted->release = release;
        adopted->context = context;
        status = adopt(function, device, handle, made, adopted);
    } else {
        status = tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a buffer");
    }
    if (status != TDM_OK) {
        tdmi_free(made);
        tdmi_free(adopted);
        return status;
    }
    *buffer = made;
    return TDM_OK;
}

/* ---- marking pending work ---- */

static bool is_pending(const tdm_queue *queue, uint64_t released) {
    const uint64_t first = tdmi_pending_since(queue);
    return first != 0 && first <= released;
}

static bool may_use(const tdm_queue *queue, const tdmi_block *block) {
    const uint64_t former = atomic_load(&block->former);
    return (former == TDMI_SEVERAL || former == queue->number) &&
           is_pending(queue, block->released);
}

static tdmi_bevent *record(tdm_device *device, tdm_queue *queue) {
    tdmi_bevent *event;
    if (atomic_load(&device->lost) || tdmi_make_event(device, &event) != TDM_OK) return NULL;
    if (tdmi_device_result(device, device->backend->event_record(event, queue->impl)) == TDM_OK)
        return event;
    tdmi_free_event(device, event);
    return NULL;
}

static void mark_pending(tdm_device *device, tdmi_adopted *gone) {
    size_t count = 0;
    for (tdm_queue *queue = device->queues; queue; queue = queue->next)
        count += may_use(queue, &gone->block);
    if (count == 0) return;
    tdmi_attempt_begin(); /* a release keeps the message of the last error */
    gone->marks = tdmi_calloc(count, sizeof *gone->marks);
    gone->unmarked = !gone->marks;
    for (tdm_queue *queue = device->queues; queue && gone->mark_count < count; queue = queue->next)
        if (gone->marks && may_use(queue, &gone->block))
            gone->marks[gone->mark_count++] = (tdmi_mark){queue->number, record(device, queue)};
    (void)tdmi_attempt_end(TDM_OK);
}

/* ---- leaving ---- */

static bool mark_is_over(tdm_device *device, const tdmi_adopted *gone, const tdmi_mark *mark) {
    tdm_queue *queue = device->queues;
    while (queue && queue->number != mark->queue)
        queue = queue->next;
    if (!queue || !is_pending(queue, gone->block.released)) return true;
    bool done = false;
    if (!mark->event || atomic_load(&device->lost)) return false;
    return tdmi_device_result(device, device->backend->event_query(mark->event, &done)) == TDM_OK &&
           done;
}

static bool is_over(tdm_device *device, const tdmi_adopted *gone) {
    bool over = !gone->unmarked || gone->block.released < tdmi_oldest_pending(device);
    for (size_t i = 0; over && i < gone->mark_count; i++)
        over = mark_is_over(device, gone, &gone->marks[i]);
    return over;
}

static void leave(tdmi_adopted *gone) {
    tdm_device *device = gone->device;
    for (size_t i = 0; i < gone->mark_count; i++)
        tdmi_free_event(device, gone->marks[i].event);
    if (gone->block.size > 0) device->backend->mem_disown(device->impl, &gone->block.mem);
    if (gone->release) gone->release(gone->context);
    tdmi_free(gone->marks);
    tdmi_free(gone);
    tdm_device_release(device);
}

void tdmi_device_let_leave(tdm_device *device, bool all) {
    tdmi_adopted *over = NULL, *kept = NULL;
    if (atomic_load(&device->leaving_count) == 0) return;
    tdmi_mutex_lock(&device->lock);
    for (tdmi_adopted *gone = device->leaving, *next; gone; gone = next) {
        next = gone->next;
        if (!is_over(device, gone)) {
            if (!all) break;
            kept = gone;
            continue;
        }
        *(kept ? &kept->next : &device->leaving) = next;
        if (!next) device->leaving_last = kept;
        gone->next = over;
        over = gone;
        atomic_fetch_sub(&device->leaving_count, 1);
    }
    tdmi_mutex_unlock(&device->lock);
    /* Without the lock: the owners may call the library. */
    while (over) {
        tdmi_adopted *next = over->next;
        leave(over);
        over = next;
    }
}

void tdmi_adopted_give(tdm_device *device, tdmi_block *block) {
    tdmi_adopted *gone = block->adopted;
    tdmi_device_let_leave(device, false);
    gone->device = tdm_device_retain(device);
    tdmi_mutex_lock(&device->lock);
    block->released = atomic_load(&device->sequence);
    atomic_store(&block->former, atomic_exchange(&block->user, 0));
    mark_pending(device, gone);
    const bool over = is_over(device, gone);
    if (!over) {
        *(device->leaving ? &device->leaving_last->next : &device->leaving) = gone;
        device->leaving_last = gone;
        atomic_fetch_add(&device->leaving_count, 1);
    }
    tdmi_mutex_unlock(&device->lock);
    if (over) leave(gone);
}
