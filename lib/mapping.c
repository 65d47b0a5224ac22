/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Mappings: map and unmap. The core keeps a list of those that have not been ended, so that a wrong
 * pointer is refused on every backend alike. */

#include "transfer.h"

static void remember(tdm_device *device, tdmi_mapping *mapping) {
    TDMI_LOCKED(&device->lock);
    mapping->next = device->mappings;
    device->mappings = mapping;
}

/* Takes the mapping off the list; NULL when the pointer is none of this buffer. */
static tdmi_mapping *forget(tdm_device *device, const tdm_buffer *buffer, const void *pointer) {
    tdmi_mapping *found = NULL;
    TDMI_LOCKED(&device->lock);
    for (tdmi_mapping **at = &device->mappings; *at; at = &(*at)->next) {
        if ((*at)->pointer != pointer || (*at)->buffer != buffer) continue;
        found = *at;
        *at = found->next;
        break;
    }
    return found;
}

/* A backend without mappings: host memory that is filled by a read and emptied by a write. */
static tdm_status map_staged(tdm_queue *queue, tdmi_mapping *mapping, const tdmi_mem *mem) {
    tdm_device *device = queue->device;
    TDMI_TRY(tdm_host_alloc(device, mapping->size, &mapping->pointer));
    if (!(mapping->access & TDM_MAP_READ)) return TDM_OK;
    tdm_status status =
        tdmi_queue_submitted(queue, device->backend->read(queue->impl, mem, mapping->offset,
                                                          mapping->pointer, mapping->size));
    if (status != TDM_OK) tdm_host_free(device, mapping->pointer);
    return status;
}

static tdm_status unmap_staged(tdm_queue *queue, const tdmi_mapping *mapping, const tdmi_mem *mem) {
    tdm_device *device = queue->device;
    tdm_status status = TDM_OK;
    if (mapping->access & TDM_MAP_WRITE) {
        status =
            tdmi_queue_submitted(queue, device->backend->write(queue->impl, mem, mapping->offset,
                                                               mapping->pointer, mapping->size));
        if (status == TDM_OK) status = tdm_queue_finish(queue);
    }
    tdm_host_free(device, mapping->pointer);
    return status;
}

static tdm_status map_async(const char *function, tdm_queue *queue, tdm_buffer *buffer,
                            size_t offset, size_t size, unsigned access, void **pointer) {
    TDMI_RESULT(function, pointer);
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_on_queue(function, queue, buffer, offset, size));
    if (access == 0 || access > (TDM_MAP_READ | TDM_MAP_WRITE))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: access is %#x, allowed are TDM_MAP_READ, TDM_MAP_WRITE or both",
                         function, access);
    if (access & TDM_MAP_WRITE) TDMI_TRY(tdmi_check_writable(function, "buffer", buffer));
    if (size == 0) return TDM_OK;
    tdmi_mapping *mapping = tdmi_calloc(1, sizeof *mapping);
    if (!mapping) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a mapping");
    *mapping = (tdmi_mapping){.buffer = buffer, .offset = offset, .size = size, .access = access};
    const tdmi_backend *backend = queue->device->backend;
    const tdmi_mem *mem = &buffer->block->mem;
    tdm_status status =
        backend->map ? tdmi_queue_submitted(queue, backend->map(queue->impl, mem, offset, size,
                                                                access, &mapping->pointer))
                     : map_staged(queue, mapping, mem);
    if (status != TDM_OK) {
        tdmi_free(mapping);
        return status;
    }
    *pointer = mapping->pointer;
    remember(queue->device, mapping);
    return TDM_OK;
}

tdm_status tdm_buffer_map_async(tdm_queue *queue, tdm_buffer *buffer, size_t offset, size_t size,
                                unsigned access, void **pointer) {
    TDMI_UNCANCELLED();
    return map_async("tdm_buffer_map_async", queue, buffer, offset, size, access, pointer);
}

/* Ends a mapping whose pointer the caller never gets. The driver ends it after the map. */
static void take_back(tdm_queue *queue, const tdm_buffer *buffer, void *pointer) {
    const tdmi_backend *backend = queue->device->backend;
    tdmi_free(forget(queue->device, buffer, pointer));
    if (!backend->unmap)
        tdm_host_free(queue->device, pointer);
    else if (!atomic_load(&queue->device->lost))
        (void)!tdmi_queue_submitted(queue,
                                    backend->unmap(queue->impl, &buffer->block->mem, pointer));
}

tdm_status tdm_buffer_map(tdm_queue *queue, tdm_buffer *buffer, size_t offset, size_t size,
                          unsigned access, void **pointer) {
    TDMI_UNCANCELLED();
    TDMI_TRY(map_async("tdm_buffer_map", queue, buffer, offset, size, access, pointer));
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, tdm_queue_finish(queue));
    if (outcome.status == TDM_OK) return TDM_OK;
    if (*pointer) take_back(queue, buffer, *pointer);
    *pointer = NULL;
    return tdmi_outcome_end(&outcome);
}

static tdm_status unmap_async(const char *function, tdm_queue *queue, tdm_buffer *buffer,
                              void *pointer) {
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_on_queue(function, queue, buffer, 0, 0));
    if (!pointer && buffer->size == 0) return TDM_OK;
    tdmi_mapping *mapping = forget(queue->device, buffer, pointer);
    if (!mapping)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: pointer %p does not belong to a mapping of this buffer", function,
                         pointer);
    const tdmi_backend *backend = queue->device->backend;
    const tdmi_mem *mem = &buffer->block->mem;
    tdm_status status = backend->unmap
                            ? tdmi_queue_submitted(queue, backend->unmap(queue->impl, mem, pointer))
                            : unmap_staged(queue, mapping, mem);
    tdmi_free(mapping);
    return status;
}

tdm_status tdm_buffer_unmap_async(tdm_queue *queue, tdm_buffer *buffer, void *pointer) {
    TDMI_UNCANCELLED();
    return unmap_async("tdm_buffer_unmap_async", queue, buffer, pointer);
}

tdm_status tdm_buffer_unmap(tdm_queue *queue, tdm_buffer *buffer, void *pointer) {
    TDMI_UNCANCELLED();
    TDMI_TRY(unmap_async("tdm_buffer_unmap", queue, buffer, pointer));
    return tdm_queue_finish(queue);
}
