/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on Windows. Drivers are in the system's folder; other libraries next to the
 * program or in TANDEM_LIBRARY_PATH. */
#ifndef TDMI_SYSTEM_NAMES_H
#define TDMI_SYSTEM_NAMES_H

#define TDMI_NAMES_OPENCL "OpenCL.dll"
#define TDMI_NAMES_CLBLAST "clblast.dll"
#define TDMI_NAMES_ONEDNN "dnnl.dll"
#define TDMI_NAMES_OPENBLAS "libopenblas.dll", "openblas.dll"
#define TDMI_NAMES_MKL "mkl_rt.2.dll", "mkl_rt.dll"
#define TDMI_NAMES_BLIS "AOCL-LibBlis-Win-MT-dll.dll", "libblis.dll"
#define TDMI_NAMES_CBLAS "libcblas.dll", "cblas.dll"
#define TDMI_NAMES_CUDA_DRIVER "nvcuda.dll"
#define TDMI_NAMES_NVML "nvml.dll"
#define TDMI_NAMES_NCCL "nccl.dll"

#define TDMI_CUDA_VERSIONS(X)                                                                      \
    X(13, "cudart64_13.dll", "nvrtc64_130_0.dll", "cublasLt64_13.dll", "cublas64_13.dll")          \
    X(12, "cudart64_12.dll", "nvrtc64_120_0.dll", "cublasLt64_12.dll", "cublas64_12.dll")          \
    X(11, "cudart64_110.dll", "nvrtc64_112_0.dll", "cublasLt64_11.dll", "cublas64_11.dll")
#define TDMI_CUDA_FOLDERS
#define TDMI_NVRTC_BUILTINS "nvrtc-builtins64_%d%d.dll"
#define TDMI_NVIDIA_VERSION_FILE ""

#define TDMI_NAMES_COMPILER "clang.exe", "gcc.exe"
#define TDMI_LIBRARY_SUFFIX ".dll"

/* Drivers are listed in the registry, which OpenCL.dll reads. */
#define TDMI_OPENCL_VENDORS ""

#define TDMI_CACHE_PLACES                                                                          \
    { {"LOCALAPPDATA", "/Tandem/cache"}, }

#endif
