/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects that the program has, too: its memory and its events, and ours in its hands. */
#include "cuda_backend.h"

/* ---- memory ---- */

static bool query(CUpointer_attribute attribute, uintptr_t address, void *answer) {
    return tdmi_cudrv.cuPointerGetAttribute(answer, attribute, (CUdeviceptr)address) ==
           CUDA_SUCCESS;
}

/* One byte is memory that this device's kernels reach at its full speed. */
static tdm_status check_byte(const tdmi_bdevice *device, uintptr_t address) {
    unsigned type = 0;
    int managed = 0, ordinal = -1;
    if (!query(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address, &type))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "memory: %p is not memory that CUDA knows",
                         (void *)address);
    (void)query(CU_POINTER_ATTRIBUTE_IS_MANAGED, address, &managed);
    if (managed) return TDM_OK;
    if (type != CU_MEMORYTYPE_DEVICE)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "memory: %p is host memory, not a device's",
                         (void *)address);
    if (!query(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address, &ordinal) ||
        ordinal != device->ordinal)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "memory: %p is of CUDA device %d, not %d",
                         (void *)address, ordinal, device->ordinal);
    return TDM_OK;
}

tdm_status tdmi_cuda_mem_adopt(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                               bool *read_only) {
    const uintptr_t begin = (uintptr_t)handle;
    TDMI_CUDA_BEGIN(device);
    TDMI_TRY(check_byte(device, begin));
    TDMI_TRY(check_byte(device, begin + size - 1));
    *mem = (tdmi_mem){.handle = handle};
    *read_only = false;
    return TDM_OK;
}

void tdmi_cuda_mem_disown(tdmi_bdevice *device, tdmi_mem *mem) {
    (void)device;
    *mem = (tdmi_mem){0};
}

/* ---- what is ours ---- */

void tdmi_cuda_device_handles(const tdmi_bdevice *device, void **context, void **id) {
    *context = device->context;
    *id = (void *)(intptr_t)device->ordinal;
}

void *tdmi_cuda_queue_handle(const tdmi_bqueue *queue) { return queue->own; }

/* ---- streams ---- */

tdm_status tdmi_cuda_queue_adopt(tdmi_bdevice *device, void *handle, unsigned *flags,
                                 tdmi_bqueue *queue) {
    enum { LEGACY = 1, PER_THREAD = 2 }; /* cudaStreamLegacy, cudaStreamPerThread */
    CUcontext context = NULL;
    if ((uintptr_t)handle == LEGACY || (uintptr_t)handle == PER_THREAD)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "queue: the stream is a default stream (%p), which names another one in "
                         "another context or thread",
                         handle);
    TDMI_CUDA_BEGIN(device);
    CUresult error = tdmi_cudrv.cuStreamGetCtx(handle, &context);
    TDMI_TRY(tdmi_cuda_check((cudaError_t)error, "queue: cuStreamGetCtx"));
    if (context != device->context)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "queue: the stream is of another device or context; Tandem works in the "
                         "primary context of CUDA device %d",
                         device->ordinal);
    queue->device = device;
    queue->own = queue->stream = handle;
    queue->timing = (*flags & TDM_QUEUE_TIMING) != 0;
    queue->adopted = true;
    return TDM_OK;
}

/* ---- events ---- */

tdm_status tdmi_cuda_queue_wait_handle(tdmi_bqueue *queue, void *event) {
    TDMI_CUDA_BEGIN(queue->device);
    return tdmi_cuda_check(tdmi_cudart.cudaStreamWaitEvent(queue->own, event, 0),
                           "event: cudaStreamWaitEvent");
}

tdm_status tdmi_cuda_queue_record_handle(tdmi_bqueue *queue, void **event) {
    TDMI_CUDA_BEGIN(queue->device);
    return tdmi_cuda_check(tdmi_cudart.cudaEventRecord(*event, queue->own),
                           "event: cudaEventRecord");
}
