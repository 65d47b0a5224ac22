/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on the cpu backend: the BLAS libraries of the host. */
#include "cpu_backend.h"

typedef struct host_state {
    const tdmi_host_blas *blas;
} host_state;

static tdm_status attach(const tdmi_host_blas *blas, void *state) {
    ((host_state *)state)->blas = blas;
    return tdmi_host_blas_open(blas);
}

static void detach(void *state) { (void)state; }

static const tdmi_library *library_of(const void *state) {
    return ((const host_state *)state)->blas->library;
}

static tdmi_blas_support supports(void *state, const tdmi_gemm *gemm) {
    return tdmi_host_job_supports(((const host_state *)state)->blas, gemm);
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

#define PROVIDER(name)                                                                             \
    static tdm_status attach_##name(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {       \
        (void)device;                                                                              \
        (void)queue;                                                                               \
        return attach(&tdmi_host_blas_##name, state);                                              \
    }                                                                                              \
    static const tdmi_blas provider_##name = {.id = TDMI_BLAS_##name,                              \
                                              .state_size = sizeof(host_state),                    \
                                              .attach = attach_##name,                             \
                                              .detach = detach,                                    \
                                              .supports = supports,                                \
                                              .gemm = run,                                         \
                                              .library = library_of};
TDMI_HOST_BLAS_LIST(PROVIDER)

#define ADDRESS(name) &provider_##name,
const tdmi_blas *const tdmi_cpu_blas[] = {TDMI_HOST_BLAS_LIST(ADDRESS) NULL};
