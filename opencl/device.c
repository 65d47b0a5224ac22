/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts of devices. */
#include "opencl_backend.h"

static tdm_status begin(tdmi_bdevice *device, size_t index) {
    device->entry = tdmi_cl_entry_at(index);
    if (!tdmi_mutex_init(&device->lock))
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot make the lock of a device");
    return TDM_OK;
}

static void CL_CALLBACK do_nothing(cl_mem mem, void *unused) { (void)mem, (void)unused; }

/* Tried on the machine's own CPU, the only device that is to call. OpenCL has no such error for this function. */
static bool does_call_back(const tdmi_bdevice *device) {
    cl_int code;
    cl_mem mem = tdmi_cl_is_cpu(device)
                     ? tdmi_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE, 64, NULL, &code)
                     : NULL;
    if (!mem) return true;
    code = tdmi_cl.clSetMemObjectDestructorCallback(mem, do_nothing, NULL);
    (void)tdmi_cl.clReleaseMemObject(mem);
    return code != CL_INVALID_OPERATION;
}

static tdm_status no_such_context(cl_int code) {
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "context is not a cl_context: %s (%d)",
                     tdmi_cl_error_name(code), code);
}

/* The context of the program's has this device. */
static tdm_status check_devices(cl_context context, cl_device_id id) {
    size_t size = 0;
    cl_int code = tdmi_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (code != CL_SUCCESS) return no_such_context(code);
    cl_device_id *ids = tdmi_malloc(size ? size : 1);
    if (!ids) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "context: out of host memory");
    code = tdmi_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL);
    size_t at = 0, count = code == CL_SUCCESS ? size / sizeof *ids : 0;
    while (at < count && ids[at] != id)
        at++;
    tdmi_free(ids);
    if (code != CL_SUCCESS) return no_such_context(code);
    if (at < count) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "context has %zu device%s, and not this one",
                     count, count == 1 ? "" : "s");
}

tdm_status tdmi_cl_device_adopt(tdmi_bdevice *device, size_t index, void *context) {
    TDMI_TRY(check_devices(context, tdmi_cl_entry_at(index)->id));
    TDMI_TRY(begin(device, index));
    cl_int code = tdmi_cl.clRetainContext(context);
    if (code != CL_SUCCESS) {
        tdmi_mutex_destroy(&device->lock);
        return no_such_context(code);
    }
    device->context = context;
    device->calls_back = does_call_back(device);
    return TDM_OK;
}

tdm_status tdmi_cl_device_init(tdmi_bdevice *device, size_t index) {
    TDMI_TRY(begin(device, index));
    const tdmi_cl_entry *entry = device->entry;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)entry->platform, 0};
    cl_int code;
    device->context = tdmi_cl.clCreateContext(properties, 1, &entry->id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        tdmi_mutex_destroy(&device->lock);
        /* Not lost: it was never had. Another process may own it for the moment. */
        if (code == CL_DEVICE_NOT_AVAILABLE)
            return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                             "%s: the driver says that the device is not available now",
                             entry->facts.info.name);
        return tdmi_cl_fail(code, "clCreateContext");
    }
    device->calls_back = does_call_back(device);
    return TDM_OK;
}

void tdmi_cl_device_deinit(tdmi_bdevice *device) {
    tdmi_clblast_forget(device);
    if (device->internal) (void)tdmi_cl.clReleaseCommandQueue(device->internal);
    (void)tdmi_cl.clReleaseContext(device->context);
    tdmi_mutex_destroy(&device->lock);
}

uint64_t tdmi_cl_device_free_memory(tdmi_bdevice *device) {
    return tdmi_cl_free_memory(device->entry);
}
