/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory pool of a device: released blocks are kept for buffers of like size.
 *
 * A released block may still be used by work that is queued. One that a single queue has used is handed out
 * at once, and its next user comes after that queue's work (order.c). One that several have used is
 * handed out once no queue has work pending that is as old as its release: every submission has a number, and
 * a block remembers that at its release. On a synchronous device nothing is ever pending. */

#include "core.h"

enum {
    SMALL_STEP = 512,     /* sizes are rounded up to this … */
    LARGE_STEP = 1 << 20, /* … or, from LARGE on, to this */
    LARGE = 4 << 20,
    PENDING_BYTES = 256 << 20, /* released but still pending: beyond one of these limits … */
    PENDING_BLOCKS = 256       /* … the pool waits for the queues */
};

static size_t round_up(size_t size) {
    size_t step = size < LARGE ? SMALL_STEP : LARGE_STEP;
    return size > SIZE_MAX - step ? size : (size + step - 1) / step * step;
}

/* Puts back the mark of work that may still be running. */
static void mark_pending(tdm_queue *queue, uint64_t first) {
    uint64_t now = atomic_load(&queue->first_pending);
    while ((now == 0 || now > first) &&
           !atomic_compare_exchange_weak(&queue->first_pending, &now, first))
        continue;
}

static void wait_for_queues(tdm_device *device) {
    for (tdm_queue *queue = device->queues; queue; queue = queue->next) {
        const uint64_t first = tdmi_pending_since(queue);
        if (first == 0) continue;
        /* Reset before the wait: work is marked after it was queued (tdmi_queue_submitted), so what
         * another thread queues during the wait is either waited for here or marked again. Until the wait is over
         * waited_from is the mark. A failure of the work is for the user's own wait to report; the memory is free all
         * the same. */
        queue->waited_from = first;
        atomic_store(&queue->first_pending, 0);
        if (tdmi_queue_drain(queue) == TDM_OK) continue;
        mark_pending(queue, first);
        tdmi_queue_doubt_locked(queue);
    }
}

/* How soon a cached block can be used, best first. */
typedef enum tdmi_readiness { READY, BEHIND_ANOTHER, NOT_YET } tdmi_readiness;

/* `next`: the number of the queue that will use it, as far as that can be guessed. */
static tdmi_readiness readiness(const tdm_device *device, tdmi_block *block, uint64_t pending,
                                uint64_t next) {
    if (block->released < pending) return READY;
    if (atomic_load(&block->former) == TDMI_SEVERAL) return NOT_YET;
    const tdm_queue *former = tdmi_former_user(device, block);
    if (!former) return READY;
    if (atomic_load(&former->doubtful)) return NOT_YET;
    return former->number == next ? READY : BEHIND_ANOTHER;
}

/* The best cached block. *crowded: much cannot be used yet, waiting would pay. */
static tdmi_block *find_cached(tdm_device *device, size_t size, bool *crowded) {
    const uint64_t pending = tdmi_oldest_pending(device), next = tdmi_last_queue();
    tdmi_block **best = NULL;
    tdmi_readiness how_best = NOT_YET;
    uint64_t waiting = 0, blocks = 0;
    for (tdmi_block **at = &device->pool.cached; *at; at = &(*at)->next) {
        tdmi_block *block = *at;
        const tdmi_readiness how = readiness(device, block, pending, next);
        if (how == NOT_YET) {
            waiting += block->size;
            blocks++;
            continue;
        }
        /* A block may be up to a quarter larger than requested. */
        if (block->size < size || block->size - size > size / 4) continue;
        if (!best || block->size < (*best)->size ||
            (block->size == (*best)->size && how < how_best)) {
            best = at;
            how_best = how;
        }
        if (block->size == size && how == READY)
            break; /* none is better: thousands of like size are no long search */
    }
    *crowded = waiting > PENDING_BYTES || blocks > PENDING_BLOCKS;
    if (!best) return NULL;
    tdmi_block *block = *best;
    *best = block->next;
    if (block->released < pending) atomic_store(&block->former, 0);
    device->pool.stats.cached -= block->size;
    return block;
}

