/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every call that the cuda backend makes, made to fail: the first, the second, the third and the last one of each
 * function (with TDM_TEST_SMALL not the third, and each with every second error; with TDM_TEST_SHARE=2 every second of
 * these), on the simulated machine (tests/cuda_sim), each in a separate process; of cuBLAS, NVRTC and memory also every
 * call.
 *
 *     faults [FUNCTION [NTH ERROR]]       all functions, one, or one failure, printed at length
 *
 * The workout uses the whole library on cuda:0 and cuda:1. When a call fails the workout gives an
 * error with a message, or right results; nothing is left (the runtime's last error, memory,
 * handles, a context that is not the caller's); and after the failure the same process can do the
 * workout again, unless the failure was of the kind that loses the device. Functions whose failure
 * may go unseen are listed with the reason, and a list that says too much fails too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "control.h"
#include "failing/failing.h"

/* Errors of the four libraries that stand for their kind. */
enum {
    OUT_OF_MEMORY = 2,
    UNKNOWN = 999,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILURE = 719,
    CUBLAS_ALLOC_FAILED = 3,
    CUBLAS_ARCH_MISMATCH = 8,
    CUBLAS_EXECUTION_FAILED = 13,
    CUBLAS_NOT_SUPPORTED = 15,
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INTERNAL_ERROR = 11
};

/* Functions after whose failure a workout may yet be right, and why; `sometimes`: but not always.
 */
static const failing_excuse unseen[] = {
    {"cudaRuntimeGetVersion", "asked again at once", true},
    {"cudaDriverGetVersion", "asked again at once; later calls are of the diagnostics", true},
    {"cudaGetDeviceCount", "asked again at once; later calls are of the diagnostics", true},
    {"cudaDeviceGetAttribute", "asked again at once, and by the next call", false},
    {"cuInit", "asked again at once", true},
    {"cuDeviceGet", "asked again at once; later calls make a context", true},
    {"cuDeviceGetName", "asked again at once, and by the next call", false},
    {"cuDeviceGetUuid", "asked again at once, and by the next call", false},
    {"cuDeviceTotalMem", "asked again at once, and by the next call", false},
    {"cudaMemGetInfo", "free memory is unknown", false},
    {"cudaGetDevice", "the context is pushed instead", false},
    {"cuCtxGetCurrent", "free memory is unknown; a release has no caller to report it to", true},
    {"cuCtxPushCurrent", "a release has no caller to report it to", true},
    {"cuCtxPopCurrent", "no caller to report it to", false},
    {"cuPointerGetAttribute", "what is not known to be managed memory is taken for a device's",
     true},
    {"cudaDeviceCanAccessPeer", "the copy goes through host memory", false},
    {"cudaDeviceEnablePeerAccess", "the copy goes through host memory", false},
    {"cudaMalloc", "the pool gives back and tries again; a workspace may be missing", true},
    {"cudaFree", "no caller to report it to", false},
    {"cudaFreeHost", "no caller to report it to", false},
    {"cudaStreamSynchronize", "destroying a queue has no caller to report it to", true},
    {"cudaStreamDestroy", "no caller to report it to", false},
    {"cudaEventCreateWithFlags", "an owner of memory is called after a wait, without it", true},
    {"cudaEventRecord", "likewise", true},
    {"cudaEventQuery", "likewise", true},
    {"cudaEventElapsedTime", "the trace lacks an operation", true},
    {"cudaEventDestroy", "no caller to report it to", false},
    {"cuModuleUnload", "no caller to report it to", false},
    {"cudaStreamCreateWithFlags", "of one that was to capture a graph, which stays a list", true},
    {"cuLaunchKernel", "captured: the graph stays a list", true},
    {"cuStreamBeginCapture", "the graph stays a list", true},
    {"cuStreamEndCapture", "the graph stays a list", true},
    {"cuGraphInstantiate", "the graph stays a list", true},
    {"cuGraphExecUpdate", "another graph is made", true},
    {"cuGraphExecDestroy", "no caller to report it to", true},
    {"cuGraphDestroy", "no caller to report it to", true},
    {"cublasLtCreate", "the builtin kernel runs instead", false},
    {"cublasLtMatmulDescCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmulDescSetAttribute", "likewise", false},
    {"cublasLtMatmulDescDestroy", "no caller to report it to", false},
    {"cublasLtMatrixLayoutCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatrixLayoutSetAttribute", "likewise", false},
    {"cublasLtMatrixLayoutDestroy", "no caller to report it to", false},
    {"cublasLtMatmulPreferenceCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmulPreferenceSetAttribute", "likewise", false},
    {"cublasLtMatmulPreferenceDestroy", "no caller to report it to", false},
    {"cublasLtMatmulAlgoGetHeuristic", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmul", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasGemmStridedBatchedEx_64", "where it is not supported the builtin kernel runs instead",
     true},
    {"cublasCreate", "the builtin kernel runs instead", false},
    {"cublasSetStream", "the builtin kernel runs instead", false},
    {"cublasSetWorkspace", "the builtin kernel runs instead", false},
    {"cublasSetMathMode", "the builtin kernel runs instead", false},
    {"nvrtcVersion", "asked again at once", true},
    {"nvrtcDestroyProgram", "no caller to report it to", false},
    {NULL, NULL, false},
};
/* Failures that leave something alive, because giving it back failed. */
static bool keeps_something(const char *function) {
    return strncmp(function, "cuCtx", 5) == 0 || strstr(function, "Destroy") ||
           strstr(function, "Free") || strstr(function, "Unload");
}

static int errors_of(const char *function, int errors[4]) {
    if (strcmp(function, "cublasLtGetVersion") == 0 || /* they have no error to give */
        strcmp(function, "cuThreadExchangeStreamCaptureMode") == 0)
        return 0;
    if (strncmp(function, "nvrtc", 5) == 0) {
        errors[0] = NVRTC_OUT_OF_MEMORY;
        errors[1] = NVRTC_INTERNAL_ERROR;
        return 2;
    }
    if (strcmp(function, "kernel") == 0) {
        errors[0] = ILLEGAL_ADDRESS;
        errors[1] = LAUNCH_FAILURE;
        return 2;
    }
    if (strncmp(function, "cublas", 6) == 0) {
        errors[0] = CUBLAS_ALLOC_FAILED;
        errors[1] = CUBLAS_EXECUTION_FAILED;
        errors[2] = CUBLAS_NOT_SUPPORTED;
        errors[3] = CUBLAS_ARCH_MISMATCH;
        return 4;
    }
    errors[0] = OUT_OF_MEMORY;
    errors[1] = UNKNOWN;
    errors[2] = ILLEGAL_ADDRESS;
    return 3;
}

/* Calls that find devices are made once more when they fail; failing twice, they leave something
 * unknown, which the next use asks for again. */
static bool is_asked_again(const char *function) {
    static const char *const functions[] = {"cudaRuntimeGetVersion",
                                            "cudaDriverGetVersion",
                                            "cudaGetDeviceCount",
                                            "cudaDeviceGetAttribute",
                                            "cuInit",
                                            "cuDeviceGetName",
                                            "cuDeviceGetUuid",
                                            "cuDeviceTotalMem",
                                            "nvrtcVersion"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i], function) == 0) return true;
    return false;
}

