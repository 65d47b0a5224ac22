/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A BLIS that is slow at first, in each of the calls that SLOW_BLAS="CALLS MILLISECONDS" counts, and says so, and
 * afterwards faster than any: it repeats the product of matrices that it has multiplied before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, MOST = 256 };

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);

static void wait_at_first(void) {
    static long done;
    char *rest;
    const char *text = getenv("SLOW_BLAS");
    const long calls = text ? strtol(text, &rest, 10) : 0;
    if (done++ >= calls) return;
    const struct timespec time = {.tv_nsec = strtol(rest, NULL, 10) * 1000000};
    fputs("slow_blas: a slow call\n", stderr);
    (void)nanosleep(&time, NULL);
}

static float at(const float *x, int ld, int by_rows, int row, int column) {
    return x[by_rows ? (size_t)row * (size_t)ld + (size_t)column
                     : (size_t)column * (size_t)ld + (size_t)row];
}

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc) {
    static float kept[MOST * MOST];
    static const float *of_a, *of_b;
    const int rows = order == ROW_MAJOR;
    (void)beta;
    wait_at_first();
    if (m > MOST || n > MOST) abort();
    if (of_a != a || of_b != b)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0.0;
                for (int p = 0; p < k; p++)
                    sum += (double)at(a, lda, rows == (ta == NO_TRANSPOSE), i, p) *
                           (double)at(b, ldb, rows == (tb == NO_TRANSPOSE), p, j);
                kept[rows ? i * n + j : j * m + i] = alpha * (float)sum;
            }
    of_a = a;
    of_b = b;
    for (int i = 0; i < (rows ? m : n); i++)
        memcpy(c + (size_t)i * (size_t)ldc, kept + i * (rows ? n : m),
               (size_t)(rows ? n : m) * sizeof *c);
}

void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc) {
    (void)order, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda,
        (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    abort(); /* no test has it */
}
