/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that libcudart hands out: contexts. The fills are in transfer.c. */
#include <string.h>

#include "call.h"

/* Context calls go on working when a device is lost. */
#define BEGIN_DRIVER(function)                                                                     \
    int error = sim_fault(function);                                                               \
    if (!error) error = sim_driver_error();                                                        \
    if (error) return (CUresult)error

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    BEGIN_DRIVER("cuDeviceGet");
    if (!sim_device_of(ordinal, &error)) return (CUresult)error;
    *device = ordinal;
    return CUDA_SUCCESS;
}

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

CUresult cuCtxPushCurrent(CUcontext context) {
    BEGIN_DRIVER("cuCtxPushCurrent");
    return sim_push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
    BEGIN_DRIVER("cuCtxPopCurrent");
    *context = sim_pop();
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **address, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found) {
#define FUNCTION(function)                                                                         \
    { #function, (void (*)(void))function }
    static const struct {
        const char *name;
        void (*address)(void);
    } functions[] = {
        FUNCTION(cuDeviceGet),
        {"cuDevicePrimaryCtxRetain", (void (*)(void))cuDevicePrimaryCtxRetain},
        FUNCTION(cuCtxGetCurrent),
        FUNCTION(cuCtxSetCurrent),
        {"cuCtxPushCurrent", (void (*)(void))cuCtxPushCurrent},
        {"cuCtxPopCurrent", (void (*)(void))cuCtxPopCurrent},
        FUNCTION(cuMemsetD16Async),
        FUNCTION(cuMemsetD32Async),
        FUNCTION(cuMemsetD2D32Async),
    };
    BEGIN("cudaGetDriverEntryPointByVersion");
    (void)version;
    (void)flags;
    *address = NULL;
    *found = cudaDriverEntryPointSymbolNotFound;
    error = sim_get()->driver ? 0 : cudaErrorInsufficientDriver;
    if (error) END(error);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        memcpy(address, &functions[i].address, sizeof *address);
        *found = cudaDriverEntryPointSuccess;
    }
    return cudaSuccess;
}
