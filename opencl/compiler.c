/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The abilities of a driver's compiler. Every driver gets plain OpenCL C 1.2; anything beyond it is
 * used only where it was seen to work, and this is the one place that knows. */
#include <string.h>

#include "opencl_backend.h"

bool tdmi_cl_has_extension(const char *extensions, const char *name) {
    size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)); at += length) {
        bool starts = at == extensions || at[-1] == ' ';
        bool ends = at[length] == ' ' || at[length] == '\0';
        if (starts && ends) return true;
    }
    return false;
}

#define SUB_GROUPS " -DTDM_WANTS_SUB_GROUPS=1"
#define TENSOR_CORES " -DTDM_WANTS_TENSOR_CORES=1"
enum { FIRST_TENSOR_CORES = 80 }; /* the compute capability that kernels/tensor.h is for */

/* Where a GPU's driver lists sub-groups, the lanes of a group reduce by them: Intel's come with OpenCL C 1.2,
 * Khronos's with 2.0 and, as a feature that a compiler may lack, with 3.0. They were seen to work with Intel's CPU
 * runtime taken for a GPU, and with no other driver. Whether NVIDIA's takes the assembler for tensor cores is
 * tried (lib/tensor_cores.c). */
tdmi_cl_compiler tdmi_cl_compiler_of(const tdm_device_info *info, const char *version,
                                     const char *extensions) {
    static const char *const options[2][2] = {{"", TENSOR_CORES},
                                              {SUB_GROUPS, SUB_GROUPS TENSOR_CORES}};
    tdmi_cl_compiler compiler = {.options = ""};
    if (info->type == TDM_DEVICE_CPU) return compiler;
    const bool is_2 = strncmp(version, "OpenCL 2.", 9) == 0;
    const bool known = is_2 || strncmp(version, "OpenCL 3.", 9) == 0;
    const bool intel = tdmi_cl_has_extension(extensions, "cl_intel_subgroups");
    const bool khronos = !intel && known && tdmi_cl_has_extension(extensions, "cl_khr_subgroups");
    if (khronos) compiler.standard = is_2 ? "CL2.0" : "CL3.0";
    compiler.tensor_cores = info->compute_capability >= FIRST_TENSOR_CORES;
    compiler.options = options[intel || khronos][compiler.tensor_cores];
    return compiler;
}
