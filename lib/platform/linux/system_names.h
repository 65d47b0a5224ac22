/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on Linux. Each system has this header, with all of these. */
#ifndef TDMI_SYSTEM_NAMES_H
#define TDMI_SYSTEM_NAMES_H

#include "system_posix.h"

/* Lists of names are tried in order; the libraries' own folders come after TANDEM_LIBRARY_PATH and the system's. */
#define TDMI_NAMES_OPENCL "libOpenCL.so.1"
#define TDMI_NAMES_CLBLAST "libclblast.so.1"
#define TDMI_NAMES_ONEDNN "libdnnl.so.3", "libdnnl.so.3.6", "libdnnl.so.2", "libdnnl.so"
/* Of Debian and others, Fedora's with threads and with OpenMP's, Alpine's. */
#define TDMI_NAMES_OPENBLAS                                                                        \
    "libopenblas.so.0", "libopenblasp.so.0", "libopenblaso.so.0", "libopenblas.so.3"
#define TDMI_NAMES_MKL "libmkl_rt.so.3", "libmkl_rt.so.2"
#define TDMI_NAMES_BLIS "libblis.so.4"
#define TDMI_NAMES_CBLAS "libcblas.so.3", "libblas.so.3"
#define TDMI_NAMES_CUDA_DRIVER "libcuda.so.1"
#define TDMI_NAMES_NVML "libnvidia-ml.so.1"
#define TDMI_NAMES_NCCL "libnccl.so.2"

/* The versions of CUDA whose libraries are loaded, the newest first: X(major, runtime, NVRTC,
 * cuBLASLt, cuBLAS). Libraries of two versions are never mixed. */
#define TDMI_CUDA_VERSIONS(X)                                                                      \
    X(13, "libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13")             \
    X(12, "libcudart.so.12", "libnvrtc.so.12", "libcublasLt.so.12", "libcublas.so.12")             \
    X(11, "libcudart.so.11.0", "libnvrtc.so.11.2", "libcublasLt.so.11", "libcublas.so.11")

/* Where they are looked for when neither TANDEM_LIBRARY_PATH nor the system has them. */
#define TDMI_CUDA_FOLDERS                                                                          \
    "/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64", "/usr/local/cuda-12/lib64",               \
        "/usr/local/cuda-11/lib64", "/opt/cuda/lib64"

/* Next to NVRTC, which opens it by name; of its major and minor version. */
#define TDMI_NVRTC_BUILTINS "libnvrtc-builtins.so.%d.%d"

/* The C compilers that are looked for in PATH. */
#define TDMI_NAMES_COMPILER "cc", "gcc", "clang"

/* Of what a user's kernel is compiled to. */
#define TDMI_LIBRARY_SUFFIX ".so"

/* The folder that lists OpenCL's drivers. */
#define TDMI_OPENCL_VENDORS "/etc/OpenCL/vendors"

/* A file with the version of NVIDIA's driver; "" where there is none. */
#define TDMI_NVIDIA_VERSION_FILE "/sys/module/nvidia/version"

/* Drivers are in no registry. */
#define TDMI_OPENCL_REGISTRY ""

/* Where to get what is missing, for people. */
#define TDMI_GET_OPENCL "Debian, Ubuntu: ocl-icd-libopencl1"
#define TDMI_GET_OPENCL_CPU "pocl-opencl-icd"
#define TDMI_GET_CLBLAST "Debian, Ubuntu: libclblast1"
#define TDMI_GET_ONEDNN "Debian: libdnnl-dev"
#define TDMI_GET_OPENBLAS "Debian: libopenblas0"
#define TDMI_GET_BLIS "Debian: libblis4-pthread"
#define TDMI_NO_COMPILER "neither cc nor gcc nor clang was found in PATH"
#define TDMI_GET_COMPILER "Debian: apt install gcc libc6-dev"

/* Oclgrind's driver, and where it is if not next to its program; each folder with a comma. */
#define TDMI_OCLGRIND_LIBRARY "liboclgrind-rt-icd.so"
#define TDMI_OCLGRIND_FOLDERS "/usr/lib/oclgrind", "/usr/local/lib/oclgrind", "/usr/local/lib",

/* Where the cache is: the first of these variables that is an absolute path, and what comes below it. */
#define TDMI_CACHE_PLACES                                                                          \
    { {"XDG_CACHE_HOME", "/tandem"}, {"HOME", "/.cache/tandem"}, }

#endif
