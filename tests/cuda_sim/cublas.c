/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for cuBLAS: as much of it as the cuda backend calls where cuBLASLt has no algorithm.
 */
#include "blas.h"

struct cublasContext {
    sim_object object;
    CUcontext owner;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_size;
    bool had_workspace;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    BLAS_FAULT("cublasCreate");
    if (sim_check_captures("cublasCreate")) return CUBLAS_STATUS_NOT_INITIALIZED;
    int error = 0;
    CUcontext context = sim_context(&error);
    if (!context) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = sim_create(CUDA_SIM_CUBLAS_HANDLE, sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    (*handle)->owner = context;
    return CUBLAS_STATUS_SUCCESS;
}

/* How every function on a handle begins. */
static cublasStatus_t enter(cublasHandle_t handle, const char *function) {
    BLAS_FAULT(function);
    if (!sim_check(handle, CUDA_SIM_CUBLAS_HANDLE, function)) return CUBLAS_STATUS_NOT_INITIALIZED;
    return blas_check_context(handle->owner, function);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    BLAS_TRY(enter(handle, "cublasDestroy"));
    sim_device_wait(handle->owner, "cublasDestroy");
    sim_end(handle);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check_stream(cublasHandle_t handle, cudaStream_t stream,
                                   const char *function) {
    BLAS_TRY(blas_status(sim_stream_check(stream, function)));
    const sim_device *device = sim_stream_device(stream);
    if (device == handle->owner->device) return CUBLAS_STATUS_SUCCESS;
    return BLAS_DEFECT("%s: a stream of device %d, but a handle of device %d", function,
                       device->number, handle->owner->device->number);
}

/* Setting a stream puts the library's own workspace in place of one that was set. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    static const char function[] = "cublasSetStream";
    BLAS_TRY(enter(handle, function));
    BLAS_TRY(check_stream(handle, stream, function));
    handle->stream = stream;
    handle->workspace = NULL;
    handle->workspace_size = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
    static const char function[] = "cublasSetWorkspace";
    BLAS_TRY(enter(handle, function));
    if (!workspace || !size || !blas_is_aligned(workspace, BLAS_WORKSPACE_ALIGNMENT))
        return BLAS_DEFECT("%s: %zu bytes at %p; it has to be aligned to %d bytes", function, size,
                           workspace, BLAS_WORKSPACE_ALIGNMENT);
    if (!sim_find(handle->owner->device, workspace, size, function))
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_size = size;
    handle->had_workspace = true;
    return CUBLAS_STATUS_SUCCESS;
}

/* Nothing here is less exact than the default, so a mode changes nothing. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    static const char function[] = "cublasSetMathMode";
    BLAS_TRY(enter(handle, function));
    int base = (int)mode & ~(int)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (base == CUBLAS_DEFAULT_MATH) return CUBLAS_STATUS_SUCCESS;
    return BLAS_DEFECT("%s: mode %d is not simulated", function, (int)mode);
}

/* A product with the program's addresses: the sizes, and that the matrices of C are apart. */
static cublasStatus_t check_product(const sim_gemm *g, const char *function) {
    if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0 || g->batch > BLAS_MAX_BATCH)
        return BLAS_DEFECT("%s: %lld products of %lldx%lldx%lld", function, (long long)g->batch,
                           (long long)g->m, (long long)g->n, (long long)g->k);
    BLAS_TRY(blas_check_matrix("A", g->transpose_a ? g->k : g->m, g->lda, g->a_stride, function));
    BLAS_TRY(blas_check_matrix("B", g->transpose_b ? g->n : g->k, g->ldb, g->b_stride, function));
    BLAS_TRY(blas_check_matrix("C", g->m, g->ldd, g->d_stride, function));
    if (g->batch > 1 && !g->d_stride)
        return BLAS_DEFECT("%s: %lld products into one matrix", function, (long long)g->batch);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t multiply(const char *function, cublasHandle_t handle,
                               cublasOperation_t transpose_a, cublasOperation_t transpose_b,
                               int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                               cudaDataType a_type, int64_t lda, long long a_stride, const void *b,
                               cudaDataType b_type, int64_t ldb, long long b_stride,
                               const void *beta, void *c, cudaDataType c_type, int64_t ldc,
                               long long c_stride, int64_t batch, cublasComputeType_t compute,
                               cublasGemmAlgo_t algorithm) {
    BLAS_TRY(enter(handle, function));
    if ((transpose_a != CUBLAS_OP_N && transpose_a != CUBLAS_OP_T) ||
        (transpose_b != CUBLAS_OP_N && transpose_b != CUBLAS_OP_T) ||
        algorithm != CUBLAS_GEMM_DEFAULT || a_type != c_type || b_type != c_type)
        return BLAS_DEFECT("%s: transposes %d and %d, types %d, %d and %d, algorithm %d: not "
                           "simulated",
                           function, (int)transpose_a, (int)transpose_b, (int)a_type, (int)b_type,
                           (int)c_type, (int)algorithm);
    BLAS_TRY(blas_check_types(c_type, compute, function));
    if (handle->had_workspace && !handle->workspace)
        return BLAS_DEFECT("%s: the workspace that was set is lost with the stream", function);
    blas_product product = {.gemm = {.type = c_type,
                                     .transpose_a = transpose_a == CUBLAS_OP_T,
                                     .transpose_b = transpose_b == CUBLAS_OP_T,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .batch = batch,
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldd = ldc,
                                     .a_stride = a_stride,
                                     .b_stride = b_stride,
                                     .d_stride = c_stride,
                                     .a = a,
                                     .b = b,
                                     .d = c},
                            .workspace = handle->workspace,
                            .workspace_size = handle->workspace_size};
    BLAS_TRY(check_product(&product.gemm, function));
    BLAS_TRY(blas_read_factor(c_type, alpha, "alpha", function, &product.gemm.alpha));
    BLAS_TRY(blas_read_factor(c_type, beta, "beta", function, &product.gemm.beta));
    BLAS_TRY(check_stream(handle, handle->stream, function));
    if (c_type == CUDA_R_16BF && handle->owner->device->capability < 80)
        return CUBLAS_STATUS_ARCH_MISMATCH;
    if (!m || !n || !batch) return CUBLAS_STATUS_SUCCESS;
    return blas_enqueue(handle->stream, product, function);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                            cublasOperation_t transpose_b, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType a_type, int lda, const void *b,
                            cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm) {
    return multiply("cublasGemmEx", handle, transpose_a, transpose_b, m, n, k, alpha, a, a_type,
                    lda, 0, b, b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute, algorithm);
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    BLAS_FAULT("cublasGetProperty");
    *value = type == MAJOR_VERSION ? SIM_VERSION / 1000 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType a_type,
                                          int lda, long long a_stride, const void *b,
                                          cudaDataType b_type, int ldb, long long b_stride,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    return multiply("cublasGemmStridedBatchedEx", handle, transpose_a, transpose_b, m, n, k, alpha,
                    a, a_type, lda, a_stride, b, b_type, ldb, b_stride, beta, c, c_type, ldc,
                    c_stride, batch, compute, algorithm);
}

#if SIM_VERSION >= 12000
cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m,
    int64_t n, int64_t k, const void *alpha, const void *a, cudaDataType a_type, int64_t lda,
    long long a_stride, const void *b, cudaDataType b_type, int64_t ldb, long long b_stride,
    const void *beta, void *c, cudaDataType c_type, int64_t ldc, long long c_stride, int64_t batch,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    return multiply("cublasGemmStridedBatchedEx_64", handle, transpose_a, transpose_b, m, n, k,
                    alpha, a, a_type, lda, a_stride, b, b_type, ldb, b_stride, beta, c, c_type, ldc,
                    c_stride, batch, compute, algorithm);
}
#endif
