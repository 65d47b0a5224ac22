/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts of devices. */
#include "opencl_backend.h"

tdm_status tdmi_cl_device_init(tdmi_bdevice *device, size_t index) {
    const tdmi_cl_entry *entry = tdmi_cl_entry_at(index);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)entry->platform, 0};
    device->entry = entry;
    device->internal = NULL;
    atomic_init(&device->generation, 0);
    atomic_init(&device->used_clblast, false);
    if (pthread_mutex_init(&device->lock, NULL) != 0)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot make the lock of a device");
    cl_int code;
    device->context = tdmi_cl.clCreateContext(properties, 1, &entry->id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        pthread_mutex_destroy(&device->lock);
        /* Not lost: it was never had. Another process may own it for the moment. */
        if (code == CL_DEVICE_NOT_AVAILABLE)
            return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                             "%s: the driver says that the device is not available now",
                             entry->facts.info.name);
        return tdmi_cl_fail(code, "clCreateContext");
    }
    return TDM_OK;
}

void tdmi_cl_device_deinit(tdmi_bdevice *device) {
    tdmi_clblast_forget(device);
    if (device->internal) (void)tdmi_cl.clReleaseCommandQueue(device->internal);
    (void)tdmi_cl.clReleaseContext(device->context);
    pthread_mutex_destroy(&device->lock);
}

uint64_t tdmi_cl_device_free_memory(tdmi_bdevice *device) {
    return tdmi_cl_free_memory(device->entry);
}
