/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The BLAS libraries for the host's cores, called directly, with their own threads. */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/tensor.h>

/* A row-major product of contiguous matrices, C = A B or A Bᵀ. */
typedef struct bench_product {
    tdm_dtype dtype;
    bool transpose_b;
    int m, n, k;
    const void *a, *b;
    void *c;
} bench_product;

/* The libraries that are looked for: oneDNN, OpenBLAS, MKL, BLIS, and the system's CBLAS. */
enum { BENCH_BLAS_COUNT = 5 };

/* Opens a library, in this process; false, and why, when it is not installed or lacks the dtype. */
bool bench_blas_open(int library, tdm_dtype dtype, char *why);

/* "oneDNN", and what is called: "oneDNN dnnl_sgemm". */
const char *bench_blas_library(int library);
const char *bench_blas_name(int library, tdm_dtype dtype, char *text, size_t size);

/* Its version, of an opened library. */
void bench_blas_version(int library, char *text, size_t size);

/* False when the library refuses it. */
bool bench_blas_multiply(int library, const bench_product *product);

/* For the calling thread's products. Libraries count a machine's cores, and not those that a quota, or
 * TANDEM_CPU_THREADS, leaves to Tandem; with 1 they start no thread. */
void bench_blas_use_threads(int library, int threads);

#endif
