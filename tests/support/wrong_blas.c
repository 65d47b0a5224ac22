/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A BLAS that is the fastest of all, and wrong: every element of C is 0. */
#include <string.h>

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc) {
    (void)order, (void)ta, (void)tb, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb,
        (void)beta;
    for (int i = 0; i < m; i++)
        memset(c + (size_t)i * (size_t)ldc, 0, (size_t)n * sizeof *c);
}

void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc) {
    (void)order, (void)ta, (void)tb, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb,
        (void)beta;
    for (int i = 0; i < m; i++)
        memset(c + (size_t)i * (size_t)ldc, 0, (size_t)n * sizeof *c);
}
