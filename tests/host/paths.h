/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files of the build that the host-side tests run or read; CMake defines the macros. */
#ifndef TEST_PATHS_H
#define TEST_PATHS_H

/* TEST_PROBE, TEST_LIBRARY, TEST_SOURCE (the repository), TEST_OBJECTS (the library's objects),
 * TEST_SCRATCH (a folder of the tests'
 * own), TEST_ICD_NONE / _POCL / _BROKEN (folders of .icd files); TEST_PROGRAM where the program
 * `tdm` is built, and TEST_ICD_SIM (a folder of drivers that misbehave) where opencl is
 * too; TEST_HAS_OPENCL and TEST_HAS_CUDA 1 or 0; where the cuda backend is built,
 * TEST_NVML_SIM (a folder of folders with stand-ins), TEST_USAGE_PROBE, TEST_CUDA_SIM (a folder of
 * stand-ins) and TEST_CUDA_MAJOR, and where NVIDIA's own NVRTC is, TEST_NVRTC, TEST_NVRTC_BUILTINS
 * and TEST_NVRTC_BUILTINS_NAME; where opencl is too, TEST_OPENCL_SIM (another folder). */

#define ICD_NONE "OCL_ICD_VENDORS=" TEST_ICD_NONE
#define ICD_POCL "OCL_ICD_VENDORS=" TEST_ICD_POCL
#define ICD_BROKEN "OCL_ICD_VENDORS=" TEST_ICD_BROKEN
#define CACHE "TANDEM_CACHE_DIR=" TEST_SCRATCH "/cache"

#endif
