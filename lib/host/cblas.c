/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by libraries that have the CBLAS interface (BLAS Technical Forum 2001), opened at run time:
 * OpenBLAS, MKL, BLIS, and what the system calls its CBLAS, which may be the reference. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "base/env.h"
#include "base/findings.h"

#include "host/one_thread.h"
#include "platform/path.h"
#include "system_names.h"

/* With 32-bit integers. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef void sgemm_function(int, int, int, int, int, int, float, const float *, int, const float *,
                            int, float, float *, int);
typedef void dgemm_function(int, int, int, int, int, int, double, const double *, int,
                            const double *, int, double, double *, int);

typedef struct cblas_library {
    tdmi_library library;
    sgemm_function *sgemm;
    dgemm_function *dgemm;
    int64_t (*isamax)(int64_t, const float *, int64_t); /* see has_64_bit_integers */
    /* How many threads a product takes: of OpenBLAS a setting of the whole process, where its threads are not OpenMP's;
     * of BLIS the same, since 1.0 of each thread … */
    int (*openblas_parallel)(void);
    int (*openblas_get)(void);
    void (*openblas_set)(int);
    int64_t (*blis_get)(void);
    void (*blis_set)(int64_t);
    void (*blis_reset)(void);
    /* … and of OpenMP or MKL. */
    tdmi_one_thread threads;
    const char *(*openblas_core)(void);
    void (*atlas)(void), (*flexiblas)(void), (*blis)(void); /* of other libraries that are fast */
    tdmi_mutex lock;
    int products; /* that are running, for which the process's setting is 1 */
    int before;   /* the setting that it had */
} cblas_library;

#define SYMBOLS(c)                                                                                 \
    {                                                                                              \
        {"cblas_sgemm", (void (**)(void)) & (c).sgemm, false},                                     \
            {"cblas_dgemm", (void (**)(void)) & (c).dgemm, false},                                 \
            {"cblas_isamax", (void (**)(void)) & (c).isamax, true},                                \
            {"openblas_get_parallel", (void (**)(void)) & (c).openblas_parallel, true},            \
            {"openblas_get_num_threads", (void (**)(void)) & (c).openblas_get, true},              \
            {"openblas_set_num_threads", (void (**)(void)) & (c).openblas_set, true},              \
            {"bli_thread_get_num_threads", (void (**)(void)) & (c).blis_get, true},                \
            {"bli_thread_set_num_threads", (void (**)(void)) & (c).blis_set, true},                \
            {"bli_thread_reset", (void (**)(void)) & (c).blis_reset, true},                        \
            {"MKL_Set_Num_Threads_Local", (void (**)(void)) & (c).threads.exchange, true},         \
            {"omp_get_max_threads", (void (**)(void)) & (c).threads.get, true},                    \
            {"openblas_get_corename", (void (**)(void)) & (c).openblas_core, true},                \
            {"ATL_buildinfo", (void (**)(void)) & (c).atlas, true},                                \
            {"flexiblas_get_version", (void (**)(void)) & (c).flexiblas, true},                    \
            {"bli_info_get_version_str", (void (**)(void)) & (c).blis, true}, {                    \
            "omp_set_num_threads", (void (**)(void)) & (c).threads.set, true                       \
        }                                                                                          \
    }
enum { SYMBOL_COUNT = 16, OPENMP = 2 };

/* OpenBLAS frees the buffers of other threads' products where the number of OpenMP's threads is set (its
 * adjust_thread_buffers), so that one is left alone: of such threads each sets its own. */
static int threads_of_process(const cblas_library *c) {
    if (c->openblas_get && c->openblas_set) {
        const bool openmp = c->openblas_parallel && c->openblas_parallel() == OPENMP;
        return openmp && c->threads.set ? 1 : c->openblas_get();
    }
    return c->blis_get && c->blis_set ? (int)c->blis_get() : 1;
}

static void set_threads_of_process(const cblas_library *c, int threads) {
    if (c->openblas_set)
        c->openblas_set(threads);
    else
        c->blis_set(threads);
}

static void begin(cblas_library *c) {
    TDMI_LOCKED(&c->lock);
    if (c->products++ == 0) {
        c->before = threads_of_process(c);
        if (c->before > 1) set_threads_of_process(c, 1);
    }
}

/* A number that the program has set since then stays. */
static void end(cblas_library *c) {
    TDMI_LOCKED(&c->lock);
    if (--c->products == 0 && c->before > 1 && threads_of_process(c) == 1)
        set_threads_of_process(c, c->before);
}

/* No epilogue, and a dtype and sizes that CBLAS has. */
static bool supports(const tdmi_gemm *gemm) {
    return !gemm->bias && gemm->activation == TDM_ACTIVATION_NONE &&
           (gemm->dtype == TDM_F32 || gemm->dtype == TDM_F64) && gemm->m <= INT_MAX &&
           gemm->n <= INT_MAX && gemm->k <= INT_MAX && gemm->lda <= INT_MAX &&
           gemm->ldb <= INT_MAX && gemm->ldc <= INT_MAX;
}

