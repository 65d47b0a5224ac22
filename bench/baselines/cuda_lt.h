/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by cuBLASLt, called as it is: every algorithm that its heuristic names. */
#ifndef BENCH_CUDA_LT_H
#define BENCH_CUDA_LT_H

#include <stdbool.h>
#include <stddef.h>

#include "../../cuda/declarations.h"

enum { BENCH_LT_WORKSPACE = 32 << 20, BENCH_LT_ALGORITHMS = 8 };

/* A row-major product of contiguous matrices, C = A B or A Bᵀ. */
typedef struct bench_lt_product {
    cudaDataType_t type;
    cublasComputeType_t compute;
    int m, n, k, batch;
    bool transpose_b;
} bench_lt_product;

/* Zero-initialised: nothing to end. */
typedef struct bench_lt {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout[3]; /* of B, A and C, as the library sees them */
    cublasLtMatmulAlgo_t algorithm[BENCH_LT_ALGORITHMS];
    int count;
} bench_lt;

/* Resolves the functions of a library that is open; false, and why, when it lacks any of it. */
bool bench_lt_load(void *library, char *why);

/* False where there is no algorithm; to be ended in any case. */
bool bench_lt_begin(bench_lt *lt, const bench_lt_product *product);
void bench_lt_end(bench_lt *lt);

/* Queues one product by one of the algorithms; factors as cublasGemmEx takes them. */
bool bench_lt_multiply(const bench_lt *lt, int algorithm, const void *one, const void *zero,
                       const void *a, const void *b, void *c, void *workspace, cudaStream_t stream);

#endif
