/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An open device of the cpu backend: nothing has to be made for it. */
#include "cpu_backend.h"
#include "platform/machine.h"

tdm_status tdmi_cpu_device_init(tdmi_bdevice *device, size_t index) {
    device->index = index;
    return TDM_OK;
}

void tdmi_cpu_device_deinit(tdmi_bdevice *device) { (void)device; }

uint64_t tdmi_cpu_device_free_memory(tdmi_bdevice *device) {
    (void)device;
    uint64_t total, available;
    tdmi_machine_memory(&total, &available);
    return available;
}
