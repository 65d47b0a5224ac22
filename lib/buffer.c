/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Buffers: making, counting and freeing them; pinned host memory. */

#include "base/log.h"
#include "core.h"

tdm_status tdm_buffer_create(tdm_device *device, size_t size, tdm_buffer **buffer) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, buffer);
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    tdmi_device_let_leave(device, false);
    const tdm_device_info *info = &device->facts->info;
    if (size > info->max_allocation)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY,
                         "tdm_buffer_create: size is %zu bytes, but %s allows %llu in one buffer",
                         size, info->id, (unsigned long long)info->max_allocation);
    tdm_buffer *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a buffer");
    if (size > 0) {
        tdmi_mutex_lock(&device->lock);
        tdm_status status = TDMI_ATTEMPT(tdmi_pool_take(device, size, size, &made->block));
        tdmi_mutex_unlock(&device->lock);
        if (status != TDM_OK) {
            tdmi_free(made);
            return tdmi_fail_in(status, "tdm_buffer_create: size is %zu bytes on %s", size,
                                info->id);
        }
    }
    atomic_init(&made->references, 1);
    atomic_init(&made->read_only, false);
    made->device = tdm_device_retain(device);
    made->size = size;
    *buffer = made;
    return TDM_OK;
}

/* The last buffers whose last reference was released are kept for a while, so that using one again is
 * reported instead of touching memory that may belong to another object. AddressSanitizer does that
 * better, and says where. */
enum { REMEMBERED = 256 };

static void end(tdm_buffer *buffer) {
#if !defined(__SANITIZE_ADDRESS__)
    static tdmi_mutex lock = TDMI_MUTEX_INIT;
    static tdm_buffer *released[REMEMBERED];
    static size_t next;
    tdmi_mutex_lock(&lock);
    tdm_buffer *oldest = released[next];
    released[next] = buffer;
    next = (next + 1) % REMEMBERED;
    tdmi_mutex_unlock(&lock);
    buffer = oldest;
#endif
    tdmi_free(buffer);
}

/* A mistake of the program's, in a call that returns no status. */
static void report_released(const char *function) {
    tdm_status status = tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                                  "%s: the buffer has no references left: it, or a copy of its "
                                  "tensor, was released before",
                                  function);
    (void)status;
    tdmi_log(TDM_LOG_ERROR, "%s", tdm_last_error());
#if !defined(NDEBUG)
    __builtin_trap(); /* a debugger shows the call */
#endif
}

tdm_buffer *tdm_buffer_retain(tdm_buffer *buffer) {
    if (!buffer) return NULL;
    if (atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed) > 0) return buffer;
    atomic_fetch_sub(&buffer->references, 1);
    report_released("tdm_buffer_retain");
    return buffer;
}

void tdm_buffer_release(tdm_buffer *buffer) {
    TDMI_UNCANCELLED();
    if (!buffer || tdmi_forked) return;
    unsigned before = atomic_load_explicit(&buffer->references, memory_order_relaxed);
    while (before > 0 && !atomic_compare_exchange_weak(&buffer->references, &before, before - 1)) {
    }
    if (before == 0) {
        report_released("tdm_buffer_release");
        return;
    }
    if (before > 1) return;
    tdm_device *device = buffer->device;
    if (buffer->block && buffer->block->adopted) {
        tdmi_adopted_give(device, buffer->block);
    } else if (buffer->block) {
        tdmi_mutex_lock(&device->lock);
        tdmi_pool_give(device, buffer->block, buffer->size);
        tdmi_mutex_unlock(&device->lock);
        tdmi_device_let_leave(device, false);
    }
    end(buffer);
    tdm_device_release(device);
}

tdm_device *tdm_buffer_get_device(const tdm_buffer *buffer) {
    return buffer ? buffer->device : NULL;
}

size_t tdm_buffer_get_size(const tdm_buffer *buffer) { return buffer ? buffer->size : 0; }

void tdm_buffer_freeze(tdm_buffer *buffer) {
    if (buffer) atomic_store(&buffer->read_only, true);
}

tdm_status tdm_host_alloc(tdm_device *device, size_t size, void **pointer) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, pointer);
    TDMI_NOT_NULL(__func__, device);
    if (size == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "tdm_host_alloc: size is 0, at least 1 byte");
    TDMI_TRY(tdmi_device_usable(device));
    tdmi_host_block *block;
    tdm_status status = TDMI_ATTEMPT(tdmi_pinned_take(device, size, &block));
    if (status != TDM_OK)
        return tdmi_device_result(device,
                                  tdmi_fail_in(status, "tdm_host_alloc: size is %zu bytes", size));
    block->device = tdm_device_retain(device);
    tdmi_mutex_lock(&device->lock);
    block->next = device->host_blocks;
    device->host_blocks = block;
    tdmi_mutex_unlock(&device->lock);
    *pointer = block->mem.host;
    return TDM_OK;
}

static void free_host_block(void *context) {
    tdmi_host_block *block = context;
    tdm_device *device = block->device;
    if (tdmi_device_keeps(device, free_host_block, block)) return;
    tdmi_pinned_give(device, block);
    tdm_device_release(device);
}

void tdm_host_free(tdm_device *device, void *pointer) {
    TDMI_UNCANCELLED();
    if (!device || !pointer || tdmi_forked) return;
    tdmi_host_block *found = NULL;
    tdmi_mutex_lock(&device->lock);
    for (tdmi_host_block **at = &device->host_blocks; *at; at = &(*at)->next) {
        if ((*at)->mem.host != pointer) continue;
        found = *at;
        *at = found->next;
        break;
    }
    tdmi_mutex_unlock(&device->lock);
    if (found) free_host_block(found);
}
