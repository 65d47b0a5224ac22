/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend as the core sees it. */
#include "opencl_backend.h"

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    static const tdmi_blas *const others[] = {&tdmi_cl_blas_clblast, NULL};
    return tdmi_cl_is_native(device) ? tdmi_cl_blas_of_cpu : others;
}

const tdmi_backend tdmi_backend_opencl = {
    .name = "opencl",
    .id = TDM_OPENCL,
    TDMI_BACKEND_SIZES,
    TDMI_BACKEND_TABLE(TDMI_BACKEND_NAME, tdmi_cl) TDMI_CL_TABLE(TDMI_BACKEND_NAME, tdmi_cl)
        .mem_disown = tdmi_cl_mem_free,
    .blas = blas,
};
