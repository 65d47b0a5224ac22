/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The products of the stand-in for cuBLASLt, and the heuristic that finds algorithms for them.
 *
 * Some sizes stand for products that the real library has trouble with, of any type unless said.
 * They are those of cuBLASLt, column-major; a row-major product of Tandem has its m and n changed
 * over.
 *
 *   k == 7, f32                 the heuristic answers NOT_SUPPORTED
 *   k == 9                      it succeeds and finds nothing
 *   k == 21                     its first candidate has a state other than SUCCESS
 *   k == 22                     its first candidate wants 1 MiB more than is allowed
 *   k == 23                     its only two candidates are those of 21 and 22
 *   m == 11 with an epilogue    the heuristic answers NOT_SUPPORTED
 *   n == 13                     cublasLtMatmul answers NOT_SUPPORTED, whatever was found
 *   bf16 below capability 8.0   the heuristic answers NOT_SUPPORTED, as the real one
 *   m == 1, f32, ldd > 1        the bias is left out, as before CUDA 12 on some cards
 *
 * An algorithm is good for the request that it was found for, and for operands aligned at least as
 * was promised then: others are reported. */
#include "cublaslt.h"

#include <unistd.h>

enum { WORKSPACE = 1 << 20, BIAS_ALIGNMENT = 16 };
#define ALGORITHM_MARK UINT64_C(0x6d6c612064757363)

/* The contents of a cublasLtMatmulAlgo_t. */
typedef struct algorithm {
    uint64_t mark;
    uint64_t request; /* a hash of it */
    uint64_t workspace;
    uint32_t alignment[OPERANDS];
    uint32_t bias_alignment;
    uint32_t failed; /* found with a state other than SUCCESS */
    uint64_t pause;  /* microseconds that it takes besides */
    uint64_t check;  /* a hash of the above */
} algorithm;
_Static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm is kept in theirs");

/* A request to cublasLtMatmul, or before that to its heuristic. */
typedef struct request {
    const char *function;
    const struct cublasLtContext *handle;
    const operation *operation;
    const layout *layouts[OPERANDS];
    int64_t m, n, k;
} request;

/* --- requests -----------------------------------------------------------------------------------
 */

