/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a driver's compiler can take. Every driver gets plain OpenCL C 1.2; anything beyond it is
 * used only with drivers on which it was seen to work, and this is the one place that knows them.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl_backend.h"

/* Told by the platform's name, the type of the device and the driver's version; the first that
 * fits. */
typedef struct driver {
    const char *platform; /* CL_PLATFORM_NAME */
    tdm_device_type type;
    const char *version;  /* what CL_DRIVER_VERSION begins with; NULL: all */
    int most;             /* the newest major version that it is meant for; 0: all */
    const char *needs[2]; /* extensions without which it counts as unknown; NULL: none */
    tdmi_cl_compiler compiler;
} driver;

static const driver drivers[] = {
    /* pocl: seen with 3.0, 3.1 and 6.0, and taken to be the same between; a newer one is unknown.
     * No kernel has inline assembly: pocl 6.0 (LLVM 19) ends the process, by SIGABRT, when it is
     * asked for the binary of
     *     __kernel void k(__global int *p) { __asm__ volatile(""); *p = 1; }
     * pocl 3.1 reads clang's opencl-c.h, 18000 lines, twice for every program, which takes four
     * times as long as the kernel: the header's guard is defined, and the dialect declares what it
     * calls. */
    {"Portable Computing Language",
     TDM_DEVICE_CPU,
     "3.1",
     0,
     {NULL, NULL},
     {.lanes = 1,
      .options = " -DTDM_CLANG_CPU=1 -D_OPENCL_H_ -DTDM_DECLARES=1",
      .streaming_stores = true}},
    {"Portable Computing Language",
     TDM_DEVICE_CPU,
     NULL,
     6,
     {NULL, NULL},
     {.lanes = 1, .options = " -DTDM_CLANG_CPU=1", .streaming_stores = true}},
    /* Intel's CPU runtime, 2026.22. It vectorises over lanes and calls a loop inside one "not
     * vectorized": one lane ran at a third of the speed. Its barriers are slow, so that a group is
     * one sub-group and has none; at one lane its compiler also crashed (vplan-vec, norm_combine)
     * on an AMD CPU. */
    {"Intel(R) OpenCL",
     TDM_DEVICE_CPU,
     NULL,
     0,
     {"cl_intel_subgroups", "cl_intel_required_subgroup_size"},
     {.lanes = 16, .options = " -DTDM_SIMD_LANES=1"}},
    {"Intel(R) OpenCL", TDM_DEVICE_CPU, NULL, 0, {NULL, NULL}, {.lanes = 16, .options = ""}},
};

bool tdmi_cl_has_extension(const char *extensions, const char *name) {
    size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)); at += length) {
        bool starts = at == extensions || at[-1] == ' ';
        bool ends = at[length] == ' ' || at[length] == '\0';
        if (starts && ends) return true;
    }
    return false;
}

/* Of a driver that is not in the list. Where a GPU's driver lists sub-groups, the lanes of a group reduce by
 * them: Intel's come with OpenCL C 1.2, Khronos's with 2.0 and, as a feature that a compiler may lack, with
 * 3.0. They were seen to work with Intel's CPU runtime taken for a GPU, and with no other driver. */
static tdmi_cl_compiler unknown_compiler(const tdm_device_info *info, const char *version,
                                         const char *extensions) {
    const tdmi_cl_compiler plain = {.lanes = 1, .options = ""};
    tdmi_cl_compiler sub_groups = {.lanes = 1, .options = " -DTDM_WANTS_SUB_GROUPS=1"};
    if (info->type == TDM_DEVICE_CPU) return plain;
    if (tdmi_cl_has_extension(extensions, "cl_intel_subgroups")) return sub_groups;
    const bool is_2 = strncmp(version, "OpenCL 2.", 9) == 0;
    sub_groups.standard = is_2 ? "CL2.0" : "CL3.0";
    const bool known = is_2 || strncmp(version, "OpenCL 3.", 9) == 0;
    return known && tdmi_cl_has_extension(extensions, "cl_khr_subgroups") ? sub_groups : plain;
}

tdmi_cl_compiler tdmi_cl_compiler_of(const tdm_device_info *info, const char *version,
                                     const char *extensions) {
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        const driver *known = &drivers[i];
        bool same = known->type == info->type && strcmp(known->platform, info->platform) == 0;
        if (known->version)
            same =
                same && strncmp(info->driver_version, known->version, strlen(known->version)) == 0;
        same = same && (known->most == 0 || atoi(info->driver_version) <= known->most);
        for (size_t k = 0; k < sizeof known->needs / sizeof known->needs[0] && same; k++)
            same = !known->needs[k] || tdmi_cl_has_extension(extensions, known->needs[k]);
        if (same) return known->compiler;
    }
    return unknown_compiler(info, version, extensions);
}
