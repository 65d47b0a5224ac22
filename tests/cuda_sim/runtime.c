/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libcudart: devices, memory, streams and events. Copies and fills are in
 * transfer.c. */
#include <string.h>

#include "call.h"

/* Before any call reads the machine's description, which may name another version. */
__attribute__((constructor)) static void set_version(void) { sim_library_version = SIM_VERSION; }

cudaError_t cudaRuntimeGetVersion(int *version) {
    BEGIN("cudaRuntimeGetVersion");
    *version = sim_get()->runtime;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    BEGIN("cudaDriverGetVersion");
    *version = sim_get()->stub ? 0 : sim_get()->driver;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void) { return (cudaError_t)sim_take_error(); }

cudaError_t cudaGetDeviceCount(int *count) {
    BEGIN("cudaGetDeviceCount");
    *count = 0;
    error = sim_driver_error();
    if (!error) sim_initialise();
    if (!error) *count = sim_get()->device_count;
    END(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal) {
    BEGIN("cudaDeviceGetAttribute");
    const sim_device *device = sim_device_of(ordinal, &error);
    if (!device) END(error);
    const int values[][2] = {{cudaDevAttrPciDomainId, (int)device->domain},
                             {cudaDevAttrPciBusId, (int)device->bus},
                             {cudaDevAttrPciDeviceId, (int)device->slot},
                             {cudaDevAttrComputeCapabilityMajor, device->capability / 10},
                             {cudaDevAttrComputeCapabilityMinor, device->capability % 10},
                             {cudaDevAttrMultiProcessorCount, device->multiprocessors},
                             {cudaDevAttrMaxThreadsPerBlock, 1024},
                             {cudaDevAttrL2CacheSize, device->cache},
                             {cudaDevAttrIntegrated, 0}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i][0] != (int)attribute) continue;
        *value = values[i][1];
        return cudaSuccess;
    }
    sim_report("cudaDeviceGetAttribute: attribute %d is not simulated", (int)attribute);
    END(cudaErrorInvalidValue);
}

cudaError_t cudaSetDevice(int ordinal) {
    BEGIN("cudaSetDevice");
    sim_device *device = sim_device_of(ordinal, &error);
    if (!device) END(error);
    sim_initialise();
    if (sim_get()->chooses_late && !sim_current()) {
        sim_choose(ordinal);
        return cudaSuccess;
    }
    sim_make_context(device);
    sim_set_current(&device->context);
    END(sim_sticky(&device->context));
}

cudaError_t cudaGetDevice(int *ordinal) {
    BEGIN("cudaGetDevice");
    *ordinal = sim_chosen();
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int ordinal, int peer) {
    BEGIN("cudaDeviceCanAccessPeer");
    if (!sim_device_of(ordinal, &error) || !sim_device_of(peer, &error)) END(error);
    *can = ordinal != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    BEGIN_IN_CONTEXT("cudaDeviceEnablePeerAccess");
    const sim_device *other = sim_device_of(peer, &error);
    if (!other) END(error);
    if (flags || other == context->device) END(cudaErrorInvalidValue);
    unsigned bit = 1u << other->number;
    if (__atomic_fetch_or(&context->peers, bit, __ATOMIC_SEQ_CST) & bit)
        END(cudaErrorPeerAccessAlreadyEnabled);
    return cudaSuccess;
}

/* --- memory -------------------------------------------------------------------------------------
 */

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    BEGIN_IN_CONTEXT("cudaMemGetInfo");
    size_t used = sim_used(context->device);
    *total = context->device->memory;
    *available = used < *total ? *total - used : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t size) {
    BEGIN_IN_CONTEXT("cudaMalloc");
    if ((error = sim_check_captures("cudaMalloc")) != 0) END(error);
    sim_implicit_wait(context);
    END(sim_allocate(context->device, size, pointer));
}

/* Memory of a lost device is given back too, though the call fails. */
cudaError_t cudaFree(void *pointer) {
    BEGIN_UNCAPTURED("cudaFree");
    CUcontext context = sim_current() ? sim_current() : sim_context(&error);
    if (!context) END(error);
    sim_implicit_wait(context);
    error = sim_free(context->device, pointer, "cudaFree");
    END(sim_sticky(context) ? sim_sticky(context) : error);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags) {
    BEGIN_IN_CONTEXT("cudaHostAlloc");
    if ((error = sim_check_captures("cudaHostAlloc")) != 0) END(error);
    if (flags != cudaHostAllocPortable)
        sim_report("cudaHostAlloc: memory pinned for one context only");
    sim_implicit_wait(context);
    END(sim_allocate(NULL, size, pointer));
}

cudaError_t cudaFreeHost(void *pointer) {
    BEGIN_UNCAPTURED("cudaFreeHost");
    CUcontext context = sim_current();
    sim_implicit_wait(context);
    error = sim_free(NULL, pointer, "cudaFreeHost");
    END(context && sim_sticky(context) ? sim_sticky(context) : error);
}

/* --- streams and events -------------------------------------------------------------------------
 */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    BEGIN_IN_CONTEXT("cudaStreamCreateWithFlags");
    END(sim_stream_create(context, flags, stream));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    BEGIN("cudaStreamDestroy");
    END(sim_stream_destroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    BEGIN_UNCAPTURED("cudaStreamSynchronize");
    error = sim_stream_check(stream, "cudaStreamSynchronize");
    END(error ? error : sim_stream_finish(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    BEGIN_UNCAPTURED("cudaStreamQuery");
    error = sim_stream_check(stream, "cudaStreamQuery");
    END(error ? error : sim_stream_query(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    BEGIN("cudaStreamWaitEvent");
    error = flags ? cudaErrorInvalidValue : sim_stream_check(stream, "cudaStreamWaitEvent");
    END(error ? error : sim_event_wait(stream, event));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    BEGIN_IN_CONTEXT("cudaEventCreateWithFlags");
    END(sim_event_create(context, flags, event));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    BEGIN("cudaEventDestroy");
    END(sim_event_destroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    BEGIN("cudaEventRecord");
    error = sim_stream_check(stream, "cudaEventRecord");
    END(error ? error : sim_event_record(event, stream));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    BEGIN_UNCAPTURED("cudaEventSynchronize");
    END(sim_event_finish(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    BEGIN_UNCAPTURED("cudaEventQuery");
    END(sim_event_query(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    BEGIN("cudaEventElapsedTime");
    END(sim_event_elapsed(milliseconds, start, end));
}

/* --- errors -------------------------------------------------------------------------------------
 */

const char *cudaGetErrorName(cudaError_t error) {
    switch ((int)error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
        return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
        return "cudaErrorNoDevice";
    case cudaErrorIllegalAddress:
        return "cudaErrorIllegalAddress";
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error) {
    switch ((int)error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorStubLibrary:
        return "CUDA driver is a stub library";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    default:
        return "a simulated error";
    }
}
