/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libcuda: devices, contexts, fills and graphs. Modules and launches are in program.c. */
#include <string.h>

#include "call.h"

CUresult cuInit(unsigned flags) {
    int error = sim_fault("cuInit");
    if (!error) error = flags ? CUDA_ERROR_INVALID_VALUE : sim_driver_error();
    if (!error) sim_initialise();
    return (CUresult)error;
}

/* NVIDIA's own NVRTC, which a test lets compile for this machine, requests an undocumented table of
 * functions from a driver that it finds, and relies on this function being there. */
CUresult cuGetExportTable(const void **table, const CUuuid *id);
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* --- devices ------------------------------------------------------------------------------------
 */

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    BEGIN_DRIVER("cuDeviceGet");
    if (!sim_device_of(ordinal, &error)) return (CUresult)error;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    BEGIN_DRIVER("cuDeviceGetName");
    const sim_device *found = sim_device_of(device, &error);
    if (!found) return (CUresult)error;
    size_t length = strlen(found->name);
    if (size <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (length >= (size_t)size) length = (size_t)size - 1;
    memcpy(name, found->name, length);
    name[length] = '\0';
    return CUDA_SUCCESS;
}

#ifndef SIM_OLD_DRIVER
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    BEGIN_DRIVER("cuDeviceGetUuid");
    const sim_device *found = sim_device_of(device, &error);
    if (!found) return (CUresult)error;
    memcpy(uuid->bytes, found->uuid, sizeof uuid->bytes);
    return CUDA_SUCCESS;
}
#endif

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    BEGIN_DRIVER("cuDeviceTotalMem");
    const sim_device *found = sim_device_of(device, &error);
    if (!found) return (CUresult)error;
    *bytes = found->memory;
    return CUDA_SUCCESS;
}

/* --- contexts: their calls go on working when a device is lost ----------------------------------
 */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    BEGIN_DRIVER("cuDevicePrimaryCtxRetain");
    sim_device *found = sim_device_of(device, &error);
    if (!found) return (CUresult)error;
    sim_make_context(found);
    *context = &found->context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    BEGIN_DRIVER("cuCtxGetCurrent");
    *context = sim_current();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    BEGIN_DRIVER("cuCtxSetCurrent");
    sim_set_current(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    BEGIN_DRIVER("cuCtxPushCurrent");
    return sim_push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    BEGIN_DRIVER("cuCtxPopCurrent");
    *context = sim_pop();
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* --- pointers -----------------------------------------------------------------------------------
 */

CUresult cuPointerGetAttribute(void *answer, CUpointer_attribute attribute, CUdeviceptr address) {
    BEGIN_DRIVER("cuPointerGetAttribute");
    int ordinal;
    const sim_block *block = sim_known((const void *)(uintptr_t)address, &ordinal);
    if (!block) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)answer = block->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
        *(int *)answer = 0;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)answer = ordinal;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    BEGIN_DRIVER("cuStreamGetCtx");
    *context = sim_stream_context(stream);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- fills --------------------------------------------------------------------------------------
 */

CUresult cuMemsetD16Async(CUdeviceptr start, unsigned short value, size_t count, CUstream stream) {
    BEGIN_DRIVER("cuMemsetD16Async");
    sim_fill fill = {.count = count, .rows = 1, .width = 2, .value = value};
    return (CUresult)sim_enqueue_fill("cuMemsetD16Async", stream, (uintptr_t)start, fill);
}

CUresult cuMemsetD32Async(CUdeviceptr start, unsigned value, size_t count, CUstream stream) {
    BEGIN_DRIVER("cuMemsetD32Async");
    sim_fill fill = {.count = count, .rows = 1, .width = 4, .value = value};
    return (CUresult)sim_enqueue_fill("cuMemsetD32Async", stream, (uintptr_t)start, fill);
}

CUresult cuMemsetD2D32Async(CUdeviceptr start, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream) {
    BEGIN_DRIVER("cuMemsetD2D32Async");
    sim_fill fill = {.pitch = pitch, .count = width, .rows = height, .width = 4, .value = value};
    return (CUresult)sim_enqueue_fill("cuMemsetD2D32Async", stream, (uintptr_t)start, fill);
}

/* --- graphs -------------------------------------------------------------------------------------
 */

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    BEGIN_DRIVER("cuStreamBeginCapture");
    error = sim_stream_check(stream, "cuStreamBeginCapture");
    return (CUresult)(error ? error : sim_stream_begin_capture(stream, mode));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    (void)sim_fault(
        "cuThreadExchangeStreamCaptureMode"); /* counted: it touches this thread alone */
    sim_exchange_capture_mode(mode);
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    BEGIN_DRIVER("cuStreamEndCapture");
    error = sim_stream_check(stream, "cuStreamEndCapture");
    return (CUresult)(error ? error : sim_stream_end_capture(stream, graph));
}

CUresult cuGraphDestroy(CUgraph graph) {
    BEGIN_DRIVER("cuGraphDestroy");
    return (CUresult)sim_graph_destroy(graph);
}

CUresult cuGraphExecDestroy(CUgraphExec graph) {
    BEGIN_DRIVER("cuGraphExecDestroy");
    return (CUresult)sim_graph_exec_destroy(graph);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    BEGIN_DRIVER("cuGraphLaunch");
    return (CUresult)sim_graph_launch(graph, stream);
}

#ifndef SIM_OLD_DRIVER
CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags) {
    BEGIN_DRIVER("cuGraphInstantiate");
    if (flags) sim_report("cuGraphInstantiate: flags %llu are not simulated", flags);
    return (CUresult)sim_graph_instantiate(graph, made);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec graph, CUgraph newer, CUgraphExecUpdateResultInfo *info) {
    BEGIN_DRIVER("cuGraphExecUpdate");
    memset(info, 0, sizeof *info);
    return (CUresult)sim_graph_update(graph, newer);
}
#endif
