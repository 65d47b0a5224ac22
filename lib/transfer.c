/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes: write, read, fill, and copy between any two devices. */
#include "transfer.h"

#include "device_copy.h"
#include "submit.h"

/* The checks of every transfer: objects, their devices, and the range inside the buffer. */
static tdm_status check_range(const char *function, const char *name, const tdm_buffer *buffer,
                              size_t offset, size_t size) {
    if (!buffer) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, name);
    if (offset > buffer->size || size > buffer->size - offset)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: offset %zu + size %zu lies outside %s, which has %zu bytes", function,
                         offset, size, name, buffer->size);
    return TDM_OK;
}

static tdm_status check_queue(const char *function, const tdm_queue *queue) {
    TDMI_NOT_NULL(function, queue);
    return tdmi_device_usable(queue->device);
}

tdm_status tdmi_check_on_queue(const char *function, tdm_queue *queue, const tdm_buffer *buffer,
                               size_t offset, size_t size) {
    TDMI_TRY(check_queue(function, queue));
    TDMI_TRY(check_range(function, "buffer", buffer, offset, size));
    if (buffer->device != queue->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "%s: buffer is on %s, but queue is of %s; tdm_buffer_copy moves bytes "
                         "between devices",
                         function, buffer->device->facts->info.id, queue->device->facts->info.id);
    if (queue->recording) tdmi_graph_begin_operation(queue->recording);
    return tdmi_order(queue, buffer, false);
}

tdm_status tdmi_check_writable(const char *function, const char *name, const tdm_buffer *buffer) {
    if (atomic_load(&buffer->read_only))
        return tdmi_fail(TDM_ERROR_READ_ONLY, "%s: %s is read-only (tdm_buffer_freeze)", function,
                         name);
    return TDM_OK;
}

#define COPY_SPAN(name)                                                                            \
    TDMI_SPAN("copy", name, "\"bytes\":%zu," TDMI_PROFILE_QUEUE, size, TDMI_PROFILE_QUEUE_OF(queue))

static tdm_status write_async(const char *function, tdm_queue *queue, tdm_buffer *buffer,
                              size_t offset, const void *source, size_t size) {
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_on_queue(function, queue, buffer, offset, size));
    TDMI_TRY(tdmi_check_writable(function, "buffer", buffer));
    if (size == 0) return TDM_OK;
    TDMI_NOT_NULL(function, source);
    COPY_SPAN("write");
    return tdmi_queue_submitted(queue, queue->device->backend->write(
                                           queue->impl, &buffer->block->mem, offset, source, size));
}

tdm_status tdm_buffer_write_async(tdm_queue *queue, tdm_buffer *buffer, size_t offset,
                                  const void *source, size_t size) {
    TDMI_UNCANCELLED();
    return write_async("tdm_buffer_write_async", queue, buffer, offset, source, size);
}

tdm_status tdm_buffer_write(tdm_queue *queue, tdm_buffer *buffer, size_t offset, const void *source,
                            size_t size) {
    TDMI_UNCANCELLED();
    TDMI_TRY(write_async("tdm_buffer_write", queue, buffer, offset, source, size));
    return tdm_queue_finish(queue);
}

static tdm_status read_async(const char *function, tdm_queue *queue, const tdm_buffer *buffer,
                             size_t offset, void *destination, size_t size) {
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_on_queue(function, queue, buffer, offset, size));
    if (size == 0) return TDM_OK;
    TDMI_NOT_NULL(function, destination);
    COPY_SPAN("read");
    return tdmi_queue_submitted(
        queue,
        queue->device->backend->read(queue->impl, &buffer->block->mem, offset, destination, size));
}

tdm_status tdm_buffer_read_async(tdm_queue *queue, const tdm_buffer *buffer, size_t offset,
                                 void *destination, size_t size) {
    TDMI_UNCANCELLED();
    return read_async("tdm_buffer_read_async", queue, buffer, offset, destination, size);
}

tdm_status tdm_buffer_read(tdm_queue *queue, const tdm_buffer *buffer, size_t offset,
                           void *destination, size_t size) {
    TDMI_UNCANCELLED();
    TDMI_TRY(read_async("tdm_buffer_read", queue, buffer, offset, destination, size));
    return tdm_queue_finish(queue);
}