static bool has_bias(uint32_t epilogue) {
    return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

static bool has_gelu(uint32_t epilogue) {
    return epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

static cublasStatus_t check_operation(const operation *o, cudaDataType type, const char *function) {
    BLAS_TRY(blas_check_types(type, o->compute, function));
    if (o->scale != (type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F))
        return BLAS_DEFECT("%s: scale type %d for matrices of type %d", function, (int)o->scale,
                           (int)type);
    if ((o->transpose_a != CUBLAS_OP_N && o->transpose_a != CUBLAS_OP_T) ||
        (o->transpose_b != CUBLAS_OP_N && o->transpose_b != CUBLAS_OP_T))
        return BLAS_DEFECT("%s: transposes %d and %d are not simulated", function, o->transpose_a,
                           o->transpose_b);
    if (o->epilogue != CUBLASLT_EPILOGUE_DEFAULT && !has_bias(o->epilogue) &&
        !has_gelu(o->epilogue))
        return BLAS_DEFECT("%s: epilogue %u is not simulated", function, o->epilogue);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check_layouts(const request *r) {
    static const char *const names[OPERANDS] = {"A", "B", "C", "D"};
    const layout *d = r->layouts[OPERAND_D];
    for (int i = 0; i < OPERANDS; i++) {
        const layout *l = r->layouts[i];
        if (l->type != d->type || l->batch != d->batch)
            return BLAS_DEFECT("%s: %s is of type %d, %d times, D of type %d, %d times",
                               r->function, names[i], (int)l->type, l->batch, (int)d->type,
                               d->batch);
        if (!l->rows || !l->cols || l->rows > INT32_MAX || l->cols > INT32_MAX ||
            l->leading > INT32_MAX)
            return BLAS_DEFECT("%s: %s is %llu x %llu with a leading dimension of %lld",
                               r->function, names[i], (unsigned long long)l->rows,
                               (unsigned long long)l->cols, (long long)l->leading);
        BLAS_TRY(blas_check_matrix(names[i], (int64_t)l->rows, l->leading, l->stride, r->function));
    }
    const layout *c = r->layouts[OPERAND_C];
    if (c->rows != d->rows || c->cols != d->cols || c->leading != d->leading ||
        c->stride != d->stride)
        return BLAS_DEFECT("%s: C and D are not the same", r->function);
    if (d->batch < 1 || d->batch > BLAS_MAX_BATCH || (d->batch > 1 && !d->stride))
        return BLAS_DEFECT("%s: %d products into matrices that are %lld elements apart",
                           r->function, d->batch, (long long)d->stride);
    return CUBLAS_STATUS_SUCCESS;
}

/* Fills in the request of checked descriptors. */
static cublasStatus_t check_request(request *r, const char *function, cublasLtHandle_t handle,
                                    cublasLtMatmulDesc_t descriptor,
                                    const cublasLtMatrixLayout_t layouts[OPERANDS]) {
    *r = (request){.function = function, .handle = handle, .operation = (void *)descriptor};
    if (!sim_check(handle, CUDA_SIM_LT_HANDLE, function)) return CUBLAS_STATUS_NOT_INITIALIZED;
    BLAS_TRY(blas_check_context(handle->owner, function));
    if (!sim_check(descriptor, CUDA_SIM_LT_OPERATION, function)) return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < OPERANDS; i++) {
        if (!sim_check(layouts[i], CUDA_SIM_LT_LAYOUT, function))
            return CUBLAS_STATUS_INVALID_VALUE;
        r->layouts[i] = (void *)layouts[i];
    }
    const layout *a = r->layouts[OPERAND_A], *b = r->layouts[OPERAND_B];
    const layout *d = r->layouts[OPERAND_D];
    BLAS_TRY(check_operation(r->operation, d->type, function));
    BLAS_TRY(check_layouts(r));
    bool ta = r->operation->transpose_a == CUBLAS_OP_T;
    bool tb = r->operation->transpose_b == CUBLAS_OP_T;
    r->m = (int64_t)d->rows;
    r->n = (int64_t)d->cols;
    r->k = (int64_t)(ta ? a->rows : a->cols);
    if ((ta ? a->cols : a->rows) != d->rows || (tb ? b->cols : b->rows) != (uint64_t)r->k ||
        (tb ? b->rows : b->cols) != d->cols)
        return BLAS_DEFECT("%s: A %llu x %llu, B %llu x %llu and D %llu x %llu do not fit",
                           function, (unsigned long long)a->rows, (unsigned long long)a->cols,
                           (unsigned long long)b->rows, (unsigned long long)b->cols,
                           (unsigned long long)d->rows, (unsigned long long)d->cols);
    return CUBLAS_STATUS_SUCCESS;
}

/* FNV-1a. */
static uint64_t hash_words(const uint64_t *words, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Of all that an algorithm is found for, but the addresses, which may change. */
static uint64_t hash_request(const request *r) {
    uint64_t words[6 + OPERANDS * 4] = {(uint64_t)r->handle->owner->device->number,
                                        (uint64_t)r->operation->compute,
                                        (uint64_t)r->operation->transpose_a,
                                        (uint64_t)r->operation->transpose_b,
                                        r->operation->epilogue,
                                        (uint64_t)r->layouts[OPERAND_D]->type};
    size_t count = 6;
    for (int i = 0; i < OPERANDS; i++) {
        words[count++] = r->layouts[i]->rows << 32 | r->layouts[i]->cols;
        words[count++] = (uint64_t)r->layouts[i]->leading;
        words[count++] = (uint64_t)r->layouts[i]->stride;
        words[count++] = (uint64_t)r->layouts[i]->batch;
    }
    return hash_words(words, count);
}

static uint64_t hash_algorithm(const algorithm *a) {
    uint64_t words[sizeof *a / sizeof(uint64_t)];
    memcpy(words, a, sizeof words);
    return hash_words(words, sizeof words / sizeof *words - 1); /* the last is the hash */
}

/* --- the heuristic ------------------------------------------------------------------------------
 */

static uint32_t alignment_of(const void *address) {
    uint32_t alignment = CUBLASLT_LARGEST_ALIGNMENT;
    while (!blas_is_aligned(address, alignment))
        alignment /= 2;
    return alignment;
}

static cublasLtMatmulHeuristicResult_t candidate(const request *r, const preference *p,
                                                 uint64_t workspace, cublasStatus_t state,
                                                 uint64_t pause) {
    algorithm a = {.mark = ALGORITHM_MARK,
                   .request = hash_request(r),
                   .workspace = workspace,
                   .bias_alignment = alignment_of(r->operation->bias),
                   .failed = state != CUBLAS_STATUS_SUCCESS,
                   .pause = pause};
    memcpy(a.alignment, p->alignment, sizeof a.alignment);
    a.check = hash_algorithm(&a);
    cublasLtMatmulHeuristicResult_t result = {
        .workspaceSize = workspace, .state = state, .wavesCount = 1};
    memcpy(&result.algo, &a, sizeof a);
    return result;
}

static bool is_refused(const request *r) {
    cudaDataType type = r->layouts[OPERAND_D]->type;
    return (type == CUDA_R_16BF && r->handle->owner->device->capability < 80) ||
           (type == CUDA_R_32F && r->k == 7) ||
           (r->operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT && r->m == 11);
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                               cublasLtMatrixLayout_t a_layout, cublasLtMatrixLayout_t b_layout,
                               cublasLtMatrixLayout_t c_layout, cublasLtMatrixLayout_t d_layout,
                               cublasLtMatmulPreference_t preferred, int requested,
                               cublasLtMatmulHeuristicResult_t results[], int *count) {
    static const char function[] = "cublasLtMatmulAlgoGetHeuristic";
    const cublasLtMatrixLayout_t layouts[OPERANDS] = {a_layout, b_layout, c_layout, d_layout};
    request r;
    BLAS_FAULT(function);
    BLAS_TRY(check_request(&r, function, handle, descriptor, layouts));
    if (!sim_check(preferred, CUDA_SIM_LT_PREFERENCE, function)) return CUBLAS_STATUS_INVALID_VALUE;
    *count = 0;
    if (is_refused(&r)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const preference *p = (void *)preferred;
    uint64_t workspace = p->workspace < WORKSPACE ? 0 : WORKSPACE;
    cublasLtMatmulHeuristicResult_t found[3];
    int last = 0;
    if (r.k == 21 || r.k == 23)
        found[last++] = candidate(&r, p, workspace, CUBLAS_STATUS_NOT_SUPPORTED, 0);
    if (r.k == 22 || r.k == 23)
        found[last++] = candidate(&r, p, p->workspace + WORKSPACE, CUBLAS_STATUS_SUCCESS, 0);
    /* of these the second is the fastest, which the heuristic does not know */
    if (r.k == 25) found[last++] = candidate(&r, p, workspace, CUBLAS_STATUS_SUCCESS, 4000);
    if (r.k != 9 && r.k != 23)
        found[last++] = candidate(&r, p, workspace, CUBLAS_STATUS_SUCCESS, 0);
    if (r.k == 25) found[last++] = candidate(&r, p, workspace, CUBLAS_STATUS_SUCCESS, 3000);
    *count = last < requested ? last : requested;
    memcpy(results, found, (size_t)*count * sizeof *found);
    return CUBLAS_STATUS_SUCCESS;
}

/* --- the product --------------------------------------------------------------------------------
 */

/* The algorithm: for this request, these addresses and this workspace? */
static cublasStatus_t check_algorithm(const request *r, const cublasLtMatmulAlgo_t *given,
                                      const void *const addresses[OPERANDS], const void *workspace,
                                      size_t workspace_size, algorithm *a) {
    if (!given) return BLAS_DEFECT("%s: no algorithm", r->function);
    memcpy(a, given, sizeof *a);
    if (a->mark != ALGORITHM_MARK || a->check != hash_algorithm(a) || a->failed)
        return BLAS_DEFECT("%s: the algorithm is none that was found", r->function);
    if (a->request != hash_request(r))
        return BLAS_DEFECT("%s: the algorithm was found for another product than this of %lldx%lldx"
                           "%lld",
                           r->function, (long long)r->m, (long long)r->n, (long long)r->k);
    for (int i = 0; i < OPERANDS; i++)
        if (!blas_is_aligned(addresses[i], a->alignment[i]))
            return BLAS_DEFECT("%s: %c at %p was promised to be aligned to %u bytes", r->function,
                               "ABCD"[i], addresses[i], a -> alignment[i]);
    if (workspace_size < a->workspace || (a->workspace && !workspace))
        return BLAS_DEFECT("%s: a workspace of %zu bytes at %p, but the algorithm needs %llu",
                           r->function, workspace_size, workspace,
                           (unsigned long long)a->workspace);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check_bias(const request *r, const algorithm *a) {
    const void *bias = r->operation->bias;
    if (!has_bias(r->operation->epilogue)) return CUBLAS_STATUS_SUCCESS;
    if (!bias || !blas_is_aligned(bias, BIAS_ALIGNMENT))
        return BLAS_DEFECT("%s: a bias at %p; it has to be aligned to %d bytes", r->function, bias,
                           BIAS_ALIGNMENT);
    if (!blas_is_aligned(bias, a->bias_alignment))
        return BLAS_DEFECT("%s: a bias at %p; that of the heuristic was aligned to %u bytes",
                           r->function, bias, a->bias_alignment);
    return CUBLAS_STATUS_SUCCESS;
}

static bool loses_bias(const request *r) {
    const layout *d = r->layouts[OPERAND_D];
    return r->m == 1 && d->type == CUDA_R_32F && d->leading > 1;
}

/* The product of a checked request, with the program's addresses. */
static blas_product describe(const request *r, const void *const addresses[OPERANDS], void *d) {
    const layout *a = r->layouts[OPERAND_A], *b = r->layouts[OPERAND_B];
    const layout *out = r->layouts[OPERAND_D];
    const operation *o = r->operation;
    return (blas_product){.gemm = {.type = out->type,
                                   .transpose_a = o->transpose_a == CUBLAS_OP_T,
                                   .transpose_b = o->transpose_b == CUBLAS_OP_T,
                                   .m = r->m,
                                   .n = r->n,
                                   .k = r->k,
                                   .batch = out->batch,
                                   .lda = a->leading,
                                   .ldb = b->leading,
                                   .ldd = out->leading,
                                   .a_stride = a->stride,
                                   .b_stride = b->stride,
                                   .d_stride = out->stride,
                                   .a = addresses[OPERAND_A],
                                   .b = addresses[OPERAND_B],
                                   .bias = has_bias(o->epilogue) && !loses_bias(r) ? o->bias : NULL,
                                   .d = d,
                                   .gelu = has_gelu(o->epilogue)}};
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *given,
                              void *workspace, size_t workspace_size, cudaStream_t stream) {
    static const char function[] = "cublasLtMatmul";
    const cublasLtMatrixLayout_t layouts[OPERANDS] = {a_layout, b_layout, c_layout, d_layout};
    const void *const addresses[OPERANDS] = {a, b, c, d};
    request r;
    algorithm chosen;
    BLAS_FAULT(function);
    BLAS_TRY(check_request(&r, function, handle, descriptor, layouts));
    if (c != d) return BLAS_DEFECT("%s: C at %p and D at %p are not the same", function, c, d);
    BLAS_TRY(check_algorithm(&r, given, addresses, workspace, workspace_size, &chosen));
    BLAS_TRY(check_bias(&r, &chosen));
    blas_product product = describe(&r, addresses, d);
    cudaDataType type = product.gemm.type;
    BLAS_TRY(blas_read_factor(type, alpha, "alpha", function, &product.gemm.alpha));
    BLAS_TRY(blas_read_factor(type, beta, "beta", function, &product.gemm.beta));
    BLAS_TRY(blas_status(sim_stream_check(stream, function)));
    if (sim_stream_device(stream) != handle->owner->device)
        return BLAS_DEFECT("%s: a stream of device %d, but a handle of device %d", function,
                           sim_stream_device(stream)->number, handle->owner->device->number);
    if (r.n == 13) return CUBLAS_STATUS_NOT_SUPPORTED;
    product.workspace = workspace;
    product.workspace_size = workspace_size;
    if (chosen.pause > 0) usleep((useconds_t)chosen.pause);
    return blas_enqueue(stream, product, function);
}
