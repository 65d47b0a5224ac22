/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects that the program has, too: its memory and its events, and ours in its hands. Objects of another context are
 * refused here, because a driver's answer to them looks like that of a lost device. */
#include "opencl_backend.h"

enum { ALIGNMENT = 16 }; /* of what kernels read in vectors */

/* ---- memory ---- */

static tdm_status ask(cl_mem mem, cl_mem_info what, size_t size, void *answer) {
    cl_int code = tdmi_cl.clGetMemObjectInfo(mem, what, size, answer, NULL);
    if (code == CL_SUCCESS) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "memory is not a cl_mem: %s (%d)",
                     tdmi_cl_error_name(code), code);
}

/* A driver may work in the program's own memory then. The address of a part follows from that of the whole: Intel's
 * runtime adds the part's size to it, instead of the offset. There a buffer in shared memory is a part, too, of one
 * that has no address, and its own is right. */
static tdm_status check_address(cl_mem mem, cl_mem_flags flags, void **address) {
    cl_mem whole = NULL;
    unsigned char *begin = NULL;
    size_t offset = 0;
    *address = NULL;
    if (!(flags & CL_MEM_USE_HOST_PTR)) return TDM_OK;
    TDMI_TRY(ask(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole));
    if (whole && tdmi_cl.clGetMemObjectInfo(whole, CL_MEM_HOST_PTR, sizeof begin, &begin, NULL) ==
                     CL_SUCCESS) {
        TDMI_TRY(ask(mem, CL_MEM_OFFSET, sizeof offset, &offset));
        *address = begin + offset;
    } else {
        TDMI_TRY(ask(mem, CL_MEM_HOST_PTR, sizeof *address, address));
    }
    if ((uintptr_t)*address % ALIGNMENT == 0) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "memory begins at the host's address %p, which is not a multiple of %d",
                     *address, ALIGNMENT);
}

static tdm_status check_memory(const tdmi_bdevice *device, cl_mem mem, size_t size) {
    cl_mem_object_type type = 0;
    cl_context context = NULL;
    size_t all = 0;
    TDMI_TRY(ask(mem, CL_MEM_TYPE, sizeof type, &type));
    if (type != CL_MEM_OBJECT_BUFFER)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "memory is an image or a pipe, not a buffer");
    TDMI_TRY(ask(mem, CL_MEM_CONTEXT, sizeof context, &context));
    if (context != device->context)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "memory is of another context; tdm_opencl_get_context gives the device's");
    TDMI_TRY(ask(mem, CL_MEM_SIZE, sizeof all, &all));
    if (size > all)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "memory has %zu bytes, and size is %zu", all,
                         size);
    /* larger ones, which some drivers make with their own flags, are for kernels that were compiled for them */
    const uint64_t most = device->entry->facts.info.max_allocation;
    if (size > most)
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "size is %zu bytes, and the device's kernels are for memory of %llu bytes at most",
            size, (unsigned long long)most);
    return TDM_OK;
}

tdm_status tdmi_cl_mem_adopt(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                             bool *read_only) {
    cl_mem_flags flags = 0;
    void *address;
    TDMI_TRY(check_memory(device, handle, size));
    TDMI_TRY(ask(handle, CL_MEM_FLAGS, sizeof flags, &flags));
    if (flags & CL_MEM_WRITE_ONLY)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "memory was made with CL_MEM_WRITE_ONLY: kernels cannot read it");
    TDMI_TRY(check_address(handle, flags, &address));
    TDMI_CL_TRY(tdmi_cl.clRetainMemObject(handle), "clRetainMemObject");
    mem->handle = handle;
    /* As with our own memory, a CPU's native kernels find it there (blas_host.c). */
    mem->host = tdmi_cl_is_cpu(device) ? address : NULL;
    mem->shared = false; /* its creator may rely on mappings */
    *read_only = (flags & CL_MEM_READ_ONLY) != 0;
    return TDM_OK;
}

/* ---- what is ours ---- */

void tdmi_cl_device_handles(const tdmi_bdevice *device, void **context, void **id) {
    *context = device->context;
    *id = device->entry->id;
}

void *tdmi_cl_queue_handle(const tdmi_bqueue *queue) { return queue->queue; }

/* ---- queues ---- */

static tdm_status no_such_queue(cl_int code) {
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "queue is not a cl_command_queue: %s (%d)",
                     tdmi_cl_error_name(code), code);
}

static tdm_status ask_queue(cl_command_queue queue, cl_command_queue_info what, size_t size,
                            void *answer) {
    cl_int code = tdmi_cl.clGetCommandQueueInfo(queue, what, size, answer, NULL);
    return code == CL_SUCCESS ? TDM_OK : no_such_queue(code);
}

tdm_status tdmi_cl_queue_adopt(tdmi_bdevice *device, void *handle, unsigned *flags,
                               tdmi_bqueue *queue) {
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    TDMI_TRY(ask_queue(handle, CL_QUEUE_CONTEXT, sizeof context, &context));
    TDMI_TRY(ask_queue(handle, CL_QUEUE_DEVICE, sizeof id, &id));
    TDMI_TRY(ask_queue(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties));
    if (context != device->context)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "queue is of another context; tdm_opencl_adopt_device opens the device in "
                         "that one");
    if (id != device->entry->id)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "queue is of another device of the context");
    if (properties & ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "queue has the properties %#llx, only CL_QUEUE_PROFILING_ENABLE is "
                         "allowed: work runs in the order in which it is given",
                         (unsigned long long)properties);
    cl_int code = tdmi_cl.clRetainCommandQueue(handle);
    if (code != CL_SUCCESS) return no_such_queue(code);
    queue->device = device;
    queue->queue = handle;
    queue->timing = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    *flags = queue->timing ? TDM_QUEUE_TIMING : 0;
    return tdmi_cl_queue_prepare(queue);
}

/* ---- events ---- */

tdm_status tdmi_cl_queue_wait_handle(tdmi_bqueue *queue, void *event) {
    const cl_event awaited = event;
    cl_context context = NULL;
    cl_int code = tdmi_cl.clGetEventInfo(awaited, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    if (code != CL_SUCCESS)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "event is not a cl_event: %s (%d)",
                         tdmi_cl_error_name(code), code);
    if (context != queue->device->context)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "event is of another context; tdm_opencl_get_context gives the device's");
    return tdmi_cl_check(tdmi_cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &awaited, NULL),
                         "clEnqueueBarrierWithWaitList");
}

tdm_status tdmi_cl_queue_record_handle(tdmi_bqueue *queue, void **event) {
    cl_event marker;
    TDMI_TRY(tdmi_cl_marker(queue, &marker));
    *event = marker;
    return TDM_OK;
}
