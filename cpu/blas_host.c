/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on the cpu backend: the machine's CBLAS. */
#include "cpu.h"

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {
    (void)device;
    (void)queue;
    (void)state;
    return tdmi_cblas_open();
}

static void detach(void *state) { (void)state; }

static void *element(const tdmi_mem *mem, int64_t offset, tdm_dtype dtype) {
    return (char *)mem->handle + (size_t)offset * tdm_dtype_size(dtype);
}

static bool supports(void *state, const tdmi_gemm *gemm) {
    (void)state;
    return tdmi_cblas_takes(gemm);
}

static tdm_status run(void *state, const tdmi_gemm *gemm) {
    (void)state;
    tdmi_host_gemm host = tdmi_host_gemm_of(gemm);
    host.a = element(gemm->a, gemm->a_offset, gemm->dtype);
    host.b = element(gemm->b, gemm->b_offset, gemm->dtype);
    host.c = element(gemm->c, gemm->c_offset, gemm->dtype);
    tdmi_cblas_gemm(&host);
    return TDM_OK;
}

const tdmi_blas tdmi_cpu_blas_cblas = {
    .name = "cblas",
    .state_size = 1,
    .attach = attach,
    .detach = detach,
    .supports = supports,
    .gemm = run,
};
