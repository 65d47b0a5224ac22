/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products with a B that tdm_pack_weight has put into panels, by kernels of the cpu backend. */
#include "backend.h"

#include "host/kernels.h"

static tdm_status open_nothing(void) {
    if (tdmi_cpu_panels_product) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE, "the library was built without the cpu backend");
}

static void diagnose_nothing(void) {}

static bool supports(const tdmi_gemm *gemm) {
    return gemm->panels && tdmi_cpu_panels_product && tdmi_cpu_panel_cols(gemm->dtype) > 0;
}

static int64_t step(tdm_dtype dtype) { return tdmi_cpu_panel_cols(dtype); }

/* The activation follows while the rows are in the cache. */
static bool product(const tdmi_host_gemm *part, void *plan) {
    const int64_t size = (int64_t)tdm_dtype_size(part->dtype);
    tdmi_host_gemm rest = *part;
    (void)plan;
    while (rest.m > 0) {
        const int64_t rows = tdmi_cpu_panels_product(&rest);
        if (part->activation != TDM_ACTIVATION_NONE)
            tdmi_host_epilogue(rows, rest.n, (tdmi_host_matrix){rest.dtype, rest.c, rest.ldc}, NULL,
                               rest.activation);
        rest.a = (const char *)rest.a + rows * rest.lda * size;
        rest.c = (char *)rest.c + rows * rest.ldc * size;
        rest.m -= rows;
    }
    return true;
}

const tdmi_host_blas tdmi_host_blas_panels = {.id = TDMI_BLAS_panels,
                                              .open = open_nothing,
                                              .diagnose = diagnose_nothing,
                                              .supports = supports,
                                              .step = step,
                                              .product = product};
