/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The transport's pointers to tensors. On a cpu device they are the tensors themselves. Others are mapped, where host
 * and device share memory, or stay on the device, where the transport takes its addresses. Elsewhere a tensor passes
 * through pinned memory, in parts, some of which move while others are exchanged. */
#include "comm.h"

#include <tandem/cuda.h>

static tdm_status get(tdm_queue *queue, bool writes, bool reads, tdmi_comm_side *side) {
    const size_t element = tdm_dtype_size(side->packed.dtype);
    const size_t offset = (size_t)side->packed.offset * element;
    tdm_device *device = tdm_queue_get_device(queue);
    const tdm_device_info *info = tdm_device_get_info(device);
    tdm_buffer *buffer = side->packed.buffer;
    side->size = tdmi_comm_bytes_of(&side->packed);
    side->direct = side->direct && info->backend == TDM_CUDA;
    if (side->size == 0) return TDM_OK;
    if (info->backend == TDM_CPU) {
        TDMI_TRY(tdm_buffer_get_host_pointer(buffer, &side->bytes));
        side->bytes = (char *)side->bytes + offset;
        return TDM_OK;
    }
    if (side->direct) { /* the transport is not in the queue's order */
        TDMI_TRY(tdm_queue_finish(queue));
        TDMI_TRY(tdm_cuda_get_pointer(buffer, &side->bytes));
        TDMI_TRY(tdm_cuda_enter(device, &side->entered));
        side->bytes = (char *)side->bytes + offset;
        side->queue = queue;
        return TDM_OK;
    }
    if (info->backend == TDM_CUDA || !info->unified_memory) {
        TDMI_TRY(tdm_host_alloc(device, side->size, &side->bytes));
        side->staged = true;
        side->queue = queue;
        for (int i = 0; reads && i < 2; i++)
            TDMI_TRY(tdm_event_create(device, &side->fetched[i]));
        return TDM_OK;
    }
    const unsigned access = (reads ? TDM_MAP_READ : 0u) | (writes ? TDM_MAP_WRITE : 0u);
    TDMI_TRY(tdm_buffer_map(queue, buffer, offset, side->size, access, &side->bytes));
    side->mapped = true;
    return TDM_OK;
}

static void leave(tdm_queue *queue, tdmi_comm_side *side) {
    tdm_cuda_leave(tdm_queue_get_device(queue), side->entered);
    side->entered = false;
}

/* Gives back what a side has of the host; waits for what moves parts of it. */
static tdm_status let_go(tdm_queue *queue, tdmi_comm_side *side) {
    tdm_status status = TDM_OK;
    leave(queue, side);
    if (side->mapped) status = tdm_buffer_unmap_async(queue, side->packed.buffer, side->bytes);
    if (side->staged) {
        status = tdm_queue_finish(queue);
        for (int i = 0; i < 2; i++)
            tdm_event_destroy(side->fetched[i]);
        tdm_host_free(tdm_queue_get_device(queue), side->bytes);
    }
    if (side->owned) free(side->bytes);
    side->mapped = side->owned = side->staged = false;
    return status;
}

static tdm_status got(tdm_queue *queue, tdmi_comm_side *side, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(&outcome, status);
    tdmi_comm_outcome_add(&outcome, let_go(queue, side));
    tdm_tensor_release(&side->packed);
    return tdmi_comm_outcome_end(&outcome);
}

tdm_status tdmi_comm_read(tdm_queue *queue, const tdm_tensor *x, tdmi_comm_side *side) {
    TDMI_TRY(tdmi_comm_pack(queue, x, &side->packed));
    side->tensor = x;
    return got(queue, side, get(queue, false, true, side));
}

/* A copy of what would be mapped. */
static tdm_status read_aside(tdm_queue *queue, const tdm_tensor *x, tdmi_comm_side *side) {
    TDMI_TRY(tdmi_comm_read(queue, x, side));
    if (!side->mapped) return TDM_OK;
    void *copy = malloc(side->size);
    if (copy) memcpy(copy, side->bytes, side->size);
    tdm_status status = tdm_buffer_unmap(queue, side->packed.buffer, side->bytes);
    side->mapped = false;
    side->bytes = copy;
    side->owned = true;
    if (!copy) return tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    return status;
}

