/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a driver's compiler can take. Every driver gets plain OpenCL C 1.2; anything beyond it is
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

/* Where a GPU's driver lists sub-groups, the lanes of a group reduce by them: Intel's come with OpenCL C 1.2,
 * Khronos's with 2.0 and, as a feature that a compiler may lack, with 3.0. They were seen to work with Intel's CPU
 * runtime taken for a GPU, and with no other driver. */
tdmi_cl_compiler tdmi_cl_compiler_of(const tdm_device_info *info, const char *version,
                                     const char *extensions) {
    const tdmi_cl_compiler plain = {.options = ""};
    tdmi_cl_compiler sub_groups = {.options = " -DTDM_WANTS_SUB_GROUPS=1"};
    if (info->type == TDM_DEVICE_CPU) return plain;
    if (tdmi_cl_has_extension(extensions, "cl_intel_subgroups")) return sub_groups;
    const bool is_2 = strncmp(version, "OpenCL 2.", 9) == 0;
    sub_groups.standard = is_2 ? "CL2.0" : "CL3.0";
    const bool known = is_2 || strncmp(version, "OpenCL 3.", 9) == 0;
    return known && tdmi_cl_has_extension(extensions, "cl_khr_subgroups") ? sub_groups : plain;
}
