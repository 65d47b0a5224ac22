/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of CUDA that the cuda backend calls, as tables of pointers filled in at run time. The
 * pointers' types come from declarations.h, so a wrong call does not compile; nothing is linked.
 *
 * The driver's functions are those that the runtime API lacks (contexts, see device.c), and those for
 * modules and kernels, because the runtime has its own only since CUDA 12.8. */
#ifndef TDMI_CUDA_API_H
#define TDMI_CUDA_API_H

#include "declarations.h"
#include "system_names.h"

#include <tandem/status.h>

#define TDMI_CUDART_LIST(X)                                                                        \
    X(cudaRuntimeGetVersion)                                                                       \
    X(cudaDriverGetVersion)                                                                        \
    X(cudaGetErrorName)                                                                            \
    X(cudaGetErrorString)                                                                          \
    X(cudaGetLastError)                                                                            \
    X(cudaGetDeviceCount)                                                                          \
    X(cudaGetDevice)                                                                               \
    X(cudaDeviceGetAttribute)                                                                      \
    X(cudaDeviceCanAccessPeer)                                                                     \
    X(cudaDeviceEnablePeerAccess)                                                                  \
    X(cudaMemGetInfo)                                                                              \
    X(cudaMalloc)                                                                                  \
    X(cudaFree)                                                                                    \
    X(cudaHostAlloc)                                                                               \
    X(cudaFreeHost)                                                                                \
    X(cudaMemcpyAsync)                                                                             \
    X(cudaMemcpyPeerAsync)                                                                         \
    X(cudaMemsetAsync)                                                                             \
    X(cudaStreamCreateWithFlags)                                                                   \
    X(cudaStreamDestroy)                                                                           \
    X(cudaStreamSynchronize)                                                                       \
    X(cudaStreamQuery)                                                                             \
    X(cudaStreamWaitEvent)                                                                         \
    X(cudaEventCreateWithFlags)                                                                    \
    X(cudaEventDestroy)                                                                            \
    X(cudaEventRecord)                                                                             \
    X(cudaEventSynchronize)                                                                        \
    X(cudaEventQuery)                                                                              \
    X(cudaEventElapsedTime)

#define TDMI_CUDRV_LIST(X)                                                                         \
    X(cuInit)                                                                                      \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceTotalMem_v2)                                                                         \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxPushCurrent_v2)                                                                         \
    X(cuCtxPopCurrent_v2)                                                                          \
    X(cuPointerGetAttribute)                                                                       \
    X(cuStreamGetCtx)                                                                              \
    X(cuMemsetD16Async)                                                                            \
    X(cuMemsetD32Async)                                                                            \
    X(cuMemsetD2D32Async)                                                                          \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncGetAttribute)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuThreadExchangeStreamCaptureMode)                                                           \
    X(cuStreamBeginCapture_v2)                                                                     \
    X(cuStreamEndCapture)                                                                          \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphExecDestroy)                                                                          \
    X(cuGraphDestroy)

/* NULL where the driver is older: of CUDA 11.4, and of 12.0 and 12.4. */
#define TDMI_CUDRV_NEWER_LIST(X)                                                                   \
    X(cuDeviceGetUuid_v2)                                                                          \
    X(cuGraphInstantiateWithFlags)                                                                 \
    X(cuGraphExecUpdate_v2)                                                                        \
    X(cuFuncGetParamInfo)

#define TDMI_NVRTC_LIST(X)                                                                         \
    X(nvrtcVersion)                                                                                \
    X(nvrtcGetErrorString)                                                                         \
    X(nvrtcGetNumSupportedArchs)                                                                   \
    X(nvrtcGetSupportedArchs)                                                                      \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcDestroyProgram)                                                                         \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetProgramLogSize)                                                                      \
    X(nvrtcGetProgramLog)                                                                          \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcGetPTXSize)                                                                             \
    X(nvrtcGetPTX)

#define TDMI_CUBLAS_LIST(X)                                                                        \
    X(cublasCreate_v2)                                                                             \
    X(cublasSetStream_v2)                                                                          \
    X(cublasSetWorkspace_v2)                                                                       \
    X(cublasSetMathMode)                                                                           \
    X(cublasGemmStridedBatchedEx)

/* NULL in CUDA 11. */
#define TDMI_CUBLAS_NEWER_LIST(X) X(cublasGemmStridedBatchedEx_64)

#define TDMI_CUDA_FIELD(name) __typeof__(&name) name;

typedef struct tdmi_cudart_api {
    TDMI_CUDART_LIST(TDMI_CUDA_FIELD)
} tdmi_cudart_api;

typedef struct tdmi_cudrv_api {
    TDMI_CUDRV_LIST(TDMI_CUDA_FIELD)
    TDMI_CUDRV_NEWER_LIST(TDMI_CUDA_FIELD)
} tdmi_cudrv_api;

typedef struct tdmi_nvrtc_api {
    TDMI_NVRTC_LIST(TDMI_CUDA_FIELD)
} tdmi_nvrtc_api;

typedef struct tdmi_cublaslt_api {
    TDMI_CUBLASLT_LIST(TDMI_CUDA_FIELD)
} tdmi_cublaslt_api;

typedef struct tdmi_cublas_api {
    TDMI_CUBLAS_LIST(TDMI_CUDA_FIELD)
    TDMI_CUBLAS_NEWER_LIST(TDMI_CUDA_FIELD)
} tdmi_cublas_api;

/* Usable after the matching open function succeeded; constant from then on. */
extern tdmi_cudart_api tdmi_cudart;
extern tdmi_cudrv_api tdmi_cudrv;
extern tdmi_nvrtc_api tdmi_nvrtc;
extern tdmi_cublaslt_api tdmi_cublaslt;
extern tdmi_cublas_api tdmi_cublas;

/* Each opens its library at the first call and remembers the outcome. TDM_ERROR_UNAVAILABLE when it
 * is missing, lacks a function, or is of another major version than the runtime; the runtime is the
 * first that is found of those in TDMI_CUDA_VERSIONS. Any thread. */
tdm_status tdmi_cudart_open(void) TDM_MUST_USE;
tdm_status tdmi_nvrtc_open(void) TDM_MUST_USE;

/* Of NVRTC, once tdmi_nvrtc_open resolved it; zeros when it does not tell. */
void tdmi_nvrtc_version(int *major, int *minor);
tdm_status tdmi_cublaslt_open(void) TDM_MUST_USE;
const struct tdmi_library *tdmi_cublaslt_library(void);
tdm_status tdmi_cublas_open(void) TDM_MUST_USE;

/* NVRTC looks for its library of builtins where the system looks, and not next to itself. One that
 * is next to it is opened by this, and the loader then gives NVRTC what is open already. After
 * tdmi_nvrtc_open succeeded; any thread. */
void tdmi_nvrtc_open_builtins(void);

/* Opens the driver's library, which must be there, and initialises it. After tdmi_cudart_open
 * succeeded. Makes no context. Any thread. */
tdm_status tdmi_cudrv_open(void) TDM_MUST_USE;

/* Adds one diagnostic item for each library, opening them. */
void tdmi_cuda_diagnose_libraries(void);

#endif
