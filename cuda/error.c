/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime's error numbers as statuses. */
#include "cuda_backend.h"

/* After these the context answers every call with the same error: only a new process helps. */
static bool is_sticky(int error) {
    switch (error) {
    case cudaErrorCudartUnloading:
    case cudaErrorPriorLaunchFailure:
    case cudaErrorDeviceUninitialized:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case 226: /* cudaErrorContained, which older headers lack */
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case 721: /* cudaErrorTensorMemoryLeak */
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
        return true;
    default:
        return false;
    }
}

/* The compiled code does not suit the device or driver. */
static bool is_image(int error) {
    switch (error) {
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorInvalidSource:
    case cudaErrorSymbolNotFound:
        return true;
    default:
        return false;
    }
}

const char *tdmi_cuda_advice(cudaError_t error) {
    switch ((int)error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
        return "install or update the NVIDIA driver to one for this CUDA version (nvidia-smi shows "
               "the version it supports)";
    case cudaErrorStubLibrary:
        return "the libcuda.so.1 that was found is the toolkit's stub for linking: take the "
               "toolkit's stubs directory out of LD_LIBRARY_PATH, so that the driver's is found";
    case cudaErrorNoDevice:
        return "check CUDA_VISIBLE_DEVICES, that nvidia-smi lists a device, and that /dev/nvidia* "
               "may be opened (in a container: that the GPU was passed in)";
    case cudaErrorSystemDriverMismatch:
        return "the driver's libraries and its kernel module are of different versions: restart "
               "the machine after a driver update";
    case cudaErrorSystemNotReady:
        return "a service of the driver is not running yet (nvidia-fabricmanager on NVSwitch "
               "machines)";
    case cudaErrorCompatNotSupportedOnDevice:
        return "the forward-compatibility package does not support this device: update the driver";
    case cudaErrorDevicesUnavailable:
        return "another process holds the device exclusively, or its compute mode forbids use";
    case cudaErrorInitializationError:
    case cudaErrorStartupFailure:
    case cudaErrorOperatingSystem:
        return "check that the NVIDIA kernel module is loaded and nvidia-smi works";
    case cudaErrorDeviceNotLicensed:
        return "the virtual GPU has no licence";
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
        return "check the CUDA multi-process service (MPS)";
    default:
        return is_sticky((int)error) ? "CUDA gives the device back only to a new process" : "";
    }
}

static tdm_status status_of(int error) {
    if (error == cudaErrorMemoryAllocation) return TDM_ERROR_OUT_OF_MEMORY;
    if (is_sticky(error)) return TDM_ERROR_DEVICE_LOST;
    if (is_image(error)) return TDM_ERROR_COMPILE;
    if (error == cudaErrorNotSupported) return TDM_ERROR_UNSUPPORTED;
    if (*tdmi_cuda_advice((cudaError_t)error)) return TDM_ERROR_UNAVAILABLE;
    return TDM_ERROR_BACKEND;
}

tdm_status tdmi_cuda_fail(cudaError_t error, const char *what) {
    (void)tdmi_cudart.cudaGetLastError();
    const char *name = tdmi_cudart.cudaGetErrorName(error);
    const char *text = tdmi_cudart.cudaGetErrorString(error);
    const char *advice = tdmi_cuda_advice(error);
    return tdmi_fail(status_of((int)error), "%s: %s (error %d, %s)%s%s", what,
                     text ? text : "unknown error", (int)error, name ? name : "unnamed",
                     *advice ? "; " : "", advice);
}
