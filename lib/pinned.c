/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory. To pin memory takes a driver longer than most transfers from it, so what was freed is
 * kept for the next request of like size. */

#include "core.h"

/* A device keeps so much, and the block that was freed last, however large it is. */
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

tdm_status tdmi_pinned_take(tdm_device *device, size_t size, tdmi_host_block **block) {
    *block = take_kept(device, size);
    if (*block) return TDM_OK;
    tdmi_host_block *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = device->backend->host_alloc(device->impl, size, &made->mem);
    if (status == TDM_ERROR_OUT_OF_MEMORY && tdmi_device_make_room(device))
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
    tdmi_pool_free_kept(device, keep ? KEPT_BYTES : 0, keep ? 1 : 0);
}
