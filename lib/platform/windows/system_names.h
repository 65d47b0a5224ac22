/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on Windows. Drivers are in the system's folder; other libraries next to the
 * program or in TANDEM_LIBRARY_PATH, and those of CUDA also where its installer says. */
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

/* That of the toolkit that was installed last; 13 has its DLLs in the first of them. */
#define TDMI_CUDA_FOLDERS "%CUDA_PATH%\\bin\\x64", "%CUDA_PATH%\\bin"
#define TDMI_NVRTC_BUILTINS "nvrtc-builtins64_%d%d.dll"
#define TDMI_NVIDIA_VERSION_FILE ""

#define TDMI_NAMES_COMPILER "clang.exe", "gcc.exe"
#define TDMI_LIBRARY_SUFFIX ".dll"

/* GCC does not keep the stack aligned for AVX (GCC bug 54412). Clang of LLVM's installer takes no -fPIC, makes m.lib of
 * -lm, exports nothing without the attribute, and needs Visual Studio's linker and libraries. */
#define TDMI_COMPILER_OPTIONS "-static-libgcc",
#define TDMI_COMPILER_LIBRARIES
#define TDMI_COMPILER_EXPORT "__attribute__((dllexport)) "
#define TDMI_COMPILER_MAKES_TOO "kernel.lib", "kernel.exp",
#define TDMI_COMPILER_ALIGNS "clang"
#define TDMI_COMPILER_MAY_LACK true

/* Drivers are listed in the registry, which OpenCL.dll reads. */
#define TDMI_OPENCL_VENDORS ""

/* The key of the registry that lists drivers, for people. */
#define TDMI_OPENCL_REGISTRY "HKLM\\SOFTWARE\\Khronos\\OpenCL\\Vendors"

/* Where to get what is missing, for people. */
#define TDMI_GET_HERE " next to the program or in a folder of TANDEM_LIBRARY_PATH"
#define TDMI_GET_OPENCL "it comes with the driver of a graphics card"
#define TDMI_GET_OPENCL_CPU "Intel's CPU runtime for OpenCL"
#define TDMI_GET_CLBLAST "clblast.dll" TDMI_GET_HERE
#define TDMI_GET_ONEDNN "dnnl.dll" TDMI_GET_HERE
#define TDMI_GET_OPENBLAS "libopenblas.dll" TDMI_GET_HERE
#define TDMI_GET_BLIS "libblis.dll" TDMI_GET_HERE
#define TDMI_NO_COMPILER "PATH has neither a clang.exe nor a gcc.exe that makes a DLL"
#define TDMI_GET_COMPILER "LLVM's installer, or MSYS2; its folder goes into PATH"

/* Oclgrind's driver, and where it is if not next to its program; each folder with a comma. */
#define TDMI_OCLGRIND_LIBRARY "oclgrind-rt-icd.dll"
#define TDMI_OCLGRIND_FOLDERS

#define TDMI_TAKE_RIGHTS "icacls FOLDER /inheritance:r /grant:r \"%USERNAME%:(OI)(CI)F\""

#define TDMI_CACHE_PLACES                                                                          \
    { {"LOCALAPPDATA", "/Tandem/cache"}, }

#endif
