/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Copies between two devices: a peer copy where the backend has one; one copy where one end is host
 * memory; otherwise chunks through pinned memory, one being read while the last is written. */
#include "device_copy.h"

#include "base/log.h"

enum { CHUNK = 4 << 20, PROGRESS_STEP = 16 << 20 };

/* The memory that a route's copies use: chunks, and a reference of each buffer, because the pool of
 * one device knows nothing of the other's queues. */
typedef struct tdmi_cargo {
    atomic_int holders; /* the route itself, and each of its queues that is in doubt */
    tdm_device *device; /* of the chunks */
    void *staging[2];
    tdm_buffer **buffers;
    size_t count, room;
} tdmi_cargo;

static void drop_cargo(void *context) {
    tdmi_cargo *cargo = context;
    if (atomic_fetch_sub(&cargo->holders, 1) != 1) return;
    for (int i = 0; i < 2; i++)
        tdm_host_free(cargo->device, cargo->staging[i]);
    for (size_t i = 0; i < cargo->count; i++)
        tdm_buffer_release(cargo->buffers[i]);
    tdm_device_release(cargo->device);
    tdmi_free(cargo->buffers);
    tdmi_free(cargo);
}

static tdm_status load_cargo(tdmi_cargo *cargo, const tdm_buffer *buffer) {
    tdm_buffer **grown =
        tdmi_grown(cargo->buffers, cargo->count, &cargo->room, sizeof(tdm_buffer *));
    if (!grown) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a copy");
    cargo->buffers = grown;
    cargo->buffers[cargo->count++] = tdm_buffer_retain((tdm_buffer *)buffer);
    return TDM_OK;
}

static bool has_peer_copy(const tdm_device *source, const tdm_device *destination) {
    return source->backend == destination->backend && source->backend->copy_peer;
}

tdm_status tdmi_route_open(tdmi_route *route, tdm_queue *queue, tdm_device *source,
                           tdm_device *destination, atomic_uint_fast64_t *done) {
    *route = (tdmi_route){.done = done};
    route->cargo = tdmi_calloc(1, sizeof *route->cargo);
    if (!route->cargo) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a copy");
    atomic_init(&route->cargo->holders, 1);
    route->cargo->device = tdm_device_retain(source);
    bool peer = has_peer_copy(source, destination);
    bool needs_from = peer || !source->facts->host_memory;
    bool needs_to = !peer && !destination->facts->host_memory;
    if (queue && queue->device == source && needs_from) route->from = queue;
    if (queue && queue->device == destination && needs_to) route->to = queue;
    /* Its work comes first, also where others do the copy. */
    tdm_status status = TDM_OK;
    if (queue && !route->from && !route->to) status = tdm_queue_finish(queue);
    if (status == TDM_OK && needs_from && !route->from) {
        status = tdm_queue_create(source, 0, &route->from);
        route->owns_from = status == TDM_OK;
    }
    if (status == TDM_OK && needs_to && !route->to) {
        status = tdm_queue_create(destination, 0, &route->to);
        route->owns_to = status == TDM_OK;
    }
    return status == TDM_OK ? TDM_OK : tdmi_route_close(route, status);
}

/* The queues have been waited for: what was queued has arrived. */
static void arrived(tdmi_route *route) {
    if (route->done) atomic_fetch_add(route->done, route->queued);
    route->queued = 0;
}

/* Through two host chunks in turn. A chunk was last used two turns ago: the write of the turn
 * before goes on while the read fills this one. */
static tdm_status copy_staged(tdmi_route *route, const tdmi_mem *source, size_t source_offset,
                              const tdmi_mem *destination, size_t destination_offset, size_t size) {
    tdm_device *from = route->from->device, *to = route->to->device;
    void **staging = route->cargo->staging;
    for (int i = 0; i < 2; i++)
        if (!staging[i]) TDMI_TRY(tdm_host_alloc(from, CHUNK, &staging[i]));
    for (size_t at = 0; at < size; route->turn ^= 1) {
        size_t part = size - at < CHUNK ? size - at : CHUNK;
        void *chunk = staging[route->turn];
        TDMI_TRY(tdmi_queue_submitted(
            route->from,
            from->backend->read(route->from->impl, source, source_offset + at, chunk, part)));
        TDMI_TRY(tdm_queue_finish(route->from));
        TDMI_TRY(tdm_queue_finish(route->to));
        arrived(route);
        TDMI_TRY(tdmi_queue_submitted(route->to,
                                      to->backend->write(route->to->impl, destination,
                                                         destination_offset + at, chunk, part)));
        TDMI_TRY(tdm_queue_flush(route->to));
        at += part;
        route->queued += part;
    }
    return TDM_OK;
}

/* Both ends are host memory of drivers, which want it mapped: the source's reads into a mapping of
 * the destination. */
