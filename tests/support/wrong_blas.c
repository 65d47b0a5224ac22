/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A BLAS that is the fastest of all, and wrong: every element of C is 0. */
#include <string.h>

#define GEMM(name, type)                                                                           \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda,  \
              const type *b, int ldb, type beta, type *c, int ldc);                                \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda,  \
              const type *b, int ldb, type beta, type *c, int ldc) {                               \
        (void)order, (void)ta, (void)tb, (void)k, (void)alpha, (void)a, (void)lda, (void)b;        \
        (void)ldb, (void)beta;                                                                     \
        for (int i = 0; i < m; i++)                                                                \
            memset(c + (size_t)i * (size_t)ldc, 0, (size_t)n * sizeof *c);                         \
    }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
