/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Lost devices: what every call on an opened device begins and ends with. */
#include <ctype.h>
#include <string.h>

#include "core.h"

tdm_status tdmi_device_usable(const tdm_device *device) {
    TDMI_NOT_FORKED();
    if (atomic_load_explicit(&device->lost, memory_order_relaxed))
        return tdmi_fail(TDM_ERROR_DEVICE_LOST,
                         "%s was lost earlier; release it and everything on it",
                         device->facts->info.id);
    return TDM_OK;
}

tdm_status tdmi_device_result(tdm_device *device, tdm_status status) {
    if (status != TDM_ERROR_DEVICE_LOST) return status;
    atomic_store(&device->lost, true);
    /* A driver's message does not say which device, and a program may use several. */
    const char *id = device->facts->info.id, *named = strstr(tdm_last_error(), id);
    bool is_named = named && !isdigit((unsigned char)named[strlen(id)]);
    return is_named ? status : tdmi_fail_in(status, "%s is lost", id);
}
