/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The handles and descriptors of the stand-in for cuBLASLt: made in cublaslt.c, used in
 * cublaslt_matmul.c. */
#ifndef CUDA_SIM_CUBLASLT_H
#define CUDA_SIM_CUBLASLT_H

#include "blas.h"

enum { CUBLASLT_LARGEST_ALIGNMENT = 256 }; /* bytes; a preference's default */

struct cublasLtContext {
    sim_object object;
    CUcontext owner;
};

typedef struct operation {
    sim_object object;
    cublasComputeType_t compute;
    cudaDataType scale;
    int32_t transpose_a, transpose_b; /* cublasOperation_t */
    uint32_t epilogue;
    const void *bias;
} operation;

typedef struct layout {
    sim_object object;
    cudaDataType type;
    uint64_t rows, cols;
    int64_t leading, stride;
    int32_t batch;
} layout;

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_D, OPERANDS };

typedef struct preference {
    sim_object object;
    uint64_t workspace;
    uint32_t reduction;
    uint32_t alignment[OPERANDS]; /* bytes */
} preference;

#endif
