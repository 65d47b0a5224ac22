/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts of devices.
 *
 * The current device of a thread belongs to the caller, who may use CUDA directly, and cudaSetDevice
 * makes a context on the device it names: putting back "device 0" would make one there although
 * it was never opened. The driver's context stack has neither fault, so the device's primary context,
 * which the runtime API works in as well, is pushed and popped. */
#include "cuda_backend.h"

/* Primary contexts are kept until the process ends: the runtime never gives them up either, and
 * other users of the runtime in this process may rely on them. */
static tdmi_mutex lock = TDMI_MUTEX_INIT;

static CUcontext contexts[TDMI_CUDA_MAX_DEVICES];

static tdm_status make_context(int ordinal, CUcontext *context) {
    CUdevice device = 0;
    CUresult error = tdmi_cudrv.cuDeviceGet(&device, ordinal);
    if (error == CUDA_SUCCESS) error = tdmi_cudrv.cuDevicePrimaryCtxRetain(context, device);
    return tdmi_cuda_check((cudaError_t)error, "cuDevicePrimaryCtxRetain");
}

/* A context that a fault has ended stays ended, also when the device is opened again. */
static tdm_status check_context(const tdmi_bdevice *device) {
    size_t available = 0, total = 0;
    TDMI_CUDA_BEGIN(device);
    cudaError_t error = tdmi_cudart.cudaMemGetInfo(&available, &total);
    tdm_status status = tdmi_cuda_check(error, "cudaMemGetInfo");
    return status == TDM_ERROR_DEVICE_LOST ? status : TDM_OK;
}

tdm_status tdmi_cuda_device_init(tdmi_bdevice *device, size_t index) {
    const tdmi_cuda_entry *entry = tdmi_cuda_entry_at(index);
    const int ordinal = entry->ordinal;
    if (ordinal >= TDMI_CUDA_MAX_DEVICES)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "CUDA device %d: only %d devices are supported",
                         ordinal, TDMI_CUDA_MAX_DEVICES);
    tdmi_mutex_lock(&lock);
    CUcontext context = contexts[ordinal];
    tdm_status status = context ? TDM_OK : make_context(ordinal, &context);
    if (status == TDM_OK) contexts[ordinal] = context;
    tdmi_mutex_unlock(&lock);
    if (status != TDM_OK) return status;
    device->ordinal = ordinal;
    device->capability = tdmi_cuda_capability(entry);
    device->context = context;
    return check_context(device);
}

void tdmi_cuda_device_deinit(tdmi_bdevice *device) { device->context = NULL; }

tdm_status tdmi_cuda_enter(const tdmi_bdevice *device, bool *pushed) {
    CUcontext current = NULL;
    int chosen = -1;
    *pushed = false;
    CUresult error = tdmi_cudrv.cuCtxGetCurrent(&current);
    if (error == CUDA_SUCCESS && current == device->context) return TDM_OK;
    if (error == CUDA_SUCCESS && !current &&
        tdmi_cuda_succeeds(tdmi_cudart.cudaGetDevice(&chosen)) && chosen == device->ordinal) {
        /* A thread without a context is on this device for the runtime, by default or, before CUDA 12, by
         * cudaSetDevice. Making that so is no change that the caller could see, and saves a push and a pop at
         * every later call. */
        error = tdmi_cudrv.cuCtxSetCurrent(device->context);
        return tdmi_cuda_check((cudaError_t)error, "cuCtxSetCurrent");
    }
    if (error == CUDA_SUCCESS) error = tdmi_cudrv.cuCtxPushCurrent_v2(device->context);
    *pushed = error == CUDA_SUCCESS;
    return tdmi_cuda_check((cudaError_t)error, "cuCtxPushCurrent");
}

void tdmi_cuda_leave(bool pushed) {
    CUcontext context = NULL;
    if (pushed) (void)tdmi_cudrv.cuCtxPopCurrent_v2(&context);
}

tdm_status tdmi_cuda_begin(const tdmi_bdevice *device, tdmi_cuda_calls *calls) {
    *calls = (tdmi_cuda_calls){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    TDMI_TRY(tdmi_cuda_enter(device, &calls->entered));
    calls->relaxed = tdmi_cudrv.cuThreadExchangeStreamCaptureMode(&calls->mode) == CUDA_SUCCESS;
    return TDM_OK;
}

void tdmi_cuda_end(const tdmi_cuda_calls *calls) {
    CUstreamCaptureMode mode = calls->mode;
    if (calls->relaxed) (void)tdmi_cudrv.cuThreadExchangeStreamCaptureMode(&mode);
    tdmi_cuda_leave(calls->entered);
}

uint64_t tdmi_cuda_device_free_memory(tdmi_bdevice *device) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(device, &calls) != TDM_OK) return TDM_UNKNOWN;
    size_t available = 0, total = 0;
    bool known = tdmi_cuda_succeeds(tdmi_cudart.cudaMemGetInfo(&available, &total));
    tdmi_cuda_end(&calls);
    return known ? available : TDM_UNKNOWN;
}
