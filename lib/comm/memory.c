/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The host's pointers to tensors. On a cpu device they are the tensors themselves; others are mapped, which is free
 * where host and device share memory, and elsewhere a copy of the whole tensor through pinned memory. */
#include "comm.h"

#include "tensors/create.h"

static tdm_status get(tdm_queue *queue, bool writes, bool reads, tdmi_comm_side *side) {
    const size_t element = tdm_dtype_size(side->packed.dtype);
    const size_t offset = (size_t)side->packed.offset * element;
    tdm_buffer *buffer = side->packed.buffer;
    side->size = tdmi_bytes_of(&side->packed);
    if (side->size == 0) return TDM_OK;
    if (queue->device->facts->host_memory) {
        TDMI_TRY(queue->device->backend->queue_drain(queue->impl)); /* of a gate, if there is one */
        side->bytes = (char *)buffer->block->mem.handle + offset;
        return TDM_OK;
    }
    const unsigned access = (reads ? TDM_MAP_READ : 0u) | (writes ? TDM_MAP_WRITE : 0u);
    TDMI_TRY(tdm_buffer_map(queue, buffer, offset, side->size, access, &side->bytes));
    side->mapped = true;
    return TDM_OK;
}

tdm_status tdmi_comm_read(tdm_queue *queue, const tdm_tensor *x, tdmi_comm_side *side) {
    TDMI_TRY(tdmi_pack(queue, x, &side->packed));
    side->tensor = x;
    tdm_status status = get(queue, false, true, side);
    if (status != TDM_OK) tdm_tensor_release(&side->packed);
    return status;
}

tdm_status tdmi_comm_read_aside(tdm_queue *queue, const tdm_tensor *x, tdmi_comm_side *side) {
    TDMI_TRY(tdmi_comm_read(queue, x, side));
    if (!side->mapped) return TDM_OK;
    void *copy = tdmi_malloc(side->size);
    if (copy) memcpy(copy, side->bytes, side->size);
    tdm_status status = tdm_buffer_unmap(queue, side->packed.buffer, side->bytes);
    side->mapped = false;
    side->bytes = copy;
    side->owned = true;
    if (!copy) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    return status;
}

tdm_status tdmi_comm_write(tdm_queue *queue, const tdm_tensor *y, bool keeps,
                           tdmi_comm_side *side) {
    TDMI_TRY(keeps ? tdmi_pack(queue, y, &side->packed) : tdmi_pack_room(queue, y, &side->packed));
    side->tensor = y;
    side->copied = !tdm_tensor_is_contiguous(y);
    tdm_status status = get(queue, true, keeps, side);
    if (status != TDM_OK) tdm_tensor_release(&side->packed);
    return status;
}

tdm_status tdmi_comm_give(tdm_comm *comm, tdm_queue *queue, tdmi_comm_side *side,
                          tdm_status status) {
    if (!side->packed.buffer) return status;
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    /* What the transport may still write is nobody else's any more: its references stay. */
    if (comm->in_use) return tdmi_outcome_end(&outcome);
    if (side->mapped)
        tdmi_outcome_add(&outcome, tdm_buffer_unmap_async(queue, side->packed.buffer, side->bytes));
    if (side->copied && outcome.status == TDM_OK) {
        tdm_tensor y = *side->tensor;
        tdmi_outcome_add(&outcome, tdm_cast(queue, &side->packed, &y));
    }
    if (side->owned) tdmi_free(side->bytes);
    tdm_tensor_release(&side->packed);
    return tdmi_outcome_end(&outcome);
}

void *tdmi_comm_scratch(tdm_comm *comm, size_t size) {
    if (size <= comm->scratch_size) return comm->scratch;
    void *more = tdmi_malloc(size);
    if (!more) return NULL;
    tdmi_free(comm->scratch);
    comm->scratch = more;
    comm->scratch_size = size;
    return more;
}
