/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The drivers' own objects, given out and taken in: tandem/opencl.h and tandem/cuda.h, and host memory for cpu
 * devices. The differences between drivers are in the backends; here are the names and the checks. */

#include <tandem/cuda.h>
#include <tandem/opencl.h>

#include "core.h"

static tdm_status is_null(const char *function, const char *name) {
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, name);
}

/* The device of the argument called `name`, whose backend is to be `wanted`. */
static tdm_status check_backend(const char *function, const char *name, const tdm_device *device,
                                tdm_backend wanted) {
    if (!device) return is_null(function, name);
    const tdm_device_info *info = &device->facts->info;
    if (info->backend != wanted)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: %s is of %s, only devices of the backend %s have this", function,
                         name, info->id, tdm_backend_name(wanted));
    return tdmi_device_usable(device);
}

static tdm_status get_context(const char *function, const tdm_device *device, tdm_backend wanted,
                              void **context) {
    void *id;
    TDMI_TRY(check_backend(function, "device", device, wanted));
    device->backend->device_handles(device->impl, context, &id);
    return TDM_OK;
}

static tdm_status get_id(const char *function, const tdm_device *device, tdm_backend wanted,
                         void **id) {
    void *context;
    TDMI_TRY(check_backend(function, "device", device, wanted));
    device->backend->device_handles(device->impl, &context, id);
    return TDM_OK;
}

static tdm_status get_queue(const char *function, const tdm_queue *queue, tdm_backend wanted,
                            void **handle) {
    TDMI_TRY(check_backend(function, "queue", queue ? queue->device : NULL, wanted));
    *handle = queue->device->backend->queue_handle(queue->impl);
    return TDM_OK;
}

static tdm_status get_memory(const char *function, const tdm_buffer *buffer, tdm_backend wanted,
                             void **handle) {
    TDMI_TRY(check_backend(function, "buffer", buffer ? buffer->device : NULL, wanted));
    /* Unlike the library's work, the program's is not ordered after a former user of the memory. */
    TDMI_TRY(tdmi_order_foreign(buffer));
    *handle = buffer->block ? buffer->block->mem.handle : NULL;
    return TDM_OK;
}

/* A public function that gives out what `get` finds of an object, as the type that its driver has for it. */
#define DEFINE_GETTER(name, BACKEND, object, get, type, handle)                                    \
    tdm_status name(const tdm_##object *object, struct type **handle) {                            \
        TDMI_UNCANCELLED();                                                                        \
        void *found = NULL;                                                                        \
        TDMI_RESULT(__func__, handle);                                                             \
        TDMI_TRY(get(__func__, object, BACKEND, &found));                                          \
        *handle = found;                                                                           \
        return TDM_OK;                                                                             \
    }

static tdm_status adopt(const char *function, tdm_device *device, tdm_backend wanted,
                        const char *name, void *handle, size_t size, tdm_release_function release,
                        void *user, tdm_buffer **buffer) {
    TDMI_RESULT(function, buffer);
    TDMI_TRY(check_backend(function, "device", device, wanted));
    if (!handle) return is_null(function, name);
    if (size == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: size is 0, at least 1 byte", function);
    return tdmi_adopt_memory(function, device, handle, size, release, user, buffer);
}

static tdm_status adopt_queue(const char *function, tdm_device *device, tdm_backend wanted,
                              const char *name, void *handle, unsigned flags, tdm_queue **queue) {
    TDMI_RESULT(function, queue);
    TDMI_TRY(check_backend(function, "device", device, wanted));
    if (!handle) return is_null(function, name);
    tdm_status status = tdmi_queue_make(device, flags, handle, queue);
    if (status == TDM_OK) return TDM_OK;
    return tdmi_fail_in(status, "%s: on %s", function, device->facts->info.id);
}

/* The common part of waiting for a program's event and recording one. */
static tdm_status check_event(const char *function, const tdm_queue *queue, tdm_backend wanted,
                              const void *event) {
    TDMI_TRY(check_backend(function, "queue", queue ? queue->device : NULL, wanted));
    TDMI_NOT_NULL(function, event);
    return tdmi_check_not_recording(function, queue);
}

static tdm_status named(const char *function, const tdm_queue *queue, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    return tdmi_fail_in(status, "%s: on %s", function, queue->device->facts->info.id);
}

static tdm_status wait(const char *function, tdm_queue *queue, tdm_backend wanted, void *event) {
    TDMI_TRY(check_event(function, queue, wanted, event));
    return named(
        function, queue,
        tdmi_queue_submitted(queue, queue->device->backend->queue_wait_handle(queue->impl, event)));
}

static tdm_status record(const char *function, tdm_queue *queue, void **event) {
    return named(function, queue,
                 tdmi_queue_submitted(
                     queue, queue->device->backend->queue_record_handle(queue->impl, event)));
}

/* ---- the host ---- */

tdm_status tdm_buffer_adopt_host(tdm_device *device, void *pointer, size_t size,
                                 tdm_release_function release, void *user, tdm_buffer **buffer) {
    TDMI_UNCANCELLED();
    if (buffer) *buffer = NULL;
    if (device && !device->facts->host_memory)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: %s does not work in host memory; only cpu devices do", __func__,
                         device->facts->info.id);
    return adopt(__func__, device, TDM_CPU, "pointer", pointer, size, release, user, buffer);
}

