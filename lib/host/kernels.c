/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's own work on a part of a product, by kernels of the cpu backend. */
#include "host/kernels.h"

#include "kernel_list.h"

bool tdmi_host_kernels(void) { return tdmi_cpu_run; }

void tdmi_host_convert(int64_t rows, int64_t cols, tdmi_host_matrix from, tdmi_host_matrix to) {
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_CAST, .t = (uint8_t)to.dtype, .u = (uint8_t)from.dtype};
    const tdm_elementwise_args args = {
        .rows = rows,
        .inner_stride = {1, 1},
        .outer_shape = {rows},
        .outer_stride = {{to.ld}, {from.ld}},
        .cols = (tdm_u32)cols,
        .chunk = (tdm_u32)cols,
        .chunks = 1,
        .outer_ndim = 1,
        .unit_stride = 1,
    };
    void *const buffers[] = {(void *)to.data, (void *)from.data};
    (void)tdmi_cpu_run(&variant, 1, buffers, &args); /* which needs no memory */
}

void tdmi_host_epilogue(int64_t rows, int64_t cols, tdmi_host_matrix c, const void *bias,
                        tdm_activation activation) {
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_BIAS_ADD,
        .t = (uint8_t)c.dtype,
        .u = (uint8_t)c.dtype,
        .op = (uint8_t)((unsigned)activation | (bias ? TDM_OP_COLS_BIAS : 0u))};
    const tdm_bias_add_args args = {
        .rows = rows,
        .x_stride = c.ld,
        .residual_stride = c.ld,
        .y_stride = c.ld,
        .matrix = rows,
        .cols = (tdm_u32)cols,
        .chunk = (tdm_u32)cols,
        .chunks = 1,
        .bias_kind = bias ? TDM_BIAS_OF_COLS : TDM_BIAS_NONE,
    };
    void *const buffers[] = {(void *)c.data, (void *)bias, NULL, (void *)c.data};
    (void)tdmi_cpu_run(&variant, 1, buffers, &args); /* which needs no memory */
}

bool tdmi_host_product(const tdmi_host_gemm *gemm) {
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_MATMUL,
                                  .t = (uint8_t)gemm->dtype,
                                  .u = (uint8_t)gemm->dtype,
                                  .op = (uint8_t)((gemm->transpose_a ? TDM_OP_TRANSPOSE_A : 0u) |
                                                  (gemm->transpose_b ? TDM_OP_TRANSPOSE_B : 0u))};
    const tdm_matmul_args args = {
        .batch = 1,
        .lda = gemm->lda,
        .ldb = gemm->ldb,
        .ldc = gemm->ldc,
        .alpha = tdmi_scalar(gemm->alpha),
        .beta = tdmi_scalar(gemm->beta),
        .m = (tdm_u32)gemm->m,
        .n = (tdm_u32)gemm->n,
        .k = (tdm_u32)gemm->k,
        .read_c = gemm->beta != 0,
    };
    void *const buffers[] = {(void *)gemm->a, (void *)gemm->b, gemm->c};
    return tdmi_cpu_run(&variant, 1, buffers, &args);
}