tdm_status tdmi_comm_write(tdm_queue *queue, const tdm_tensor *y, bool keeps,
                           tdmi_comm_side *side) {
    TDMI_TRY(keeps ? tdmi_comm_pack(queue, y, &side->packed)
                   : tdmi_comm_pack_room(queue, y, &side->packed));
    side->tensor = y;
    side->copied = !tdm_tensor_is_contiguous(y);
    return got(queue, side, get(queue, true, keeps, side));
}

tdm_status tdmi_comm_sides(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                           const tdm_tensor *y, tdmi_comm_side *from, tdmi_comm_side *into) {
    const bool inside = x && y && x->buffer == y->buffer;
    tdm_status status = TDM_OK;
    if (x) status = inside ? read_aside(queue, x, from) : tdmi_comm_read(queue, x, from);
    if (status == TDM_OK && y) status = tdmi_comm_write(queue, y, false, into);
    return tdmi_comm_own_fault(comm, status);
}

static size_t place(const tdmi_comm_side *side, size_t at) {
    return (size_t)side->packed.offset * tdm_dtype_size(side->packed.dtype) + at;
}

tdm_status tdmi_comm_fetch(tdmi_comm_side *side, size_t at, size_t size) {
    if (!side->staged || size == 0) return TDM_OK;
    return tdm_buffer_read_async(side->queue, side->packed.buffer, place(side, at),
                                 (char *)side->bytes + at, size);
}

tdm_status tdmi_comm_fetched_later(tdmi_comm_side *side, int slot) {
    return side->staged ? tdm_queue_record_event(side->queue, side->fetched[slot]) : TDM_OK;
}

tdm_status tdmi_comm_fetched(tdmi_comm_side *side, int slot) {
    return side->staged ? tdm_event_wait(side->fetched[slot]) : TDM_OK;
}

tdm_status tdmi_comm_store(tdmi_comm_side *side, size_t at, size_t size) {
    if (!side->staged || size == 0) return TDM_OK;
    return tdm_buffer_write_async(side->queue, side->packed.buffer, place(side, at),
                                  (const char *)side->bytes + at, size);
}

tdm_status tdmi_comm_copy(const tdmi_comm_side *from, size_t from_at, tdmi_comm_side *into,
                          size_t into_at, size_t size) {
    const char *source = (const char *)from->bytes + from_at;
    char *destination = (char *)into->bytes + into_at;
    if (size == 0 || source == destination) return TDM_OK;
    if (into->direct)
        return tdm_buffer_copy_async(into->queue, from->packed.buffer, place(from, from_at),
                                     into->packed.buffer, place(into, into_at), size);
    memcpy(destination, source, size);
    return TDM_OK;
}

static tdm_status give(const tdm_comm *comm, tdm_queue *queue, tdmi_comm_side *side,
                       tdm_status status) {
    if (!side->packed.buffer) return status;
    leave(queue, side);
    tdmi_comm_outcome outcome = {0};
    tdmi_comm_outcome_add(&outcome, status);
    /* Memory that the transport may still write must not be used again: its references stay. */
    if (comm->in_use) return tdmi_comm_outcome_end(&outcome);
    tdmi_comm_outcome_add(&outcome, let_go(queue, side));
    if (side->copied && outcome.status == TDM_OK) {
        tdm_tensor y = *side->tensor;
        tdmi_comm_outcome_add(&outcome, tdm_cast(queue, &side->packed, &y));
    }
    tdm_tensor_release(&side->packed);
    return tdmi_comm_outcome_end(&outcome);
}

tdm_status tdmi_comm_leave(tdm_comm *comm, tdm_queue *queue, tdm_status status,
                           tdmi_comm_side *from, tdmi_comm_side *into) {
    status = tdmi_comm_end(comm, status);
    status = give(comm, queue, from, status);
    return give(comm, queue, into, status);
}

void *tdmi_comm_scratch(tdm_comm *comm, size_t size) {
    if (size <= comm->scratch_size) return comm->scratch;
    void *more = malloc(size);
    if (!more) return NULL;
    free(comm->scratch);
    comm->scratch = more;
    comm->scratch_size = size;
    return more;
}
