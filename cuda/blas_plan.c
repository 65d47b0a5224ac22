/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Plans of cuBLASLt: how a row-major product is put to a column-major library, and the algorithm
 * that its heuristic chose.
 *
 * A row-major matrix read column by column is its transpose, with the same leading dimension, so
 * the row-major C = op(A) op(B), m x n, is computed as the column-major n x m product Cᵀ = op(B)ᵀ
 * op(A)ᵀ: the operands change places, their transpose flags stay. The rows of that result are our
 * columns, and cuBLASLt's bias runs along its rows: it is our bias of n. */
#include "blas_plan.h"

#include <string.h>

#include "base/hash.h"

enum {
    WAYS = 4,       /* places in which a plan may be */
    CANDIDATES = 8, /* algorithms requested of the heuristic */
    MAX_ALIGNMENT = 256,
    BIAS_ALIGNMENT = 16
};

cudaDataType_t tdmi_cublas_data_type(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F64:
        return CUDA_R_64F;
    case TDM_F16:
        return CUDA_R_16F;
    case TDM_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

cublasComputeType_t tdmi_cublas_compute_type(const tdmi_gemm *gemm) {
    if (gemm->dtype == TDM_F64) return CUBLAS_COMPUTE_64F;
    return gemm->dtype == TDM_F32 && gemm->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* The epilogue that does bias and activation, or -1. cuBLASLt's ReLU makes 0 of NaN. Its GELU is the tanh
 * form, and how exactly it computes tanh is not documented: it is trusted for the 16-bit types only. */
int tdmi_cublas_epilogue(const tdmi_gemm *gemm) {
    switch (gemm->activation) {
    case TDM_ACTIVATION_NONE:
        return gemm->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case TDM_ACTIVATION_GELU_TANH:
        if (gemm->dtype != TDM_F16 && gemm->dtype != TDM_BF16) return -1;
        return gemm->bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case TDM_ACTIVATION_RELU:
    case TDM_ACTIVATION_GELU:
    case TDM_ACTIVATION_SILU:
    case TDM_ACTIVATION_SIGMOID:
    case TDM_ACTIVATION_TANH:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return -1;
}

char *tdmi_cublas_address(const tdmi_mem *mem, int64_t offset, tdm_dtype dtype) {
    return (char *)mem->handle + (size_t)offset * tdm_dtype_size(dtype);
}

/* Bytes to which a matrix, and every other one of its batch, is aligned. */
static uint16_t alignment_of(const char *start, int64_t stride, tdm_dtype dtype) {
    uint64_t bits = (uint64_t)(uintptr_t)start | ((uint64_t)stride * tdm_dtype_size(dtype));
    uint64_t lowest = bits & (~bits + 1);
    return (uint16_t)(!lowest || lowest > MAX_ALIGNMENT ? MAX_ALIGNMENT : lowest);
}

bool tdmi_cublas_fits_32(const tdmi_gemm *gemm) {
    const int64_t values[] = {gemm->m, gemm->n, gemm->k, gemm->lda, gemm->ldb, gemm->ldc};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i] > INT32_MAX) return false;
    return gemm->batch <= TDMI_CUBLAS_MAX_BATCH;
}

static tdmi_lt_key key_of(const tdmi_gemm *gemm, int epilogue) {
    tdmi_lt_key key;
    memset(&key, 0, sizeof key);
    key.m = gemm->m;
    key.n = gemm->n;
    key.k = gemm->k;
    key.lda = gemm->lda;
    key.ldb = gemm->ldb;
    key.ldc = gemm->ldc;
    key.a_stride = gemm->a_stride;
    key.b_stride = gemm->b_stride;
    key.c_stride = gemm->c_stride;
    key.batch = (int32_t)gemm->batch;
    key.epilogue = epilogue;
    tdm_dtype dtype = gemm->dtype;
    key.a_alignment =
        alignment_of(tdmi_cublas_address(gemm->a, gemm->a_offset, dtype), key.a_stride, dtype);
    key.b_alignment =
        alignment_of(tdmi_cublas_address(gemm->b, gemm->b_offset, dtype), key.b_stride, dtype);
    key.c_alignment =
        alignment_of(tdmi_cublas_address(gemm->c, gemm->c_offset, dtype), key.c_stride, dtype);
    if (gemm->bias)
        key.bias_alignment =
            alignment_of(tdmi_cublas_address(gemm->bias, gemm->bias_offset, dtype), 0, dtype);
    key.dtype = (uint8_t)dtype;
    key.transpose_a = gemm->transpose_a;
    key.transpose_b = gemm->transpose_b;
    key.tf32 = gemm->tf32 && dtype == TDM_F32;
    key.algorithm = (uint8_t)gemm->algorithm;
    return key;
}

_Static_assert(sizeof(tdmi_lt_key) % sizeof(uint64_t) == 0, "the key is hashed by whole words");

void tdmi_lt_drop_plan(tdmi_lt_plan *plan) {
    if (plan->operation) (void)tdmi_cublaslt.cublasLtMatmulDescDestroy(plan->operation);
    if (plan->a) (void)tdmi_cublaslt.cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->b) (void)tdmi_cublaslt.cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->c) (void)tdmi_cublaslt.cublasLtMatrixLayoutDestroy(plan->c);
    memset(plan, 0, sizeof *plan);
}

