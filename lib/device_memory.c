/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a device's pool holds: told, and given back to the driver. */
#include <stddef.h>

#include "core.h"
#include "sized.h"

static const tdmi_sized stats_type = {
    .type = "tdm_memory_stats",
    .initialiser = "TDM_MEMORY_STATS_DEFAULTS",
    .first = offsetof(tdm_memory_stats, device_free) + sizeof(uint64_t),
    .size = sizeof(tdm_memory_stats),
};

void tdm_memory_stats_init(tdm_memory_stats *stats, size_t size) {
    static const tdm_memory_stats defaults = TDM_MEMORY_STATS_DEFAULTS;
    tdmi_sized_init(&stats_type, &defaults, stats, size);
}

tdm_status tdm_device_get_memory_stats(tdm_device *device, tdm_memory_stats *stats) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_sized_check("tdm_device_get_memory_stats", "stats", &stats_type, stats));
    TDMI_TRY(tdmi_device_usable(device));
    pthread_mutex_lock(&device->lock);
    tdm_memory_stats now = device->pool.stats;
    pthread_mutex_unlock(&device->lock);
    now.device_free = device->backend->device_free_memory(device->impl);
    tdmi_sized_write(&stats_type, &now, stats);
    return TDM_OK;
}

tdm_status tdm_device_trim(tdm_device *device) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    tdmi_device_end_abandoned(device);
    pthread_mutex_lock(&device->lock);
    tdmi_pool_trim(device);
    pthread_mutex_unlock(&device->lock);
    (void)tdmi_pinned_trim(device);
    tdmi_device_let_leave(device, true);
    return TDM_OK;
}
