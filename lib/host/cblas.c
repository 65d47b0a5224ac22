/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's CBLAS (OpenBLAS, BLIS, MKL or the reference), opened at run time. */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "backend.h"
#include "machine/env.h"

/* The CBLAS interface (BLAS Technical Forum 2001) with 32-bit integers. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };
typedef void sgemm_function(int, int, int, int, int, int, float, const float *, int, const float *,
                            int, float, float *, int);
typedef void dgemm_function(int, int, int, int, int, int, double, const double *, int,
                            const double *, int, double, double *, int);

static sgemm_function *cblas_sgemm;
static dgemm_function *cblas_dgemm;
/* OpenBLAS and BLIS only: how many threads a product may use. */
static void (*openblas_set_num_threads)(int);
static int (*openblas_get_num_threads)(void);

static const char *const names[] = {"libopenblas.so.0", "libcblas.so.3", "libblis.so.4",
                                    "libmkl_rt.so.2",   "libblas.so.3",  NULL};
static tdmi_library library = {
    .title = "CBLAS", .names = names, .advice = "install OpenBLAS (Debian: libopenblas0)"};
static const tdmi_symbol symbols[] = {
    {"cblas_sgemm", (void (**)(void)) & cblas_sgemm, false},
    {"cblas_dgemm", (void (**)(void)) & cblas_dgemm, false},
    {"openblas_set_num_threads", (void (**)(void)) & openblas_set_num_threads, true},
    {"openblas_get_num_threads", (void (**)(void)) & openblas_get_num_threads, true},
};
enum { SYMBOL_COUNT = sizeof symbols / sizeof *symbols };

/* Held for reading by products; for writing while OpenBLAS, whose number of threads is global, is
 * set to one thread, and from the process's end on. Writers first where the C library knows that,
 * or products without a pause would hold up the process's end. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t thread_setting = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
static pthread_rwlock_t thread_setting = PTHREAD_RWLOCK_INITIALIZER;
#endif

static _Thread_local bool in_product;

/* When the process ends OpenBLAS takes itself down, and a product that another thread is in
 * crashes: it is waited for, within reason, and the next one waits for ever. The thread that ends
 * the process is refused the lock, which it has, and goes on; one that ends it from inside a
 * product, in a signal handler, waits for nobody. As a destructor this comes after the program's
 * own, which may join threads that still multiply, and before those of libraries opened later than
 * this one. */
__attribute__((destructor)) static void hold_products(void) {
    enum { SECONDS = 5 };
    struct timespec until;
    if (tdmi_forked || in_product || clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec += SECONDS;
    (void)pthread_rwlock_timedwrlock(&thread_setting, &until);
}

static tdm_status open_library(void) { return tdmi_library_open(&library, symbols, SYMBOL_COUNT); }

static void diagnose(void) { tdmi_library_diagnose(&library, symbols, SYMBOL_COUNT); }

/* No epilogue, and a dtype and sizes that CBLAS has. */
static bool supports(const tdmi_gemm *gemm) {
    return !gemm->bias && gemm->activation == TDM_ACTIVATION_NONE &&
           (gemm->dtype == TDM_F32 || gemm->dtype == TDM_F64) && gemm->m <= INT_MAX &&
           gemm->n <= INT_MAX && gemm->k <= INT_MAX && gemm->lda <= INT_MAX &&
           gemm->ldb <= INT_MAX && gemm->ldc <= INT_MAX && gemm->batch <= UINT32_MAX;
}

static void product(const tdmi_host_gemm *gemm, int64_t index) {
    int ta = gemm->transpose_a ? CBLAS_TRANS : CBLAS_NO_TRANS;
    int tb = gemm->transpose_b ? CBLAS_TRANS : CBLAS_NO_TRANS;
    int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k;
    int lda = (int)gemm->lda, ldb = (int)gemm->ldb, ldc = (int)gemm->ldc;
    if (gemm->dtype == TDM_F32)
        cblas_sgemm(CBLAS_ROW_MAJOR, ta, tb, m, n, k, (float)gemm->alpha,
                    (const float *)gemm->a + index * gemm->a_stride, lda,
                    (const float *)gemm->b + index * gemm->b_stride, ldb, (float)gemm->beta,
                    (float *)gemm->c + index * gemm->c_stride, ldc);
    else
        cblas_dgemm(CBLAS_ROW_MAJOR, ta, tb, m, n, k, gemm->alpha,
                    (const double *)gemm->a + index * gemm->a_stride, lda,
                    (const double *)gemm->b + index * gemm->b_stride, ldb, gemm->beta,
                    (double *)gemm->c + index * gemm->c_stride, ldc);
}

typedef struct batch_share {
    const tdmi_host_gemm *gemm;
    uint32_t parts;
} batch_share;

static void run_share(void *context, uint32_t part) {
    const batch_share *share = context;
    int64_t batch = share->gemm->batch;
    for (int64_t i = batch * part / share->parts; i < batch * (part + 1) / share->parts; i++)
        product(share->gemm, i);
}

/* Products too small to be worth threads of their own go to one thread each. */
static bool thread_per_product(const tdmi_host_gemm *gemm) {
    double flops = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    return gemm->batch >= 2 * tdmi_worker_count() && flops < 64e6 && tdmi_worker_count() > 1 &&
           openblas_set_num_threads && openblas_get_num_threads;
}

static void multiply(const tdmi_host_gemm *gemm) {
    if (!thread_per_product(gemm)) {
        bool locked = pthread_rwlock_rdlock(&thread_setting) == 0;
        for (int64_t i = 0; i < gemm->batch; i++)
            product(gemm, i);
        if (locked) pthread_rwlock_unlock(&thread_setting);
        return;
    }
    uint32_t parts = (uint32_t)tdmi_worker_count() * 8;
    if ((int64_t)parts > gemm->batch) parts = (uint32_t)gemm->batch;
    bool locked = pthread_rwlock_wrlock(&thread_setting) == 0;
    int before = openblas_get_num_threads();
    openblas_set_num_threads(1);
    tdmi_parallel(parts, run_share, &(batch_share){gemm, parts}, gemm->next);
    openblas_set_num_threads(before);
    if (locked) pthread_rwlock_unlock(&thread_setting);
}

/* One product with CBLAS's own threads, a batch of small ones with a thread per product. */
static void run(const tdmi_host_gemm *gemm) {
    in_product = true;
    multiply(gemm);
    in_product = false;
}

const tdmi_host_blas tdmi_host_blas_cblas = {
    .open = open_library, .diagnose = diagnose, .supports = supports, .gemm = run};