static tdm_status copy_mapped(tdmi_route *route, const tdmi_mem *source, size_t source_offset,
                              const tdmi_mem *destination, size_t destination_offset, size_t size) {
    tdm_device *from = route->from->device, *to = route->to->device;
    void *pointer = NULL;
    TDMI_TRY(tdmi_queue_submitted(route->to,
                                  to->backend->map(route->to->impl, destination, destination_offset,
                                                   size, TDM_MAP_WRITE, &pointer)));
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, tdm_queue_finish(route->to));
    if (outcome.status == TDM_OK) {
        tdmi_outcome_add(
            &outcome,
            tdmi_queue_submitted(route->from, from->backend->read(route->from->impl, source,
                                                                  source_offset, pointer, size)));
        tdmi_outcome_add(&outcome, tdm_queue_finish(route->from));
    }
    /* As long as the source may still write there, the mapping is never ended. */
    if (!atomic_load(&route->from->doubtful))
        tdmi_outcome_add(&outcome,
                         tdmi_queue_submitted(
                             route->to, to->backend->unmap(route->to->impl, destination, pointer)));
    return tdmi_outcome_end(&outcome);
}

/* The driver refuses a copy also when it is the other end that is lost, and does not say which; the
 * queue shows whether this end still works. */
static tdm_status copy_peer(tdmi_route *route, const tdmi_mem *from, size_t from_offset,
                            tdm_device *destination, const tdmi_mem *to, size_t to_offset,
                            size_t size) {
    const tdmi_backend *backend = route->from->device->backend;
    tdm_status status = backend->copy_peer(route->from->impl, from, from_offset, destination->impl,
                                           to, to_offset, size);
    if (status == TDM_ERROR_DEVICE_LOST && backend->queue_finish(route->from->impl) == TDM_OK)
        return tdmi_device_result(destination, status);
    return tdmi_queue_submitted(route->from, status);
}

static tdm_status copy_part(tdmi_route *route, const tdm_buffer *source, size_t source_offset,
                            const tdm_buffer *destination, size_t destination_offset, size_t size) {
    const tdmi_mem *from = &source->block->mem, *to = &destination->block->mem;
    if (has_peer_copy(source->device, destination->device))
        return copy_peer(route, from, source_offset, destination->device, to, destination_offset,
                         size);
    if (destination->device->facts->host_memory)
        return tdmi_queue_submitted(
            route->from,
            source->device->backend->read(route->from->impl, from, source_offset,
                                          (char *)to->handle + destination_offset, size));
    if (source->device->facts->host_memory)
        return tdmi_queue_submitted(
            route->to,
            destination->device->backend->write(route->to->impl, to, destination_offset,
                                                (const char *)from->handle + source_offset, size));
    return copy_mapped(route, from, source_offset, to, destination_offset, size);
}

static tdm_status finish_both(const tdmi_route *route) {
    if (route->from) TDMI_TRY(tdm_queue_finish(route->from));
    return route->to ? tdm_queue_finish(route->to) : TDM_OK;
}

tdm_status tdmi_route_copy(tdmi_route *route, const tdm_buffer *source, size_t source_offset,
                           const tdm_buffer *destination, size_t destination_offset, size_t size) {
    const tdmi_mem *from = &source->block->mem, *to = &destination->block->mem;
    const char *from_id = source->device->facts->info.id,
               *to_id = destination->device->facts->info.id;
    tdmi_log(TDM_LOG_DEBUG, "copying %zu bytes from %s to %s", size, from_id, to_id);
    TDMI_SPAN("copy", "copy between devices", "\"bytes\":%zu,\"from\":\"%s\",\"to\":\"%s\"", size,
              from_id, to_id);
    TDMI_TRY(load_cargo(route->cargo, source));
    TDMI_TRY(load_cargo(route->cargo, destination));
    if (route->from) TDMI_TRY(tdmi_order(route->from, source, false));
    TDMI_TRY(route->to ? tdmi_order(route->to, destination, true)
                       : tdmi_order_foreign(destination));
    bool staged = route->from && route->to && !(from->host && to->host);
    if (staged) return copy_staged(route, from, source_offset, to, destination_offset, size);
    if (!route->done)
        return copy_part(route, source, source_offset, destination, destination_offset, size);
    for (size_t at = 0; at < size;) {
        size_t part = size - at < PROGRESS_STEP ? size - at : PROGRESS_STEP;
        TDMI_TRY(copy_part(route, source, source_offset + at, destination, destination_offset + at,
                           part));
        TDMI_TRY(finish_both(route));
        at += part;
        route->queued += part;
        arrived(route);
    }
    return TDM_OK;
}

tdm_status tdmi_route_close(tdmi_route *route, tdm_status status) {
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    /* Queued work must end before its memory and the queues are freed, whatever failed. */
    tdm_queue *queues[] = {route->from, route->to};
    for (int i = 0; i < 2; i++)
        if (queues[i]) tdmi_outcome_add(&outcome, tdm_queue_finish(queues[i]));
    if (outcome.status == TDM_OK) arrived(route);
    for (int i = 0; i < 2; i++) {
        if (!queues[i]) continue;
        atomic_fetch_add(&route->cargo->holders, 1);
        tdmi_queue_let_go(queues[i], drop_cargo, route->cargo);
    }
    if (route->cargo) drop_cargo(route->cargo);
    if (route->owns_to) tdm_queue_destroy(route->to);
    if (route->owns_from) tdm_queue_destroy(route->from);
    *route = (tdmi_route){0};
    return tdmi_outcome_end(&outcome);
}
