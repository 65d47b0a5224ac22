/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of the CUDA toolkit that the cuda backend calls, as tables of pointers filled in at
 * run time. The pointers' types come from the toolkit's headers, so a wrong call does not compile;
 * nothing of the toolkit is linked.
 *
 * The driver's functions are not loaded from libcuda: libcudart hands them out
 * (cudaGetDriverEntryPointByVersion). They are the few that the runtime API lacks: see device.c. */
#ifndef TDMI_CUDA_API_H
#define TDMI_CUDA_API_H

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <tandem/status.h>

#if CUDART_VERSION < 12080
#error "the cuda backend needs the headers of CUDA 12.8 or newer (cudaLibraryLoadData)"
#endif

#define TDMI_CUDART_LIST(X)                                                                        \
    X(cudaRuntimeGetVersion)                                                                       \
    X(cudaDriverGetVersion)                                                                        \
    X(cudaGetErrorName)                                                                            \
    X(cudaGetErrorString)                                                                          \
    X(cudaGetLastError)                                                                            \
    X(cudaGetDriverEntryPointByVersion)                                                            \
    X(cudaGetDeviceCount)                                                                          \
    X(cudaGetDeviceProperties)                                                                     \
    X(cudaInitDevice)                                                                              \
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
    X(cudaEventElapsedTime)                                                                        \
    X(cudaLibraryLoadData)                                                                         \
    X(cudaLibraryUnload)                                                                           \
    X(cudaLibraryGetKernel)                                                                        \
    X(cudaFuncGetAttributes)                                                                       \
    X(cudaFuncGetParamInfo)                                                                        \
    X(cudaLaunchKernel)

/* X(function, name without the ABI suffix that the headers add) */
#define TDMI_CUDRV_LIST(X)                                                                         \
    X(cuDeviceGet, "cuDeviceGet")                                                                  \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                                        \
    X(cuCtxGetCurrent, "cuCtxGetCurrent")                                                          \
    X(cuCtxSetCurrent, "cuCtxSetCurrent")                                                          \
    X(cuCtxPushCurrent, "cuCtxPushCurrent")                                                        \
    X(cuCtxPopCurrent, "cuCtxPopCurrent")                                                          \
    X(cuMemsetD16Async, "cuMemsetD16Async")                                                        \
    X(cuMemsetD32Async, "cuMemsetD32Async")                                                        \
    X(cuMemsetD2D32Async, "cuMemsetD2D32Async")

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

#define TDMI_CUBLASLT_LIST(X)                                                                      \
    X(cublasLtCreate)                                                                              \
    X(cublasLtDestroy)                                                                             \
    X(cublasLtGetVersion)                                                                          \
    X(cublasLtMatmul)                                                                              \
    X(cublasLtMatmulAlgoGetHeuristic)                                                              \
    X(cublasLtMatmulDescCreate)                                                                    \
    X(cublasLtMatmulDescDestroy)                                                                   \
    X(cublasLtMatmulDescSetAttribute)                                                              \
    X(cublasLtMatrixLayoutCreate)                                                                  \
    X(cublasLtMatrixLayoutDestroy)                                                                 \
    X(cublasLtMatrixLayoutSetAttribute)                                                            \
    X(cublasLtMatmulPreferenceCreate)                                                              \
    X(cublasLtMatmulPreferenceDestroy)                                                             \
    X(cublasLtMatmulPreferenceSetAttribute)

#define TDMI_CUBLAS_LIST(X)                                                                        \
    X(cublasCreate)                                                                                \
    X(cublasDestroy)                                                                               \
    X(cublasSetStream)                                                                             \
    X(cublasSetWorkspace)                                                                          \
    X(cublasSetMathMode)                                                                           \
    X(cublasGemmStridedBatchedEx_64)

/* Some of these names are macros for a versioned name; a field expands to it as its uses do. */
#define TDMI_CUDA_FIELD(name) __typeof__(&name) name;
#define TDMI_CUDRV_FIELD(name, text) __typeof__(&name) name;

typedef struct tdmi_cudart_api {
    TDMI_CUDART_LIST(TDMI_CUDA_FIELD)
} tdmi_cudart_api;

typedef struct tdmi_cudrv_api {
    TDMI_CUDRV_LIST(TDMI_CUDRV_FIELD)
} tdmi_cudrv_api;

typedef struct tdmi_nvrtc_api {
    TDMI_NVRTC_LIST(TDMI_CUDA_FIELD)
} tdmi_nvrtc_api;

typedef struct tdmi_cublaslt_api {
    TDMI_CUBLASLT_LIST(TDMI_CUDA_FIELD)
} tdmi_cublaslt_api;

typedef struct tdmi_cublas_api {
    TDMI_CUBLAS_LIST(TDMI_CUDA_FIELD)
} tdmi_cublas_api;

/* Usable after the matching open function succeeded; constant from then on. */
extern tdmi_cudart_api tdmi_cudart;
extern tdmi_cudrv_api tdmi_cudrv;
extern tdmi_nvrtc_api tdmi_nvrtc;
extern tdmi_cublaslt_api tdmi_cublaslt;
extern tdmi_cublas_api tdmi_cublas;

/* Each opens its library at the first call and remembers the outcome. TDM_ERROR_UNAVAILABLE when it
 * is missing, lacks a function, or is of another major version than the headers. Any thread. */
tdm_status tdmi_cudart_open(void) TDM_MUST_USE;
tdm_status tdmi_nvrtc_open(void) TDM_MUST_USE;

/* Of NVRTC, once tdmi_nvrtc_open resolved it; zeros when it does not tell. */
void tdmi_nvrtc_version(int *major, int *minor);
tdm_status tdmi_cublaslt_open(void) TDM_MUST_USE;
tdm_status tdmi_cublas_open(void) TDM_MUST_USE;

/* NVRTC looks for its library of builtins where the system looks, and not beside itself. One that
 * is beside it is opened by this, and the loader then gives NVRTC what is open already. After
 * tdmi_nvrtc_open succeeded; any thread. */
void tdmi_nvrtc_open_builtins(void);

/* Asks libcudart for the driver's functions; needs a driver. Makes no context. Any thread. */
tdm_status tdmi_cudrv_open(void) TDM_MUST_USE;

/* Adds one diagnostic item for each of the four libraries, opening them. */
void tdmi_cuda_diagnose_libraries(void);

#endif
