/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory. To pin memory takes a driver longer than most transfers from it, so what was freed is
 * kept for the next request of like size. */

#include "core.h"

/* What is kept of a device: so much, and what was freed last, however large it is. */
static const size_t KEPT_BYTES = 64 << 20;

static tdmi_host_block *take_kept(tdm_device *device, size_t size) {
    tdmi_host_block *found = NULL;
    TDMI_LOCKED(&device->lock);
    for (tdmi_host_block **at = &device->kept_blocks; *at; at = &(*at)->next) {
        if ((*at)->size < size || (*at)->size / 2 > size) continue;
        found = *at;
        *at = found->next;
        break;
    }
    return found;
}

/* Keeps the first blocks up to `most_bytes` and `most_blocks` beyond them, and frees the others; with device->lock
 * held. */
static void free_kept(tdm_device *device, size_t most_bytes, size_t most_blocks) {
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

tdm_status tdmi_pinned_take(tdm_device *device, size_t size, tdmi_host_block **block) {
    *block = take_kept(device, size);
    if (*block) return TDM_OK;
    tdmi_host_block *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = device->backend->host_alloc(device->impl, size, &made->mem);
    if (status == TDM_ERROR_OUT_OF_MEMORY && tdmi_pinned_trim(device))
        status = device->backend->host_alloc(device->impl, size, &made->mem);
    made->size = size;
    if (status == TDM_OK)
        *block = made;
    else
        tdmi_free(made);
    return status;
}

void tdmi_pinned_give(tdm_device *device, tdmi_host_block *block) {
    TDMI_LOCKED(&device->lock);
    block->next = device->kept_blocks;
    device->kept_blocks = block;
    /* the host's own memory costs next to nothing to get */
    const bool keep = !device->facts->host_memory;
    free_kept(device, keep ? KEPT_BYTES : 0, keep ? 1 : 0);
}

bool tdmi_pinned_trim(tdm_device *device) {
    TDMI_LOCKED(&device->lock);
    const bool any = device->kept_blocks;
    free_kept(device, 0, 0);
    return any;
}