static tdm_status fill_async(const char *function, tdm_queue *queue, tdm_buffer *buffer,
                             size_t offset, size_t size, const void *pattern, size_t pattern_size) {
    TDMI_TRY(tdmi_check_on_queue(function, queue, buffer, offset, size));
    TDMI_TRY(tdmi_check_writable(function, "buffer", buffer));
    TDMI_NOT_NULL(function, pattern);
    if (pattern_size == 0 || pattern_size > 16 || (pattern_size & (pattern_size - 1)))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: pattern_size is %zu, allowed are 1, 2, 4, 8 and 16", function,
                         pattern_size);
    if (offset % pattern_size || size % pattern_size)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: offset %zu and size %zu must be multiples of pattern_size %zu",
                         function, offset, size, pattern_size);
    if (size == 0) return TDM_OK;
    TDMI_TRY(tdmi_order(queue, buffer, true));
    return tdmi_submit_fill(queue, &buffer->block->mem, offset, size, pattern, pattern_size);
}

tdm_status tdm_buffer_fill_async(tdm_queue *queue, tdm_buffer *buffer, size_t offset, size_t size,
                                 const void *pattern, size_t pattern_size) {
    TDMI_UNCANCELLED();
    return fill_async("tdm_buffer_fill_async", queue, buffer, offset, size, pattern, pattern_size);
}

tdm_status tdm_buffer_fill(tdm_queue *queue, tdm_buffer *buffer, size_t offset, size_t size,
                           const void *pattern, size_t pattern_size) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_not_recording("tdm_buffer_fill", queue));
    TDMI_TRY(fill_async("tdm_buffer_fill", queue, buffer, offset, size, pattern, pattern_size));
    return tdm_queue_finish(queue);
}

/* ---- copies ---- */

static tdm_status copy_between(tdm_queue *queue, const tdm_buffer *source, size_t source_offset,
                               const tdm_buffer *destination, size_t destination_offset,
                               size_t size) {
    tdmi_route route;
    TDMI_TRY(tdmi_route_open(&route, queue, source->device, destination->device, NULL));
    return tdmi_route_close(&route, tdmi_route_copy(&route, source, source_offset, destination,
                                                    destination_offset, size));
}

static tdm_status copy_async(const char *function, tdm_queue *queue, const tdm_buffer *source,
                             size_t source_offset, tdm_buffer *destination,
                             size_t destination_offset, size_t size) {
    TDMI_TRY(check_queue(function, queue));
    TDMI_TRY(check_range(function, "source", source, source_offset, size));
    TDMI_TRY(check_range(function, "destination", destination, destination_offset, size));
    TDMI_TRY(tdmi_check_writable(function, "destination", destination));
    TDMI_TRY(tdmi_device_usable(source->device));
    TDMI_TRY(tdmi_device_usable(destination->device));
    if (queue->device != source->device && queue->device != destination->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "%s: queue is of %s, but source is on %s and destination on %s", function,
                         queue->device->facts->info.id, source->device->facts->info.id,
                         destination->device->facts->info.id);
    if (size == 0) return TDM_OK;
    if (source == destination && source_offset < destination_offset + size &&
        destination_offset < source_offset + size)
        return tdmi_fail(TDM_ERROR_OVERLAP,
                         "%s: source [%zu, %zu) and destination [%zu, %zu) of one buffer overlap",
                         function, source_offset, source_offset + size, destination_offset,
                         destination_offset + size);
    if (source->device == destination->device) {
        if (queue->recording) tdmi_graph_begin_operation(queue->recording);
        TDMI_TRY(tdmi_order(queue, source, false));
        TDMI_TRY(tdmi_order(queue, destination, true));
        COPY_SPAN("copy");
        return tdmi_submit_copy(queue, &source->block->mem, source_offset, &destination->block->mem,
                                destination_offset, size);
    }
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    return copy_between(queue, source, source_offset, destination, destination_offset, size);
}

tdm_status tdm_buffer_copy_async(tdm_queue *queue, const tdm_buffer *source, size_t source_offset,
                                 tdm_buffer *destination, size_t destination_offset, size_t size) {
    TDMI_UNCANCELLED();
    return copy_async("tdm_buffer_copy_async", queue, source, source_offset, destination,
                      destination_offset, size);
}

tdm_status tdm_buffer_copy(tdm_queue *queue, const tdm_buffer *source, size_t source_offset,
                           tdm_buffer *destination, size_t destination_offset, size_t size) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_not_recording("tdm_buffer_copy", queue));
    TDMI_TRY(copy_async("tdm_buffer_copy", queue, source, source_offset, destination,
                        destination_offset, size));
    return tdm_queue_finish(queue);
}