tdm_status tdm_buffer_get_host_pointer(const tdm_buffer *buffer, void **pointer) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, pointer);
    return get_memory(__func__, buffer, TDM_CPU, pointer);
}

/* ---- OpenCL ---- */

DEFINE_GETTER(tdm_opencl_get_context, TDM_OPENCL, device, get_context, _cl_context, context)
DEFINE_GETTER(tdm_opencl_get_device_id, TDM_OPENCL, device, get_id, _cl_device_id, id)
DEFINE_GETTER(tdm_opencl_get_queue, TDM_OPENCL, queue, get_queue, _cl_command_queue, handle)
DEFINE_GETTER(tdm_opencl_get_memory, TDM_OPENCL, buffer, get_memory, _cl_mem, memory)

tdm_status tdm_opencl_adopt_memory(tdm_device *device, struct _cl_mem *memory, size_t size,
                                   tdm_release_function release, void *user, tdm_buffer **buffer) {
    TDMI_UNCANCELLED();
    return adopt("tdm_opencl_adopt_memory", device, TDM_OPENCL, "memory", memory, size, release,
                 user, buffer);
}

tdm_status tdm_opencl_adopt_device(struct _cl_context *context, struct _cl_device_id *id,
                                   tdm_device **device) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, device);
    TDMI_NOT_NULL(__func__, context);
    TDMI_NOT_NULL(__func__, id);
    return tdmi_device_adopt(__func__, TDM_OPENCL, context, id, device);
}

tdm_status tdm_opencl_adopt_queue(tdm_device *device, struct _cl_command_queue *handle,
                                  tdm_queue **queue) {
    TDMI_UNCANCELLED();
    return adopt_queue("tdm_opencl_adopt_queue", device, TDM_OPENCL, "handle", handle, 0, queue);
}

tdm_status tdm_opencl_wait(tdm_queue *queue, struct _cl_event *event) {
    TDMI_UNCANCELLED();
    return wait("tdm_opencl_wait", queue, TDM_OPENCL, event);
}

tdm_status tdm_opencl_record(tdm_queue *queue, struct _cl_event **event) {
    TDMI_UNCANCELLED();
    void *made = NULL;
    if (event) *event = NULL;
    TDMI_TRY(check_event(__func__, queue, TDM_OPENCL, event));
    TDMI_TRY(record(__func__, queue, &made));
    *event = made;
    return TDM_OK;
}

/* ---- CUDA ---- */

DEFINE_GETTER(tdm_cuda_get_context, TDM_CUDA, device, get_context, CUctx_st, context)
DEFINE_GETTER(tdm_cuda_get_stream, TDM_CUDA, queue, get_queue, CUstream_st, stream)

tdm_status tdm_cuda_enter(const tdm_device *device, bool *entered) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, entered);
    *entered = false;
    TDMI_TRY(check_backend(__func__, "device", device, TDM_CUDA));
    return device->backend->enter(device->impl, entered);
}

void tdm_cuda_leave(const tdm_device *device, bool entered) {
    TDMI_UNCANCELLED();
    if (device && device->backend->leave) device->backend->leave(entered);
}

tdm_status tdm_cuda_get_ordinal(const tdm_device *device, int *ordinal) {
    TDMI_UNCANCELLED();
    void *id = NULL;
    TDMI_NOT_NULL(__func__, ordinal);
    *ordinal = -1;
    TDMI_TRY(get_id(__func__, device, TDM_CUDA, &id));
    *ordinal = (int)(intptr_t)id;
    return TDM_OK;
}

tdm_status tdm_cuda_get_pointer(const tdm_buffer *buffer, void **pointer) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, pointer);
    return get_memory(__func__, buffer, TDM_CUDA, pointer);
}

tdm_status tdm_cuda_adopt_memory(tdm_device *device, void *pointer, size_t size,
                                 tdm_release_function release, void *user, tdm_buffer **buffer) {
    TDMI_UNCANCELLED();
    return adopt("tdm_cuda_adopt_memory", device, TDM_CUDA, "pointer", pointer, size, release, user,
                 buffer);
}

tdm_status tdm_cuda_adopt_stream(tdm_device *device, struct CUstream_st *stream, unsigned flags,
                                 tdm_queue **queue) {
    TDMI_UNCANCELLED();
    if (queue) *queue = NULL;
    if (flags & ~(unsigned)TDM_QUEUE_TIMING)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: flags is %#x, only TDM_QUEUE_TIMING (%#x) is allowed", __func__,
                         flags, TDM_QUEUE_TIMING);
    return adopt_queue(__func__, device, TDM_CUDA, "stream", stream, flags, queue);
}

tdm_status tdm_cuda_wait(tdm_queue *queue, struct CUevent_st *event) {
    TDMI_UNCANCELLED();
    return wait("tdm_cuda_wait", queue, TDM_CUDA, event);
}

tdm_status tdm_cuda_record(tdm_queue *queue, struct CUevent_st *event) {
    TDMI_UNCANCELLED();
    void *given = event;
    TDMI_TRY(check_event(__func__, queue, TDM_CUDA, event));
    return record(__func__, queue, &given);
}
