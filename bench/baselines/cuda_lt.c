/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "baselines/cuda_lt.h"

#include "baselines/library.h"

#define MEMBER(name) __typeof__(name) *name;
static struct { TDMI_CUBLASLT_LIST(MEMBER) MEMBER(cublasLtDestroy) } lib;
#undef MEMBER

bool bench_lt_load(void *library, char *why) {
#define RESOLVE(name) &&bench_resolve(library, #name, &lib.name, why)
    return library TDMI_CUBLASLT_LIST(RESOLVE) RESOLVE(cublasLtDestroy);
#undef RESOLVE
}

static bool good(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

/* A row-major matrix, which is the column-major one of as many rows as this has columns. */
static bool make_layout(const bench_lt_product *p, int rows, int cols,
                        cublasLtMatrixLayout_t *layout) {
    const int32_t batch = p->batch;
    const int64_t stride = (int64_t)rows * cols;
    return good(lib.cublasLtMatrixLayoutCreate(layout, p->type, (uint64_t)cols, (uint64_t)rows,
                                               cols)) &&
           (batch == 1 ||
            (good(lib.cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                       &batch, sizeof batch)) &&
             good(lib.cublasLtMatrixLayoutSetAttribute(
                 *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride))));
}

/* Bytes to which every matrix of a batch is aligned; one alone is as aligned as the library may ask. */
static uint32_t alignment_of(const bench_lt_product *p, int rows, int cols) {
    const size_t size = p->type == CUDA_R_64F ? 8 : p->type == CUDA_R_32F ? 4 : 2;
    const size_t bytes = p->batch == 1 ? 256 : (size_t)rows * (size_t)cols * size;
    const size_t lowest = bytes & (~bytes + 1);
    return lowest > 256 ? 256 : (uint32_t)lowest;
}

static bool find_algorithms(bench_lt *lt, const bench_lt_product *p) {
    const uint64_t workspace = BENCH_LT_WORKSPACE;
    const uint32_t alignment[] = {alignment_of(p, p->k, p->n), alignment_of(p, p->m, p->k),
                                  alignment_of(p, p->m, p->n), alignment_of(p, p->m, p->n)};
    cublasLtMatmulHeuristicResult_t results[BENCH_LT_ALGORITHMS];
    cublasLtMatmulPreference_t preference = NULL;
    int count = 0;
    bool fine =
        good(lib.cublasLtMatmulPreferenceCreate(&preference)) &&
        good(lib.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    for (int i = 0; i < 4 && fine; i++)
        fine = good(lib.cublasLtMatmulPreferenceSetAttribute(
            preference,
            (cublasLtMatmulPreferenceAttributes_t)(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i),
            &alignment[i], sizeof alignment[i]));
    fine = fine && good(lib.cublasLtMatmulAlgoGetHeuristic(
                       lt->handle, lt->operation, lt->layout[0], lt->layout[1], lt->layout[2],
                       lt->layout[2], preference, BENCH_LT_ALGORITHMS, results, &count));
    if (preference) lib.cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; fine && i < count; i++)
        if (good(results[i].state)) lt->algorithm[lt->count++] = results[i].algo;
    return lt->count > 0;
}

bool bench_lt_begin(bench_lt *lt, const bench_lt_product *p) {
    const int32_t transpose = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int b_rows = p->transpose_b ? p->n : p->k, b_cols = p->transpose_b ? p->k : p->n;
    *lt = (bench_lt){0};
    return good(lib.cublasLtCreate(&lt->handle)) &&
           good(lib.cublasLtMatmulDescCreate(&lt->operation, p->compute,
                                             p->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F)) &&
           good(lib.cublasLtMatmulDescSetAttribute(lt->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                   &transpose, sizeof transpose)) &&
           make_layout(p, b_rows, b_cols, &lt->layout[0]) &&
           make_layout(p, p->m, p->k, &lt->layout[1]) &&
           make_layout(p, p->m, p->n, &lt->layout[2]) && find_algorithms(lt, p);
}

void bench_lt_end(bench_lt *lt) {
    for (int i = 0; i < 3; i++)
        if (lt->layout[i]) lib.cublasLtMatrixLayoutDestroy(lt->layout[i]);
    if (lt->operation) lib.cublasLtMatmulDescDestroy(lt->operation);
    if (lt->handle) lib.cublasLtDestroy(lt->handle);
    *lt = (bench_lt){0};
}

bool bench_lt_multiply(const bench_lt *lt, int algorithm, const void *one, const void *zero,
                       const void *a, const void *b, void *c, void *workspace,
                       cudaStream_t stream) {
    return good(lib.cublasLtMatmul(
        lt->handle, lt->operation, one, b, lt->layout[0], a, lt->layout[1], zero, c, lt->layout[2],
        c, lt->layout[2], &lt->algorithm[algorithm], workspace, BENCH_LT_WORKSPACE, stream));
}
