/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend as the core sees it. */
#include "cpu_backend.h"

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    (void)device;
    return tdmi_cpu_blas;
}

const tdmi_backend tdmi_backend_cpu = {
    .name = "cpu",
    .id = TDM_CPU,
    TDMI_BACKEND_SIZES,
    TDMI_BACKEND_TABLE(TDMI_BACKEND_NAME, tdmi_cpu) TDMI_CPU_TABLE(TDMI_BACKEND_NAME, tdmi_cpu)
        .host_alloc = tdmi_cpu_mem_alloc,
    .host_free = tdmi_cpu_mem_free,
    .queue_flush = tdmi_cpu_queue_nothing,
    .queue_finish = tdmi_cpu_queue_nothing,
    .queue_drain = tdmi_cpu_queue_nothing,
    .adopts_addresses = true,
    .blas = blas,
};
