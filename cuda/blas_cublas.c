/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt, with its epilogues, and by plain cuBLAS where cuBLASLt has no
 * algorithm or the sizes leave 32 bits. How a product is put to them: see blas_plan.c. */
#include "blas_plan.h"

#include <stdio.h>
#include <string.h>

/* A factor in the type that the products are scaled in. */
typedef union factor {
    float f32;
    double f64;
} factor;

static factor factor_of(tdm_dtype dtype, double value) {
    factor result = {.f64 = value};
    if (dtype != TDM_F64) result.f32 = (float)value;
    return result;
}

static tdm_status blas_fail(const tdmi_cublas_state *state, cublasStatus_t error, const char *call,
                            const tdmi_gemm *gemm) {
    tdm_status status = error == CUBLAS_STATUS_ALLOC_FAILED    ? TDM_ERROR_OUT_OF_MEMORY
                        : error == CUBLAS_STATUS_NOT_SUPPORTED ? TDM_ERROR_UNSUPPORTED
                        : error == CUBLAS_STATUS_ARCH_MISMATCH ? TDM_ERROR_UNSUPPORTED
                                                               : TDM_ERROR_BACKEND;
    if (status != TDM_ERROR_UNSUPPORTED) {
        /* cuBLAS has no number for a lost device; a stream does. A captured stream may not be queried, and would
         * be captured no longer. */
        cudaError_t stream = tdmi_cudart.cudaStreamQuery(state->queue->own);
        if (stream != cudaSuccess && stream != cudaErrorNotReady)
            return tdmi_cuda_fail(stream, call);
        (void)tdmi_cuda_succeeds(stream);
    }
    return tdmi_fail(status, "%s: cuBLAS status %d for %lld products of %lldx%lldx%lld %s", call,
                     (int)error, (long long)gemm->batch, (long long)gemm->m, (long long)gemm->n,
                     (long long)gemm->k, tdm_dtype_name(gemm->dtype));
}

/* The leading dimension of a matrix of one stored row means nothing, but the libraries check it. */
static bool fix_leading(int64_t rows, int64_t cols, int64_t *leading) {
    if (rows == 1 && *leading < cols) *leading = cols;
    return *leading >= cols;
}

/* A copy of the product with everything that is immaterial in a form that cuBLAS accepts; false
 * when there is none (rows that overlap). */
static bool arrange(const tdmi_gemm *gemm, tdmi_gemm *out) {
    *out = *gemm;
    if (out->batch == 1) out->a_stride = out->b_stride = out->c_stride = 0;
    bool a = out->transpose_a ? fix_leading(out->k, out->m, &out->lda)
                              : fix_leading(out->m, out->k, &out->lda);
    bool b = out->transpose_b ? fix_leading(out->n, out->k, &out->ldb)
                              : fix_leading(out->k, out->n, &out->ldb);
    return a && b && fix_leading(out->m, out->n, &out->ldc);
}

static bool is_float(tdm_dtype dtype) {
    return dtype == TDM_F32 || dtype == TDM_F64 || dtype == TDM_F16 || dtype == TDM_BF16;
}

/* Handles of a device that no queue has. To destroy one is a wait for the whole device, which no capture on it
 * survives, the program's included; so they stay until the process ends, as contexts do, and serve the next queue. */
static tdmi_mutex lock = TDMI_MUTEX_INIT; /* of the lists */
static tdmi_cublas_handles *idle[TDMI_CUDA_MAX_DEVICES];

static tdmi_cublas_handles *take_idle(int ordinal) {
    TDMI_LOCKED(&lock);
    tdmi_cublas_handles *h = idle[ordinal];
    if (h) idle[ordinal] = h->next;
    return h;
}

static void give_handles(int ordinal, tdmi_cublas_handles *h) {
    TDMI_LOCKED(&lock);
    h->next = idle[ordinal];
    idle[ordinal] = h;
}

static tdm_status take_handles(int ordinal, tdmi_cublas_handles **handles) {
    tdmi_cublas_handles *h = *handles = take_idle(ordinal);
    if (h) return TDM_OK;
    h = tdmi_calloc(1, sizeof *h);
    if (!h) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    cublasStatus_t error = tdmi_cublaslt.cublasLtCreate(&h->lt);
    if (error == CUBLAS_STATUS_SUCCESS) {
        *handles = h;
        return TDM_OK;
    }
    tdmi_free(h);
    return tdmi_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? TDM_ERROR_OUT_OF_MEMORY
                                                         : TDM_ERROR_UNAVAILABLE,
                     "cublasLtCreate: cuBLAS status %d", (int)error);
}

