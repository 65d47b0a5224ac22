/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stand-ins for cuBLAS and cuBLASLt: from a checked request to work on a stream. */
#ifndef CUDA_SIM_BLAS_H
#define CUDA_SIM_BLAS_H

#include <string.h>

#include "sim.h"

enum {
    BLAS_WORKSPACE_ALIGNMENT = 256, /* bytes, by the manuals of both */
    BLAS_MAX_BATCH = 65535,         /* kernels that launch a batch as a z dimension take no more */
    BLAS_SCRIBBLE = 4096
};

/* Ends a check: reports the defect, and gives the status to return. */
#define BLAS_DEFECT(...) (sim_report(__VA_ARGS__), CUBLAS_STATUS_INVALID_VALUE)

/* Counts the call of an entry point, which a test may have made to fail. */
#define BLAS_FAULT(function)                                                                       \
    do {                                                                                           \
        int blas_fault = sim_fault(function);                                                      \
        if (blas_fault) return (cublasStatus_t)blas_fault;                                         \
    } while (0)

#define BLAS_TRY(expression)                                                                       \
    do {                                                                                           \
        cublasStatus_t blas_try_status = (expression);                                             \
        if (blas_try_status != CUBLAS_STATUS_SUCCESS) return blas_try_status;                      \
    } while (0)

static inline cublasStatus_t blas_status(int error) {
    if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
    return error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* A handle is for the context that was current when it was made. That this context is lost is no
 * defect; the functions that give the device work report it. */
static inline cublasStatus_t blas_check_context(CUcontext owner, const char *function) {
    int error = 0;
    CUcontext context = sim_context(&error);
    if (!context || context == owner) return CUBLAS_STATUS_SUCCESS;
    return BLAS_DEFECT("%s: the handle was made in the context of device %d, but that of device %d "
                       "is current",
                       function, owner->device->number, context->device->number);
}

/* The types that this machine computes, as the backend asks for them. */
static inline cublasStatus_t blas_check_types(cudaDataType type, cublasComputeType_t compute,
                                              const char *function) {
    bool fits = false;
    if (type == CUDA_R_64F) fits = compute == CUBLAS_COMPUTE_64F;
    if (type == CUDA_R_32F)
        fits = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (type == CUDA_R_16F || type == CUDA_R_16BF) fits = compute == CUBLAS_COMPUTE_32F;
    if (fits) return CUBLAS_STATUS_SUCCESS;
    return BLAS_DEFECT("%s: type %d with compute type %d is not simulated", function, (int)type,
                       (int)compute);
}

/* A matrix of an operand as it is stored. */
static inline cublasStatus_t blas_check_matrix(const char *name, int64_t rows, int64_t leading,
                                               int64_t stride, const char *function) {
    if (leading < rows || leading < 1)
        return BLAS_DEFECT("%s: %s has %lld rows and a leading dimension of %lld", function, name,
                           (long long)rows, (long long)leading);
    if (stride < 0)
        return BLAS_DEFECT("%s: the matrices of %s are %lld elements apart", function, name,
                           (long long)stride);
    return CUBLAS_STATUS_SUCCESS;
}

/* A factor of the type that the products are scaled in. */
static inline cublasStatus_t blas_read_factor(cudaDataType type, const void *factor,
                                              const char *name, const char *function,
                                              double *value) {
    if (!factor || sim_is_device_address(factor))
        return BLAS_DEFECT("%s: %s is %p, no host address", function, name, factor);
    if (type == CUDA_R_64F) {
        memcpy(value, factor, sizeof *value);
    } else {
        float f32;
        memcpy(&f32, factor, sizeof f32);
        *value = (double)f32;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static inline bool blas_is_aligned(const void *address, size_t alignment) {
    return (uintptr_t)address % alignment == 0;
}

/* A product as a stream runs it. */
typedef struct blas_product {
    sim_gemm gemm;
    void *workspace;
    size_t workspace_size;
} blas_product;

/* Overwrites a workspace, so that ThreadSanitizer sees two streams that share one. */
static inline void blas_run(void *payload) {
    blas_product *product = payload;
    if (product->workspace)
        memset(product->workspace, 0xa5,
               product->workspace_size < BLAS_SCRIBBLE ? product->workspace_size : BLAS_SCRIBBLE);
    sim_gemm_run(&product->gemm);
}

/* Finds the block that an operand is in and puts the address of its bytes for the device's; 0
 * elements are not looked for. */
static inline cublasStatus_t blas_translate(const sim_device *device, const char *function,
                                            size_t size, size_t alignment, const void **address,
                                            sim_block **use) {
    if (!size) return CUBLAS_STATUS_SUCCESS;
    if (!blas_is_aligned(*address, alignment))
        return BLAS_DEFECT("%s: %p is not aligned to %zu bytes", function, *address, alignment);
    *use = sim_find(device, *address, size, function);
    if (!*use) return CUBLAS_STATUS_INVALID_VALUE;
    *address = sim_bytes(*use, *address);
    return CUBLAS_STATUS_SUCCESS;
}

/* Puts a product, whose addresses are the program's, on a checked stream of the device. */
static inline cublasStatus_t blas_enqueue(cudaStream_t stream, blas_product product,
                                          const char *function) {
    const sim_device *device = sim_stream_device(stream);
    sim_gemm *g = &product.gemm;
    bool reads = g->alpha != 0 && g->k > 0;
    size_t element = sim_type_size(g->type);
    size_t a = sim_matrix_extent(g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k, g->lda,
                                 g->a_stride, g->batch);
    size_t b = sim_matrix_extent(g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n, g->ldb,
                                 g->b_stride, g->batch);
    size_t d = sim_matrix_extent(g->m, g->n, g->ldd, g->d_stride, g->batch);
    sim_work work = {.run = blas_run, .size = sizeof product, .is_kernel = true};
    const void *out = g->d, *workspace = product.workspace;
    BLAS_TRY(
        blas_translate(device, function, reads ? a * element : 0, element, &g->a, &work.uses[0]));
    BLAS_TRY(
        blas_translate(device, function, reads ? b * element : 0, element, &g->b, &work.uses[1]));
    BLAS_TRY(blas_translate(device, function, d * element, element, &out, &work.uses[2]));
    if (g->bias)
        BLAS_TRY(blas_translate(device, function, (size_t)g->m * element, element, &g->bias,
                                &work.uses[3]));
    if (workspace)
        BLAS_TRY(blas_translate(device, function, product.workspace_size, BLAS_WORKSPACE_ALIGNMENT,
                                &workspace, &work.uses[4]));
    if (work.uses[2]) g->d = sim_bytes(work.uses[2], g->d);
    if (work.uses[4]) product.workspace = sim_bytes(work.uses[4], product.workspace);
    work.payload = &product;
    return blas_status(sim_enqueue(stream, &work));
}

#endif