/* Additions, because a device that is being closed and the one that is opened in its place are reported
 * together. */
static void add_reserved(tdm_device *device, uint64_t size) {
    device->pool.stats.reserved += size;
    tdmi_holding_add(device->holding, size);
}

static void subtract_reserved(tdm_device *device, uint64_t size) {
    device->pool.stats.reserved -= size;
    tdmi_holding_add(device->holding, 0 - size);
}

static tdm_status allocate(tdm_device *device, size_t size, tdmi_block **block) {
    tdmi_block *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    made->size = size;
    tdm_status status = device->backend->mem_alloc(device->impl, size, &made->mem);
    if (status == TDM_ERROR_OUT_OF_MEMORY && tdmi_pool_make_room(device))
        status = device->backend->mem_alloc(device->impl, size, &made->mem);
    if (status != TDM_OK) {
        tdmi_free(made);
        return tdmi_device_result(device, status);
    }
    add_reserved(device, size);
    device->pool.stats.allocations++;
    *block = made;
    return TDM_OK;
}

tdm_status tdmi_pool_take(tdm_device *device, size_t size, size_t in_use, tdmi_block **block) {
    size_t rounded = round_up(size ? size : 1);
    if (rounded > device->facts->info.max_allocation) rounded = size;
    bool crowded;
    *block = find_cached(device, rounded, &crowded);
    if (!*block && crowded) {
        wait_for_queues(device);
        *block = find_cached(device, rounded, &crowded);
    }
    if (!*block) TDMI_TRY(allocate(device, rounded, block));
    tdm_memory_stats *stats = &device->pool.stats;
    stats->in_use += in_use;
    if (stats->in_use > stats->peak) stats->peak = stats->in_use;
    return TDM_OK;
}

void tdmi_pool_give(tdm_device *device, tdmi_block *block, size_t in_use) {
    device->pool.stats.in_use -= in_use;
    device->pool.stats.cached += block->size;
    block->released = atomic_load(&device->sequence);
    const uint64_t user = atomic_exchange(&block->user, 0);
    if (user != 0) atomic_store(&block->former, user); /* earlier work came before this user's */
    block->next = device->pool.cached;
    device->pool.cached = block;
}

void tdmi_pool_free_kept(tdm_device *device, size_t most_bytes, size_t most_blocks) {
    size_t bytes = 0, blocks = 0;
    for (tdmi_host_block **at = &device->kept_blocks; *at;) {
        tdmi_host_block *block = *at;
        bytes += block->size;
        if (bytes <= most_bytes || ++blocks <= most_blocks) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        device->backend->host_free(device->impl, &block->mem);
        tdmi_free(block);
    }
}

void tdmi_pool_trim(tdm_device *device) {
    tdmi_pool_free_kept(device, 0, 0);
    wait_for_queues(device);
    uint64_t pending = tdmi_oldest_pending(device);
    for (tdmi_block **at = &device->pool.cached; *at;) {
        tdmi_block *block = *at;
        if (block->released >= pending) { /* of a queue that could not be waited for */
            at = &block->next;
            continue;
        }
        *at = block->next;
        device->pool.stats.cached -= block->size;
        subtract_reserved(device, block->size);
        device->backend->mem_free(device->impl, &block->mem);
        tdmi_free(block);
    }
}

bool tdmi_pool_make_room(tdm_device *device) {
    const bool any = device->pool.cached || device->kept_blocks;
    if (device->pool.cached)
        tdmi_pool_trim(device);
    else
        tdmi_pool_free_kept(device, 0, 0);
    return any;
}

bool tdmi_device_make_room(tdm_device *device) {
    TDMI_LOCKED(&device->lock);
    return tdmi_pool_make_room(device);
}
