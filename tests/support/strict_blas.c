/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A BLAS that ends the process where it is called in a way that a real one does not survive. KIND is
 *
 *   OPENMP  an OpenBLAS with OpenMP's threads: its number of threads must not be set, and OpenMP's must be 1; it binds
 *           the thread that opens it to a core
 *   BLIS    a BLIS since 1.0, where each thread has its own number, which must be 1
 *   ILP64   one with 64-bit integers, which must not be called
 *   OLD     an OpenBLAS that does not know the processor, and is used only where it is named */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPENMP, BLIS, ILP64, OLD };
typedef int64_t integer; /* of cblas_isamax: its caller may give the upper half of n */

static _Thread_local int threads = KIND == OLD ? 1 : 4;

static void fail(const char *why) {
    fprintf(stderr, "strict_blas: %s\n", why);
    abort();
}

uint64_t cblas_isamax(integer n, const float *x, integer step);
uint64_t cblas_isamax(integer n, const float *x, integer step) {
    uint64_t at = 0;
    if (KIND != ILP64) n = (int)n;
    for (integer i = 1; i < n; i++)
        if (x[i * step] > x[(integer)at * step]) at = (uint64_t)i;
    return at;
}

#define GEMM(name, type)                                                                           \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda,  \
              const type *b, int ldb, type beta, type *c, int ldc);                                \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda,  \
              const type *b, int ldb, type beta, type *c, int ldc) {                               \
        if (KIND == ILP64) fail("a product");                                                      \
        if (threads != 1) fail("a product by several threads");                                    \
        if (order != 101 || ta != 111 || tb != 111 || beta != 0) fail("not simulated");            \
        for (int i = 0; i < m; i++)                                                                \
            for (int j = 0; j < n; j++) {                                                          \
                type sum = 0;                                                                      \
                for (int p = 0; p < k; p++)                                                        \
                    sum += a[i * lda + p] * b[p * ldb + j];                                        \
                c[i * ldc + j] = alpha * sum;                                                      \
            }                                                                                      \
    }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)

#if KIND == 0
#ifdef CPU_SETSIZE
__attribute__((constructor)) static void bind_thread(void) {
    cpu_set_t cores, first;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
    CPU_ZERO(&first);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &cores)) CPU_SET(i, &first);
    (void)sched_setaffinity(0, sizeof first, &first);
}
#endif
int openblas_get_parallel(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int number);
int omp_get_max_threads(void);
void omp_set_num_threads(int number);
int openblas_get_parallel(void) { return 2; }
int openblas_get_num_threads(void) { return 4; }
void openblas_set_num_threads(int number) {
    (void)number;
    fail("the process's number of threads is set");
}
int omp_get_max_threads(void) { return threads; }
void omp_set_num_threads(int number) { threads = number; }
#elif KIND == 1
int64_t bli_thread_get_num_threads(void);
void bli_thread_set_num_threads(int64_t number);
int64_t bli_thread_get_num_threads(void) { return threads; }
void bli_thread_set_num_threads(int64_t number) { threads = (int)number; }
#endif
#if KIND == 3
const char *openblas_get_corename(void);
const char *openblas_get_corename(void) { return "Prescott"; }
#endif
