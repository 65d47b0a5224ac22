/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime's error numbers become a status, with a message that says what to do. */
#include <criterion/criterion.h>

#include "control.h"
#include "cuda/declarations.h"
#include "support/check.h"
#include "traps.h"
#include <tandem/tandem.h>

TestSuite(statuses, .init = traps_begin, .fini = traps_end);

static const struct {
    int error;
    tdm_status status;
    const char *words;
} rows[] = {
    {cudaErrorMemoryAllocation, TDM_ERROR_OUT_OF_MEMORY, "out of memory|error 2"},
    {cudaErrorNotSupported, TDM_ERROR_UNSUPPORTED, "error 801"},
    {cudaErrorNoKernelImageForDevice, TDM_ERROR_COMPILE, "error 209"},
    {cudaErrorUnsupportedPtxVersion, TDM_ERROR_COMPILE, "error 222"},
    {cudaErrorUnknown, TDM_ERROR_BACKEND, "error 999"},
    {cudaErrorInsufficientDriver, TDM_ERROR_UNAVAILABLE, "install or update the NVIDIA driver"},
    {cudaErrorCallRequiresNewerDriver, TDM_ERROR_UNAVAILABLE, "update the NVIDIA driver"},
    {cudaErrorStubLibrary, TDM_ERROR_UNAVAILABLE, "stubs directory out of LD_LIBRARY_PATH"},
    {cudaErrorNoDevice, TDM_ERROR_UNAVAILABLE, "CUDA_VISIBLE_DEVICES|nvidia-smi"},
    {cudaErrorSystemDriverMismatch, TDM_ERROR_UNAVAILABLE, "restart the machine"},
    {cudaErrorSystemNotReady, TDM_ERROR_UNAVAILABLE, "nvidia-fabricmanager"},
    {cudaErrorCompatNotSupportedOnDevice, TDM_ERROR_UNAVAILABLE, "forward-compatibility package"},
    {cudaErrorDevicesUnavailable, TDM_ERROR_UNAVAILABLE, "holds the device exclusively"},
    {cudaErrorInitializationError, TDM_ERROR_UNAVAILABLE, "kernel module is loaded"},
    {cudaErrorOperatingSystem, TDM_ERROR_UNAVAILABLE, "kernel module is loaded"},
    {cudaErrorDeviceNotLicensed, TDM_ERROR_UNAVAILABLE, "licence"},
    {cudaErrorMpsServerNotReady, TDM_ERROR_UNAVAILABLE, "MPS"},
    /* the last: the device is lost */
    {cudaErrorLaunchTimeout, TDM_ERROR_DEVICE_LOST, "error 702"},
};

Test(statuses, of_errors) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    if (!OK(tdm_device_open("cuda:0", &device))) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_case("error %d", rows[i].error);
        cuda_sim_fail("cudaStreamCreateWithFlags", 1, false, rows[i].error);
        REFUSED(tdm_queue_create(device, 0, &queue), rows[i].status, rows[i].words);
        CHECK(cuda_sim_failures() == 1 && !queue, "%lu failures", cuda_sim_failures());
        cuda_sim_heal();
    }
    tdm_device_release(device);
}