/* A stored row-major matrix, as the column-major one of `cols` rows and `rows` columns. */
static cublasStatus_t make_layout(const tdmi_lt_key *key, int64_t rows, int64_t cols,
                                  int64_t leading, int64_t stride, cublasLtMatrixLayout_t *layout) {
    cublasStatus_t error = tdmi_cublaslt.cublasLtMatrixLayoutCreate(
        layout, tdmi_cublas_data_type((tdm_dtype)key->dtype), (uint64_t)cols, (uint64_t)rows,
        leading);
    if (error != CUBLAS_STATUS_SUCCESS) {
        *layout = NULL;
        return error;
    }
    if (key->batch == 1) return error;
    error = tdmi_cublaslt.cublasLtMatrixLayoutSetAttribute(
        *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &key->batch, sizeof key->batch);
    if (error != CUBLAS_STATUS_SUCCESS) return error;
    return tdmi_cublaslt.cublasLtMatrixLayoutSetAttribute(
        *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
}

cublasStatus_t tdmi_lt_set_bias(cublasLtMatmulDesc_t operation, const tdmi_gemm *gemm) {
    const void *bias = tdmi_cublas_address(gemm->bias, gemm->bias_offset, gemm->dtype);
    return tdmi_cublaslt.cublasLtMatmulDescSetAttribute(
        operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

static cublasStatus_t make_operation(const tdmi_gemm *gemm, const tdmi_lt_key *key,
                                     cublasLtMatmulDesc_t *operation) {
    cublasStatus_t error =
        tdmi_cublaslt.cublasLtMatmulDescCreate(operation, tdmi_cublas_compute_type(gemm),
                                               gemm->dtype == TDM_F64 ? CUDA_R_64F : CUDA_R_32F);
    if (error != CUBLAS_STATUS_SUCCESS) {
        *operation = NULL;
        return error;
    }
    /* The library's A is our B, and the other way round. */
    int32_t first = key->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t second = key->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint32_t epilogue = (uint32_t)key->epilogue;
    const struct {
        cublasLtMatmulDescAttributes_t name;
        const void *value;
    } attributes[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &first},
                      {CUBLASLT_MATMUL_DESC_TRANSB, &second},
                      {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue}};
    for (size_t i = 0; i < 3 && error == CUBLAS_STATUS_SUCCESS; i++)
        error = tdmi_cublaslt.cublasLtMatmulDescSetAttribute(*operation, attributes[i].name,
                                                             attributes[i].value, sizeof first);
    if (error == CUBLAS_STATUS_SUCCESS && gemm->bias) error = tdmi_lt_set_bias(*operation, gemm);
    return error;
}

/* The limits of an algorithm: our workspace, the alignment there is, and for the 16-bit types no
 * partial sums rounded to 16 bits. */
static cublasStatus_t make_preference(const tdmi_lt_key *key,
                                      cublasLtMatmulPreference_t *preference) {
    cublasStatus_t error = tdmi_cublaslt.cublasLtMatmulPreferenceCreate(preference);
    if (error != CUBLAS_STATUS_SUCCESS) {
        *preference = NULL;
        return error;
    }
    bool narrow = key->dtype == TDM_F16 || key->dtype == TDM_BF16;
    uint64_t workspace = TDMI_CUBLAS_WORKSPACE_BYTES;
    uint32_t reduction =
        narrow ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
    uint32_t a = key->b_alignment, b = key->a_alignment, c = key->c_alignment;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t size;
    } attributes[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (error == CUBLAS_STATUS_SUCCESS)
            error = tdmi_cublaslt.cublasLtMatmulPreferenceSetAttribute(
                *preference, attributes[i].name, attributes[i].value, attributes[i].size);
    return error;
}

/* Whether the plan, or that there is none, holds for later requests. */
static bool choose_algorithm(const tdmi_cublas_state *state, tdmi_lt_plan *plan) {
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t results[CANDIDATES];
    int count = 0;
    cublasStatus_t error = make_preference(&plan->key, &preference);
    if (error == CUBLAS_STATUS_SUCCESS)
        error = tdmi_cublaslt.cublasLtMatmulAlgoGetHeuristic(
            state->handles->lt, plan->operation, plan->a, plan->b, plan->c, plan->c, preference,
            CANDIDATES, results, &count);
    if (preference) (void)tdmi_cublaslt.cublasLtMatmulPreferenceDestroy(preference);
    if (error != CUBLAS_STATUS_SUCCESS) return error != CUBLAS_STATUS_ALLOC_FAILED;
    for (int i = 0; i < count; i++) {
        if (results[i].state != CUBLAS_STATUS_SUCCESS ||
            results[i].workspaceSize > TDMI_CUBLAS_WORKSPACE_BYTES)
            continue;
        if (plan->algorithms++ != plan->key.algorithm) continue;
        plan->algorithm = results[i].algo;
        plan->usable = true;
    }
    return true;
}

static void make_plan(const tdmi_cublas_state *state, const tdmi_gemm *gemm, const tdmi_lt_key *key,
                      tdmi_lt_plan *plan) {
    plan->key = *key;
    plan->used = true;
    cublasStatus_t error = make_operation(gemm, key, &plan->operation);
    if (error == CUBLAS_STATUS_SUCCESS)
        error = key->transpose_b
                    ? make_layout(key, key->n, key->k, key->ldb, key->b_stride, &plan->a)
                    : make_layout(key, key->k, key->n, key->ldb, key->b_stride, &plan->a);
    if (error == CUBLAS_STATUS_SUCCESS)
        error = key->transpose_a
                    ? make_layout(key, key->k, key->m, key->lda, key->a_stride, &plan->b)
                    : make_layout(key, key->m, key->k, key->lda, key->a_stride, &plan->b);
    if (error == CUBLAS_STATUS_SUCCESS)
        error = make_layout(key, key->m, key->n, key->ldc, key->c_stride, &plan->c);
    if (error != CUBLAS_STATUS_SUCCESS || !choose_algorithm(state, plan))
        tdmi_lt_drop_plan(plan); /* no memory, perhaps: the next request tries again */
}

static tdmi_lt_plan *find_plan(tdmi_cublas_state *state, const tdmi_gemm *gemm) {
    int epilogue = tdmi_cublas_epilogue(gemm);
    if (epilogue < 0 || !tdmi_cublas_fits_32(gemm)) return NULL;
    tdmi_lt_key key = key_of(gemm, epilogue);
    if (gemm->bias && key.bias_alignment < BIAS_ALIGNMENT) return NULL;
    /* before CUDA 12 some cards leave such a bias out of some elements */
    if (gemm->bias && gemm->dtype == TDM_F32 && gemm->n == 1 && gemm->ldc > 1) return NULL;
    tdmi_lt_plan *place = state->recent;
    if (place && memcmp(&place->key, &key, sizeof key) == 0) return place->usable ? place : NULL;
    place = NULL;
    const uint32_t start = (uint32_t)tdmi_hash_words(&key, sizeof key);
    for (uint32_t way = 0; way < WAYS; way++) {
        tdmi_lt_plan *plan = &state->plans[(start + way) % TDMI_LT_PLANS];
        if (plan->used && memcmp(&plan->key, &key, sizeof key) == 0) {
            state->recent = plan;
            return plan->usable ? plan : NULL;
        }
        if (!plan->used && !place) place = plan;
    }
    if (!place) place = &state->plans[(start + state->next_victim++ % WAYS) % TDMI_LT_PLANS];
    tdmi_lt_drop_plan(place);
    make_plan(state, gemm, &key, place);
    state->recent = place->used ? place : NULL;
    return place->usable ? place : NULL;
}

/* The plan of an arranged product; NULL when cuBLASLt cannot run it. The heuristic may have fewer algorithms
 * than when one was chosen: for other leading dimensions. */
tdmi_lt_plan *tdmi_lt_find_plan(tdmi_cublas_state *state, const tdmi_gemm *gemm) {
    tdmi_lt_plan *plan = find_plan(state, gemm);
    if (plan || gemm->algorithm == 0) return plan;
    tdmi_gemm preferred = *gemm;
    preferred.algorithm = 0;
    return find_plan(state, &preferred);
}
