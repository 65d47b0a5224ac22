/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for cuBLASLt, as much of it as the cuda backend calls: handles and descriptors. */
#include "cublaslt.h"

/* --- handles and descriptors --------------------------------------------------------------------
 */

size_t cublasLtGetVersion(void) {
    (void)sim_fault("cublasLtGetVersion"); /* counted: it has no error to give */
    int major = sim_get()->blas_major ? sim_get()->blas_major : SIM_VERSION / 1000;
    return (size_t)major * 10000 + 103;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    BLAS_FAULT("cublasLtCreate");
    if (sim_check_captures("cublasLtCreate")) return CUBLAS_STATUS_NOT_INITIALIZED;
    int error = 0;
    CUcontext context = sim_context(&error);
    if (!context) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = sim_create(CUDA_SIM_LT_HANDLE, sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    (*handle)->owner = context;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    static const char function[] = "cublasLtDestroy";
    BLAS_FAULT(function);
    if (!sim_check(handle, CUDA_SIM_LT_HANDLE, function)) return CUBLAS_STATUS_NOT_INITIALIZED;
    BLAS_TRY(blas_check_context(handle->owner, function));
    sim_device_wait(handle->owner, function);
    sim_end(handle);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t end_descriptor(void *descriptor, cuda_sim_kind kind, const char *function) {
    BLAS_FAULT(function);
    if (!sim_check(descriptor, kind, function)) return CUBLAS_STATUS_INVALID_VALUE;
    sim_end(descriptor);
    return CUBLAS_STATUS_SUCCESS;
}

/* A value of an attribute; the place is NULL where the attribute is not simulated. */
static cublasStatus_t set_attribute(const char *function, int attribute, void *place, size_t size,
                                    const void *from, size_t from_size) {
    if (!place) return BLAS_DEFECT("%s: attribute %d is not simulated", function, attribute);
    if (!from || from_size != size)
        return BLAS_DEFECT("%s: attribute %d is of %zu bytes, not of %zu at %p", function,
                           attribute, size, from_size, from);
    memcpy(place, from, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute, cudaDataType scale) {
    BLAS_FAULT("cublasLtMatmulDescCreate");
    operation *created = sim_create(CUDA_SIM_LT_OPERATION, sizeof *created);
    *descriptor = (void *)created;
    if (!created) return CUBLAS_STATUS_ALLOC_FAILED;
    created->compute = compute;
    created->scale = scale;
    created->transpose_a = created->transpose_b = CUBLAS_OP_N;
    created->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
    return end_descriptor(descriptor, CUDA_SIM_LT_OPERATION, "cublasLtMatmulDescDestroy");
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *from, size_t size) {
    static const char function[] = "cublasLtMatmulDescSetAttribute";
    BLAS_FAULT(function);
    if (!sim_check(descriptor, CUDA_SIM_LT_OPERATION, function)) return CUBLAS_STATUS_INVALID_VALUE;
    operation *o = (void *)descriptor;
    void *place = NULL;
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) place = &o->transpose_a;
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) place = &o->transpose_b;
    if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) place = &o->epilogue;
    bool bias = attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER;
    if (bias) place = &o->bias;
    return set_attribute(function, (int)attribute, place,
                         bias ? sizeof o->bias : sizeof o->epilogue, from, size);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *descriptor, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t leading) {
    BLAS_FAULT("cublasLtMatrixLayoutCreate");
    layout *created = sim_create(CUDA_SIM_LT_LAYOUT, sizeof *created);
    *descriptor = (void *)created;
    if (!created) return CUBLAS_STATUS_ALLOC_FAILED;
    created->type = type;
    created->rows = rows;
    created->cols = cols;
    created->leading = leading;
    created->batch = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t descriptor) {
    return end_descriptor(descriptor, CUDA_SIM_LT_LAYOUT, "cublasLtMatrixLayoutDestroy");
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t descriptor,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *from, size_t size) {
    static const char function[] = "cublasLtMatrixLayoutSetAttribute";
    BLAS_FAULT(function);
    if (!sim_check(descriptor, CUDA_SIM_LT_LAYOUT, function)) return CUBLAS_STATUS_INVALID_VALUE;
    layout *l = (void *)descriptor;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        return set_attribute(function, (int)attribute, &l->batch, sizeof l->batch, from, size);
    if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
        return set_attribute(function, (int)attribute, &l->stride, sizeof l->stride, from, size);
    return set_attribute(function, (int)attribute, NULL, 0, from, size);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *descriptor) {
    BLAS_FAULT("cublasLtMatmulPreferenceCreate");
    preference *created = sim_create(CUDA_SIM_LT_PREFERENCE, sizeof *created);
    *descriptor = (void *)created;
    if (!created) return CUBLAS_STATUS_ALLOC_FAILED;
    created->reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
    for (int i = 0; i < OPERANDS; i++)
        created->alignment[i] = CUBLASLT_LARGEST_ALIGNMENT;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t descriptor) {
    return end_descriptor(descriptor, CUDA_SIM_LT_PREFERENCE, "cublasLtMatmulPreferenceDestroy");
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t descriptor,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *from, size_t size) {
    static const char function[] = "cublasLtMatmulPreferenceSetAttribute";
    BLAS_FAULT(function);
    if (!sim_check(descriptor, CUDA_SIM_LT_PREFERENCE, function))
        return CUBLAS_STATUS_INVALID_VALUE;
    preference *p = (void *)descriptor;
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set_attribute(function, (int)attribute, &p->workspace, sizeof p->workspace, from,
                             size);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set_attribute(function, (int)attribute, &p->reduction, sizeof p->reduction, from,
                             size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: {
        uint32_t *place = &p->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
        BLAS_TRY(set_attribute(function, (int)attribute, place, sizeof *place, from, size));
        if (*place && *place <= CUBLASLT_LARGEST_ALIGNMENT && !(*place & (*place - 1)))
            return CUBLAS_STATUS_SUCCESS;
        return BLAS_DEFECT("%s: an alignment of %u bytes", function, *place);
    }
    default:
        return set_attribute(function, (int)attribute, NULL, 0, from, size);
    }
}
