/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on the cpu backend: the BLAS libraries of the host. */
#include "cpu_backend.h"

typedef struct host_state {
    const tdmi_host_blas *blas;
} host_state;

static tdm_status attach(const tdmi_host_blas *blas, void *state) {
    ((host_state *)state)->blas = blas;
    return blas->open();
}

static void detach(void *state) { (void)state; }

static void *element(const tdmi_mem *mem, int64_t offset, tdm_dtype dtype) {
    return (char *)mem->handle + (size_t)offset * tdm_dtype_size(dtype);
}

static bool supports(void *state, const tdmi_gemm *gemm) {
    return ((const host_state *)state)->blas->supports(gemm);
}

static tdm_status run(void *state, const tdmi_gemm *gemm) {
    tdmi_host_gemm host = tdmi_host_gemm_of(gemm);
    host.a = element(gemm->a, gemm->a_offset, gemm->dtype);
    host.b = element(gemm->b, gemm->b_offset, gemm->dtype);
    host.c = element(gemm->c, gemm->c_offset, gemm->dtype);
    ((const host_state *)state)->blas->gemm(&host);
    return TDM_OK;
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
                                              .gemm = run};
TDMI_HOST_BLAS_LIST(PROVIDER)

#define ADDRESS(name) &provider_##name,
const tdmi_blas *const tdmi_cpu_blas[] = {TDMI_HOST_BLAS_LIST(ADDRESS) NULL};