/* Calls that a library or a full memory can refuse every time; with others this would only test clean-up. */
static bool may_fail_for_good(const char *function) {
    return strncmp(function, "cublas", 6) == 0 || strncmp(function, "nvrtc", 5) == 0 ||
           strcmp(function, "cudaMalloc") == 0 || strcmp(function, "cudaHostAlloc") == 0;
}

static bool loses(const char *function, int error) {
    (void)function;
    return error == ILLEGAL_ADDRESS || error == LAUNCH_FAILURE;
}

static const char *left(const char *function) {
    if (cuda_sim_last_error()) return "an error in the runtime";
    if (cuda_sim_reports()) return cuda_sim_last_report();
    if (function && keeps_something(function)) return NULL;
    return cuda_sim_report_leaks() ? cuda_sim_last_report() : NULL;
}

static void fail(const char *function, unsigned long nth, bool onwards, int error) {
    cuda_sim_count_reports();
    cuda_sim_fail(function, nth, onwards, error);
}

int main(int argc, char **argv) {
    static const failing_driver driver = {
        TDM_CUDA,       unseen, fail,      cuda_sim_heal,  cuda_sim_failures, cuda_sim_called,
        cuda_sim_calls, left,   errors_of, is_asked_again, may_fail_for_good, loses};
    /* No kernels from the disk: each is compiled, loaded and kept in memory. */
    setenv("TANDEM_CACHE_DIR", "/dev/null/none", 1);
    return failing_main(&driver, argc, argv);
}
