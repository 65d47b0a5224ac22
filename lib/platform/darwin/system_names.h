/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on macOS. Its own libraries are in no folder, and open by these paths even so;
 * others are where Homebrew puts them, on Apple's processors and on Intel's. */
#ifndef TDMI_SYSTEM_NAMES_H
#define TDMI_SYSTEM_NAMES_H

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

#define TDMI_CACHE_PLACES                                                                          \
    { {"XDG_CACHE_HOME", "/tandem"}, {"HOME", "/Library/Caches/tandem"}, }

#endif
