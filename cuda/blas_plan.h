/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How a product is described to cuBLASLt: the types, the epilogue, and the plan (descriptors and the
 * algorithm) that is kept per shape in the state of a queue. */
#ifndef TDMI_CUDA_BLAS_PLAN_H
#define TDMI_CUDA_BLAS_PLAN_H

#include "cuda_backend.h"

enum {
    TDMI_LT_PLANS = 256,
    TDMI_CUBLAS_WORKSPACE_BYTES = 32 << 20,
    TDMI_CUBLAS_MAX_BATCH = 65535 /* of one call: some kernels launch a batch as a z dimension */
};

/* Everything the choice of an algorithm depends on. Compared by bytes: cleared before it is filled.
 */
typedef struct tdmi_lt_key {
    int64_t m, n, k, lda, ldb, ldc, a_stride, b_stride, c_stride;
    int32_t batch;
    int32_t epilogue;
    uint16_t a_alignment, b_alignment, c_alignment, bias_alignment; /* bytes */
    uint8_t dtype, transpose_a, transpose_b, tf32;
    uint8_t algorithm;   /* which of the heuristic's */
    uint8_t reserved[3]; /* no padding: the bytes are compared */
} tdmi_lt_key;

typedef struct tdmi_lt_plan {
    tdmi_lt_key key;
    bool used;
    bool usable; /* false: cuBLASLt has no algorithm, which is remembered too */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
    const void *bias; /* that the operation was last pointed at by a run */
    int algorithms;   /* how many the heuristic has for this product */
} tdmi_lt_plan;

/* Of a queue for as long as it lives, and of later ones. */
typedef struct tdmi_cublas_handles {
    cublasLtHandle_t lt;
    cublasHandle_t plain; /* NULL until needed */
    struct tdmi_cublas_handles *next;
} tdmi_cublas_handles;

typedef struct tdmi_cublas_state {
    tdmi_bdevice *device;
    tdmi_bqueue *queue;
    tdmi_cublas_handles *handles;
    bool plain_ready, plain_refused;
    cudaStream_t plain_stream; /* that the plain handle works in */
    void *workspace;
    uint32_t next_victim;
    tdmi_lt_plan *recent; /* the plan that was found last: most often the next one, too */
    tdmi_lt_plan plans[TDMI_LT_PLANS];
} tdmi_cublas_state;

/* Types of cuBLAS for a float dtype, and for its arithmetic. */
cudaDataType_t tdmi_cublas_data_type(tdm_dtype dtype);
cublasComputeType_t tdmi_cublas_compute_type(const tdmi_gemm *gemm);

/* The cuBLASLt epilogue that does the product's bias and activation, or -1 when there is none. */
int tdmi_cublas_epilogue(const tdmi_gemm *gemm);

/* Where an operand starts on the device; the offset is in elements. */
char *tdmi_cublas_address(const tdmi_mem *mem, int64_t offset, tdm_dtype dtype);

/* Whether cuBLASLt, and the cuBLAS of CUDA 11, can take sizes that are ints. */
bool tdmi_cublas_fits_32(const tdmi_gemm *gemm);

/* Points an operation at the product's bias. */
cublasStatus_t tdmi_lt_set_bias(cublasLtMatmulDesc_t operation, const tdmi_gemm *gemm);

/* The plan of a product whose leading dimensions cuBLAS accepts, made at the first request and
 * owned by the state; NULL when cuBLASLt cannot run it. The device's context is current. */
tdmi_lt_plan *tdmi_lt_find_plan(tdmi_cublas_state *state, const tdmi_gemm *gemm);

/* Frees a plan's descriptors and clears it; a cleared one is allowed. */
void tdmi_lt_drop_plan(tdmi_lt_plan *plan);

#endif