static cublasStatus_t set_up_plain(tdmi_cublas_handles *h) {
    cublasStatus_t error =
        h->plain ? CUBLAS_STATUS_SUCCESS : tdmi_cublas.cublasCreate_v2(&h->plain);
    if (error == CUBLAS_STATUS_SUCCESS)
        return tdmi_cublas.cublasSetMathMode(
            h->plain,
            (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    h->plain = NULL;
    return error;
}

/* Sets up the plain handle at its first use; false when cuBLAS is missing or refuses. Not while the queue's
 * work is captured. */
static bool has_plain(tdmi_cublas_state *state) {
    tdmi_cuda_calls calls;
    if (state->plain_ready) return true;
    if (state->plain_refused || tdmi_cuda_is_captured(state->queue)) return false;
    state->plain_refused = true;
    if (tdmi_cublas_open() != TDM_OK || tdmi_cuda_begin(state->device, &calls) != TDM_OK)
        return false;
    cublasStatus_t error = set_up_plain(state->handles);
    tdmi_cuda_end(&calls);
    state->plain_ready = error == CUBLAS_STATUS_SUCCESS;
    state->plain_refused =
        !state->plain_ready && error != CUBLAS_STATUS_ALLOC_FAILED; /* memory may be free later */
    return state->plain_ready;
}

static bool has_epilogue(const tdmi_gemm *gemm) {
    return gemm->bias || gemm->activation != TDM_ACTIVATION_NONE;
}

/* The next piece of a batch that one call takes; pieces start where the matrices of the batch do.
 */
static tdmi_gemm piece_of(const tdmi_gemm *gemm, int64_t start) {
    tdmi_gemm piece = *gemm;
    piece.batch =
        gemm->batch - start < TDMI_CUBLAS_MAX_BATCH ? gemm->batch - start : TDMI_CUBLAS_MAX_BATCH;
    piece.a_offset += start * gemm->a_stride;
    piece.b_offset += start * gemm->b_stride;
    piece.c_offset += start * gemm->c_stride;
    return piece;
}

/* Can plain cuBLAS run it? It has no bfloat16 before compute capability 8.0, and no sizes of 64 bits
 * before CUDA 12. */
static bool plain_takes(tdmi_cublas_state *state, const tdmi_gemm *piece) {
    if (has_epilogue(piece)) return false;
    if (piece->dtype == TDM_BF16 && state->device->capability < 80) return false;
    if (!has_plain(state)) return false;
    return tdmi_cublas.cublasGemmStridedBatchedEx_64 || tdmi_cublas_fits_32(piece);
}

static bool piece_supported(tdmi_cublas_state *state, const tdmi_gemm *piece) {
    return tdmi_lt_find_plan(state, piece) || plain_takes(state, piece);
}

static tdmi_blas_support supports(void *opaque, const tdmi_gemm *gemm) {
    tdmi_cublas_state *state = opaque;
    tdmi_gemm arranged;
    if (!is_float(gemm->dtype) || !arrange(gemm, &arranged)) return TDMI_BLAS_NO;
    if (tdmi_cublas_epilogue(&arranged) < 0) return TDMI_BLAS_NO;
    bool entered;
    if (tdmi_cuda_enter(state->device, &entered) != TDM_OK) return TDMI_BLAS_NO;
    /* All pieces but the last have one plan. */
    const int64_t rest = (arranged.batch - 1) / TDMI_CUBLAS_MAX_BATCH * TDMI_CUBLAS_MAX_BATCH;
    const tdmi_gemm first = piece_of(&arranged, 0), last = piece_of(&arranged, rest);
    const bool supported =
        piece_supported(state, &first) && (rest == 0 || piece_supported(state, &last));
    tdmi_cuda_leave(entered);
    return supported ? TDMI_BLAS_YES : TDMI_BLAS_NO;
}

static int algorithms(void *opaque, const tdmi_gemm *gemm) {
    tdmi_cublas_state *state = opaque;
    tdmi_gemm arranged;
    bool entered;
    if (!arrange(gemm, &arranged) || arranged.batch > TDMI_CUBLAS_MAX_BATCH) return 1;
    if (tdmi_cuda_enter(state->device, &entered) != TDM_OK) return 1;
    const tdmi_lt_plan *plan = tdmi_lt_find_plan(state, &arranged);
    const int count = plan ? plan->algorithms : 1;
    tdmi_cuda_leave(entered);
    return count;
}

static const tdmi_library *library_of(const void *opaque) {
    (void)opaque;
    return tdmi_cublaslt_library();
}

static tdm_status run_lt(tdmi_cublas_state *state, tdmi_lt_plan *plan, const tdmi_gemm *gemm) {
    factor alpha = factor_of(gemm->dtype, gemm->alpha), beta = factor_of(gemm->dtype, gemm->beta);
    const void *bias =
        gemm->bias ? tdmi_cublas_address(gemm->bias, gemm->bias_offset, gemm->dtype) : NULL;
    if (bias && bias != plan->bias) {
        cublasStatus_t error = tdmi_lt_set_bias(plan->operation, gemm);
        if (error != CUBLAS_STATUS_SUCCESS) return blas_fail(state, error, "setting bias", gemm);
        plan->bias = bias;
    }
    void *c = tdmi_cublas_address(gemm->c, gemm->c_offset, gemm->dtype);
    cublasStatus_t error = tdmi_cublaslt.cublasLtMatmul(
        state->handles->lt, plan->operation, &alpha,
        tdmi_cublas_address(gemm->b, gemm->b_offset, gemm->dtype), plan->a,
        tdmi_cublas_address(gemm->a, gemm->a_offset, gemm->dtype), plan->b, &beta, c, plan->c, c,
        plan->c, &plan->algorithm, state->workspace, TDMI_CUBLAS_WORKSPACE_BYTES,
        state->queue->stream);
    if (error == CUBLAS_STATUS_SUCCESS) return TDM_OK;
    const tdm_status status = blas_fail(state, error, "cublasLtMatmul", gemm);
    /* The heuristic may promise too much, such as a launch that fails where a matrix spans 2^31 elements (NVIDIA/raft
     * 3097): such a plan is given up for plain cuBLAS. A launch also fails in a capture that another thread ended. */
    if (error == CUBLAS_STATUS_NOT_SUPPORTED ||
        (error == CUBLAS_STATUS_EXECUTION_FAILED && status == TDM_ERROR_BACKEND &&
         gemm->beta == 0 && !tdmi_cuda_is_captured(state->queue)))
        plan->usable = false;
    return status;
}

/* The plain handle works in a stream that is set once. Setting it resets the workspace, so the stream
 * comes first. */
static cublasStatus_t use_stream(tdmi_cublas_state *state) {
    if (state->plain_stream == state->queue->stream) return CUBLAS_STATUS_SUCCESS;
    cublasHandle_t plain = state->handles->plain;
    cublasStatus_t error = tdmi_cublas.cublasSetStream_v2(plain, state->queue->stream);
    if (error == CUBLAS_STATUS_SUCCESS)
        error =
            tdmi_cublas.cublasSetWorkspace_v2(plain, state->workspace, TDMI_CUBLAS_WORKSPACE_BYTES);
    state->plain_stream = error == CUBLAS_STATUS_SUCCESS ? state->queue->stream : NULL;
    return error;
}

static tdm_status run_plain(tdmi_cublas_state *state, const tdmi_gemm *gemm) {
    factor alpha = factor_of(gemm->dtype, gemm->alpha), beta = factor_of(gemm->dtype, gemm->beta);
    cudaDataType_t type = tdmi_cublas_data_type(gemm->dtype);
    cublasOperation_t first = gemm->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = gemm->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const void *b = tdmi_cublas_address(gemm->b, gemm->b_offset, gemm->dtype);
    const void *a = tdmi_cublas_address(gemm->a, gemm->a_offset, gemm->dtype);
    void *c = tdmi_cublas_address(gemm->c, gemm->c_offset, gemm->dtype);
    cublasComputeType_t compute = tdmi_cublas_compute_type(gemm);
    cublasStatus_t error = use_stream(state);
    if (error != CUBLAS_STATUS_SUCCESS) return blas_fail(state, error, "cublasSetStream", gemm);
    if (tdmi_cublas.cublasGemmStridedBatchedEx_64)
        error = tdmi_cublas.cublasGemmStridedBatchedEx_64(
            state->handles->plain, first, second, gemm->n, gemm->m, gemm->k, &alpha, b, type,
            gemm->ldb, gemm->b_stride, a, type, gemm->lda, gemm->a_stride, &beta, c, type,
            gemm->ldc, gemm->c_stride, gemm->batch, compute, CUBLAS_GEMM_DEFAULT);
    else
        error = tdmi_cublas.cublasGemmStridedBatchedEx(
            state->handles->plain, first, second, (int)gemm->n, (int)gemm->m, (int)gemm->k, &alpha,
            b, type, (int)gemm->ldb, gemm->b_stride, a, type, (int)gemm->lda, gemm->a_stride, &beta,
            c, type, (int)gemm->ldc, gemm->c_stride, (int)gemm->batch, compute,
            CUBLAS_GEMM_DEFAULT);
    return error == CUBLAS_STATUS_SUCCESS
               ? TDM_OK
               : blas_fail(state, error, "cublasGemmStridedBatchedEx", gemm);
}

static tdm_status run_piece(tdmi_cublas_state *state, const tdmi_gemm *piece) {
    tdmi_lt_plan *plan = tdmi_lt_find_plan(state, piece);
    if (plan) {
        tdm_status status = run_lt(state, plan, piece);
        if (plan->usable) return status;
    }
    if (plain_takes(state, piece)) return run_plain(state, piece);
    return tdmi_fail(TDM_ERROR_UNSUPPORTED, "cuBLAS has no algorithm for this product");
}

static tdm_status gemm(void *opaque, const tdmi_gemm *product) {
    tdmi_cublas_state *state = opaque;
    tdmi_gemm arranged;
    if (!arrange(product, &arranged))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "cuBLAS takes no matrix whose rows overlap");
    TDMI_CUDA_BEGIN(state->device);
    tdm_status status = TDM_OK;
    for (int64_t start = 0; start < arranged.batch && status == TDM_OK;
         start += TDMI_CUBLAS_MAX_BATCH) {
        tdmi_gemm piece = piece_of(&arranged, start);
        status = run_piece(state, &piece);
        /* A product that has run must not run again on another provider. */
        if (status == TDM_ERROR_UNSUPPORTED && start > 0)
            status = tdmi_fail(TDM_ERROR_BACKEND, "%s", tdm_last_error());
    }
    return status;
}

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *opaque) {
    tdmi_cublas_state *state = opaque;
    TDMI_TRY(tdmi_cublaslt_open());
    TDMI_CUDA_BEGIN(device);
    state->device = device;
    state->queue = queue;
    TDMI_TRY(take_handles(device->ordinal, &state->handles));
    /* Another workspace would be other algorithms, and so other last digits: without it there is no provider. */
    const tdm_status status =
        tdmi_cuda_check(tdmi_cudart.cudaMalloc(&state->workspace, TDMI_CUBLAS_WORKSPACE_BYTES),
                        "cudaMalloc of cuBLAS's workspace of 32 MiB");
    if (status != TDM_OK) give_handles(device->ordinal, state->handles);
    return status;
}

static void detach(void *opaque) {
    tdmi_cublas_state *state = opaque;
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(state->device, &calls) != TDM_OK) return;
    for (size_t i = 0; i < TDMI_LT_PLANS; i++)
        tdmi_lt_drop_plan(&state->plans[i]);
    (void)tdmi_cuda_succeeds(tdmi_cudart.cudaFree(state->workspace));
    tdmi_cuda_end(&calls);
    give_handles(state->device->ordinal, state->handles);
    memset(state, 0, sizeof *state);
}

const tdmi_blas tdmi_cuda_blas_cublas = {
    .id = TDMI_BLAS_cublas,
    .state_size = sizeof(tdmi_cublas_state),
    .attach = attach,
    .detach = detach,
    .supports = supports,
    .gemm = gemm,
    .has_tensor_cores = true,
    .library = library_of,
    .algorithms = algorithms,
};
