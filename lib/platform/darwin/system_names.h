/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on macOS. Its own libraries are in no folder, and open by these paths even so;
 * others are where Homebrew puts them, on Apple's processors and on Intel's. */
#ifndef TDMI_SYSTEM_NAMES_H
#define TDMI_SYSTEM_NAMES_H

#include "system_posix.h"

#define TDMI_HOMEBREW(name) "/opt/homebrew/lib/" name, "/usr/local/lib/" name

#define TDMI_NAMES_OPENCL "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#define TDMI_NAMES_CLBLAST TDMI_HOMEBREW("libclblast.1.dylib")
#define TDMI_NAMES_ONEDNN TDMI_HOMEBREW("libdnnl.3.dylib")
#define TDMI_NAMES_OPENBLAS                                                                        \
    "/opt/homebrew/opt/openblas/lib/libopenblas.0.dylib",                                          \
        "/usr/local/opt/openblas/lib/libopenblas.0.dylib"
#define TDMI_NAMES_MKL "libmkl_rt.2.dylib"
#define TDMI_NAMES_BLIS TDMI_HOMEBREW("libblis.4.dylib")
#define TDMI_NAMES_CBLAS "/System/Library/Frameworks/Accelerate.framework/Accelerate"

/* CUDA has no drivers for it. */
#define TDMI_NAMES_CUDA_DRIVER "libcuda.dylib"
#define TDMI_NAMES_NVML "libnvidia-ml.dylib"
#define TDMI_NAMES_NCCL "libnccl.dylib"
#define TDMI_CUDA_VERSIONS(X)
#define TDMI_CUDA_FOLDERS
#define TDMI_NVRTC_BUILTINS "libnvrtc-builtins.%d.%d.dylib"
#define TDMI_NVIDIA_VERSION_FILE ""

#define TDMI_NAMES_COMPILER "cc", "gcc", "clang"
#define TDMI_LIBRARY_SUFFIX ".dylib"

/* The framework has its drivers in itself. */
#define TDMI_OPENCL_VENDORS ""

/* Drivers are in no registry. */
#define TDMI_OPENCL_REGISTRY ""

/* Where to get what is missing, for people. */
#define TDMI_GET_OPENCL "it is a part of macOS"
#define TDMI_GET_OPENCL_CPU "pocl of Homebrew"
#define TDMI_GET_CLBLAST "Homebrew: clblast"
#define TDMI_GET_ONEDNN "Homebrew: onednn"
#define TDMI_GET_OPENBLAS "Homebrew: openblas"
#define TDMI_GET_BLIS "Homebrew: blis"
#define TDMI_NO_COMPILER "neither cc nor gcc nor clang was found in PATH"
#define TDMI_GET_COMPILER "xcode-select --install"

/* Oclgrind's driver, and where it is if not next to its program; each folder with a comma. */
#define TDMI_OCLGRIND_LIBRARY "liboclgrind-rt-icd.dylib"
#define TDMI_OCLGRIND_FOLDERS "/usr/local/lib", "/opt/homebrew/lib",

#define TDMI_CACHE_PLACES                                                                          \
    { {"XDG_CACHE_HOME", "/tandem"}, {"HOME", "/Library/Caches/tandem"}, }

#endif
