/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory in a device's pool: reporting it, and returning it to the driver. */

#include "base/sized.h"
#include "core.h"

TDMI_SIZED(tdm_memory_stats, TDM_MEMORY_STATS_DEFAULTS, device_free)

tdm_status tdm_device_get_memory_stats(tdm_device *device, tdm_memory_stats *stats) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(
        tdmi_sized_check("tdm_device_get_memory_stats", "stats", &tdm_memory_stats_sized, stats));
    TDMI_TRY(tdmi_device_usable(device));
    tdmi_mutex_lock(&device->lock);
    tdm_memory_stats now = device->pool.stats;
    tdmi_mutex_unlock(&device->lock);
    now.device_free = device->backend->device_free_memory(device->impl);
    tdmi_sized_write(&tdm_memory_stats_sized, &now, stats);
    return TDM_OK;
}

tdm_status tdm_device_trim(tdm_device *device) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    tdmi_attempt_begin();
    tdmi_device_end_abandoned(device);
    tdmi_mutex_lock(&device->lock);
    tdmi_pool_trim(device);
    tdmi_mutex_unlock(&device->lock);
    tdmi_device_let_leave(device, true);
    return tdmi_attempt_end(TDM_OK); /* a block whose work cannot be waited for stays */
}
