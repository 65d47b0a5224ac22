/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What the BLAS libraries of the host have in common. */
#include "backend.h"

tdmi_host_gemm tdmi_host_gemm_of(const tdmi_gemm *gemm) {
    return (tdmi_host_gemm){
        .dtype = gemm->dtype,
        .transpose_a = gemm->transpose_a,
        .transpose_b = gemm->transpose_b,
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .batch = gemm->batch,
        .alpha = gemm->alpha,
        .beta = gemm->beta,
        .lda = gemm->lda,
        .ldb = gemm->ldb,
        .ldc = gemm->ldc,
        .a_stride = gemm->a_stride,
        .b_stride = gemm->b_stride,
        .c_stride = gemm->c_stride,
    };
}

void tdmi_host_blas_diagnose(void) {
#define DIAGNOSE(name) tdmi_host_blas_##name.diagnose();
    TDMI_HOST_BLAS_LIST(DIAGNOSE)
}