static void product(const cblas_library *c, const tdmi_host_gemm *gemm) {
    const int ta = gemm->transpose_a ? TRANS : NO_TRANS, tb = gemm->transpose_b ? TRANS : NO_TRANS;
    const int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k;
    const int lda = (int)gemm->lda, ldb = (int)gemm->ldb, ldc = (int)gemm->ldc;
    const int before = tdmi_one_thread_begin(&c->threads);
    const int64_t of_blis = c->blis_get && c->blis_set ? c->blis_get() : 1;
    if (of_blis > 1) c->blis_set(1);
    if (gemm->dtype == TDM_F32)
        c->sgemm(ROW_MAJOR, ta, tb, m, n, k, (float)gemm->alpha, gemm->a, lda, gemm->b, ldb,
                 (float)gemm->beta, gemm->c, ldc);
    else
        c->dgemm(ROW_MAJOR, ta, tb, m, n, k, gemm->alpha, gemm->a, lda, gemm->b, ldb, gemm->beta,
                 gemm->c, ldc);
    if (of_blis > 1) c->blis_reset ? c->blis_reset() : c->blis_set(of_blis);
    tdmi_one_thread_end(&c->threads, before);
}

/* Such a library has the same names on some systems. Of a number whose lower half is 3 it sees a negative one. */
static bool has_64_bit_integers(const cblas_library *c) {
    static const float x[3] = {1, 2, 1};
    return sizeof(void *) == 8 && c->isamax && (int)c->isamax(INT64_MIN + 3, x, 1) != 1;
}

/* Why products by the library take two to three times as long as by the builtin kernels for AVX2 and AVX-512; NULL
 * where they do not. OpenBLAS takes a processor that is newer than itself for a Prescott of 2004. */
static const char *why_slow(const cblas_library *c, tdmi_blas_id id) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) return NULL;
    if (c->openblas_core && strcmp(c->openblas_core(), "Prescott") == 0)
        return "does not know this processor: set OPENBLAS_CORETYPE to HASWELL or SKYLAKEX, or "
               "install a newer one";
    const bool is_fast =
        c->openblas_core || c->threads.exchange || c->blis || c->atlas || c->flexiblas;
    if (id == TDMI_BLAS_cblas && !is_fast) return "seems to be the reference BLAS";
#endif
    (void)c, (void)id;
    return NULL;
}

static tdm_status open_library(cblas_library *c, const tdmi_symbol *symbols, tdmi_blas_id id) {
    TDMI_TRY(tdmi_library_open(&c->library, symbols, SYMBOL_COUNT));
    if (has_64_bit_integers(c))
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "%s at %s has 64-bit integers, not those of 32 bits", c->library.title,
                         c->library.found);
    const char *why = tdmi_env_names_blas((int)id) ? NULL : why_slow(c, id);
    if (!why) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE, "%s is used only where TANDEM_BLAS names it, as it %s",
                     c->library.found, why);
}

/* A slow library is no fault. */
static void diagnose(cblas_library *c, const tdmi_symbol *symbols, tdm_status (*open)(void)) {
    char subject[160];
    if (open() == TDM_OK || c->library.status != TDM_OK || has_64_bit_integers(c)) {
        tdmi_library_diagnose_by(&c->library, symbols, SYMBOL_COUNT, open);
        return;
    }
    snprintf(subject, sizeof subject, "%.100s (%s)",
             c->library.found + tdmi_path_folder_length(c->library.found), c->library.title);
    tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, true, subject, tdm_last_error(), "");
}

/* The provider of a library with these names. */
#define PROVIDER(name, its_title, its_advice, ...)                                                 \
    static const char *const name##_names[] = {__VA_ARGS__, NULL};                                 \
    static cblas_library name = {                                                                  \
        .library = {.title = its_title, .names = name##_names, .advice = its_advice},              \
        .lock = TDMI_MUTEX_INIT};                                                                  \
    static const tdmi_symbol name##_symbols[SYMBOL_COUNT] = SYMBOLS(name);                         \
    static tdm_status name##_open(void) {                                                          \
        return open_library(&name, name##_symbols, TDMI_BLAS_##name);                              \
    }                                                                                              \
    static void name##_diagnose(void) { diagnose(&name, name##_symbols, name##_open); }            \
    static void name##_begin(void) { begin(&name); }                                               \
    static void name##_end(void) { end(&name); }                                                   \
    static bool name##_product(const tdmi_host_gemm *gemm, void *plan) {                           \
        (void)plan;                                                                                \
        product(&name, gemm);                                                                      \
        return true;                                                                               \
    }                                                                                              \
    const tdmi_host_blas tdmi_host_blas_##name = {.id = TDMI_BLAS_##name,                          \
                                                  .library = &name.library,                        \
                                                  .open = name##_open,                             \
                                                  .diagnose = name##_diagnose,                     \
                                                  .supports = supports,                            \
                                                  .begin = name##_begin,                           \
                                                  .end = name##_end,                               \
                                                  .product = name##_product};

PROVIDER(openblas, "OpenBLAS", "install OpenBLAS (" TDMI_GET_OPENBLAS ")", TDMI_NAMES_OPENBLAS)
PROVIDER(mkl, "MKL", "install Intel's MKL (PyPI: mkl)", TDMI_NAMES_MKL)
PROVIDER(blis, "BLIS", "install BLIS (" TDMI_GET_BLIS ")", TDMI_NAMES_BLIS)
PROVIDER(cblas, "CBLAS", "install a BLAS (" TDMI_GET_OPENBLAS ")", TDMI_NAMES_CBLAS)
