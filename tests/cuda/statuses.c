/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime's error numbers become a status, with a message that says what to do. */
#include <criterion/criterion.h>

#include "control.h"
#include "cuda/declarations.h"
#include "small.h"
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

/* Where a library's memory is short, the pool gives back what it keeps. */
Test(statuses, blas_in_the_pool_s_memory) {
    small s;
    tdm_buffer *kept = NULL;
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_fill(s.queue, 1.0, &s.x));
    OK(tdm_buffer_create(s.device, 1 << 20, &kept));
    tdm_buffer_release(kept);
    cuda_sim_fail("cublasLtMatmul", 1, false, CUBLAS_STATUS_ALLOC_FAILED);
    OK(tdm_matmul(s.queue, NULL, &s.x, &s.x, &s.y));
    CHECK(cuda_sim_calls("cublasLtMatmul") == 2, "%lu calls", cuda_sim_calls("cublasLtMatmul"));
    OK(tdm_device_get_memory_stats(s.device, &stats));
    CHECK(stats.cached == 0, "the pool keeps %llu bytes", (unsigned long long)stats.cached);
    OK(tdm_queue_finish(s.queue));
    small_close(&s);
}

/* Memory that is short for one product takes no library from the products after it. */
Test(statuses, blas_without_memory) {
    static const char *const fails[] = {"cublasLtCreate", "cublasLtMatmulAlgoGetHeuristic",
                                        "cublasCreate"};
    static const char *const runs[] = {"cublasLtMatmul", "cublasLtMatmul",
                                       "cublasGemmStridedBatchedEx_64"};
    for (int i = 0; i < 3; i++) {
        small s;
        check_case("%s", fails[i]);
        OK(small_open(&s, "cuda:0"));
        OK(tdm_fill(s.queue, 1.0, &s.x));
        cuda_sim_fail(fails[i], 1, false, CUBLAS_STATUS_ALLOC_FAILED);
        if (i == 2) /* plain cuBLAS takes what cuBLASLt has no algorithm for */
            cuda_sim_fail(fails[1], 1, true, CUBLAS_STATUS_NOT_SUPPORTED);
        OK(tdm_matmul(s.queue, NULL, &s.x, &s.x, &s.y));
        CHECK(cuda_sim_failures() > 0, "%s was not called: nothing was tested", fails[i]);
        cuda_sim_heal();
        OK(tdm_matmul(s.queue, NULL, &s.x, &s.x, &s.y));
        CHECK(cuda_sim_calls(runs[i]) == 1, "%lu calls of %s", cuda_sim_calls(runs[i]), runs[i]);
        OK(tdm_queue_finish(s.queue));
        small_close(&s);
        cuda_sim_heal();
    }
}
