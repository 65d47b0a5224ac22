/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on the cpu backend: the BLAS libraries of the host. */
#include "cpu_backend.h"

typedef struct host_state {
    const tdmi_host_blas *blas;
} host_state;

static tdm_status attach(const tdmi_host_blas *blas, tdmi_bdevice *device, tdmi_bqueue *queue,
                         void *state) {
    (void)device;
    (void)queue;
    ((host_state *)state)->blas = blas;
    return tdmi_host_blas_open(blas);
}

static void *memory_of(const tdmi_mem *mem) { return mem ? mem->handle : NULL; }

static tdm_status run(void *state, const tdmi_gemm *gemm) {
    const tdmi_host_operands operands = {memory_of(gemm->a), memory_of(gemm->b),
                                         memory_of(gemm->bias), memory_of(gemm->c)};
    tdmi_host_job job;
    TDMI_TRY(tdmi_host_job_init(&job, ((const host_state *)state)->blas, gemm, &operands));
    const tdm_status status = tdmi_host_job_run(&job);
    return status == TDM_OK ? TDM_OK : tdmi_fail(status, "out of host memory for a product");
}

TDMI_HOST_BLAS_LIST(TDMI_HOST_PROVIDER)

#define ADDRESS(name) &provider_##name,
const tdmi_blas *const tdmi_cpu_blas[] = {TDMI_HOST_BLAS_LIST(ADDRESS) NULL};
