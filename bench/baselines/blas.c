/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The BLAS libraries for the host's cores, called directly, with their own threads. */
#include "baselines/blas.h"

#include <stdint.h>
#include <stdio.h>

#include "baselines/baseline.h"
#include "baselines/library.h"
#include "baselines/onednn.h"
#include "machine/machine.h"
#include "system_names.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

typedef struct dnnl_version_info {
    int major, minor, patch;
} dnnl_version_info;

/* CBLAS with 32-bit integers, as the distributions build it; how many threads a product has; versions. */
typedef struct functions {
    int (*dnnl_sgemm)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha,
                      const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                      float *c, int64_t ldc);
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
    void (*set_threads)(
        int); /* of OpenBLAS and MKL; of oneDNN, which has OpenMP's: the calling thread's */
    void (*blis_set_threads)(int64_t);
    const dnnl_version_info *(*dnnl_version)(void);
    const char *(*openblas_version)(void);
    const char *(*blis_version)(void);
    void (*mkl_version)(char *text, int size);
} functions;

static struct blas {
    const char *name;
    const char *files[5];
    bool tried, usable;
    bool has_primitives; /* of oneDNN: products in 16 bits */
    char why[BENCH_WHY_SIZE];
    functions f;
} blas[BENCH_BLAS_COUNT] = {
    {.name = "oneDNN", .files = {TDMI_NAMES_ONEDNN}},
    {.name = "OpenBLAS", .files = {TDMI_NAMES_OPENBLAS}},
    {.name = "MKL", .files = {TDMI_NAMES_MKL}},
    {.name = "BLIS", .files = {TDMI_NAMES_BLIS}},
    {.name = "CBLAS", .files = {TDMI_NAMES_CBLAS}},
};

static void find(void *library, const char *symbol, void *function) {
    char ignored[BENCH_WHY_SIZE];
    (void)bench_resolve(library, symbol, function, ignored);
}

static void load(struct blas *b) {
    b->tried = true;
    void *library = bench_open_library(b->files, NULL, b->why);
    if (!library) return;
    find(library, "dnnl_sgemm", &b->f.dnnl_sgemm);
    find(library, "dnnl_version", &b->f.dnnl_version);
    find(library, "cblas_sgemm", &b->f.sgemm);
    find(library, "cblas_dgemm", &b->f.dgemm);
    find(library, "omp_set_num_threads", &b->f.set_threads);
    find(library, "openblas_set_num_threads", &b->f.set_threads);
    find(library, "MKL_Set_Num_Threads", &b->f.set_threads);
    find(library, "bli_thread_set_num_threads", &b->f.blis_set_threads);
    find(library, "openblas_get_config", &b->f.openblas_version);
    find(library, "bli_info_get_version_str", &b->f.blis_version);
    find(library, "MKL_Get_Version_String", &b->f.mkl_version);
    b->usable = b->f.dnnl_sgemm || (b->f.sgemm && b->f.dgemm);
    if (!b->usable) snprintf(b->why, sizeof b->why, "%s has no products", b->files[0]);
    char ignored[BENCH_WHY_SIZE];
    b->has_primitives = b->f.dnnl_sgemm && bench_onednn_load(library, ignored);
}

static bool has(const struct blas *b, tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F32:
        return true;
    case TDM_F64:
        return b->f.dgemm;
    default:
        return b->has_primitives && bench_onednn_has(dtype);
    }
}

bool bench_blas_open(int library, tdm_dtype dtype, char *why) {
    struct blas *b = &blas[library];
    if (!b->tried) load(b);
    const bool good = b->usable && has(b, dtype);
    if (!b->usable)
        snprintf(why, BENCH_WHY_SIZE, "%s", b->why);
    else if (!good)
        snprintf(why, BENCH_WHY_SIZE, "%s has no products in %s", b->name, tdm_dtype_name(dtype));
    return good;
}

const char *bench_blas_name(int library, tdm_dtype dtype, char *text, size_t size) {
    const char *call = dtype == TDM_F64             ? "dgemm"
                       : dtype != TDM_F32           ? "matmul"
                       : blas[library].f.dnnl_sgemm ? "dnnl_sgemm"
                                                    : "sgemm";
    snprintf(text, size, "%s %s", blas[library].name, call);
    return text;
}

const char *bench_blas_library(int library) { return blas[library].name; }

void bench_blas_version(int library, char *text, size_t size) {
    const functions *f = &blas[library].f;
    snprintf(text, size, "of unknown version");
    if (f->dnnl_version) {
        const dnnl_version_info *version = f->dnnl_version();
        snprintf(text, size, "%d.%d.%d", version->major, version->minor, version->patch);
    } else if (f->openblas_version) {
        snprintf(text, size, "%s", f->openblas_version());
    } else if (f->blis_version) {
        snprintf(text, size, "%s", f->blis_version());
    } else if (f->mkl_version) {
        f->mkl_version(text, (int)size);
    }
}

bool bench_blas_multiply(int library, const bench_product *p) {
    const functions *f = &blas[library].f;
    const int tb = p->transpose_b ? TRANSPOSE : NO_TRANSPOSE, ldb = p->transpose_b ? p->k : p->n;
    if (p->dtype == TDM_F16 || p->dtype == TDM_BF16) return bench_onednn_multiply(p);
    if (p->dtype == TDM_F32 && f->dnnl_sgemm)
        return f->dnnl_sgemm('N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1.0f, p->a, p->k,
                             p->b, ldb, 0.0f, p->c, p->n) == 0;
    if (p->dtype == TDM_F64)
        f->dgemm(ROW_MAJOR, NO_TRANSPOSE, tb, p->m, p->n, p->k, 1.0, p->a, p->k, p->b, ldb, 0.0,
                 p->c, p->n);
    else
        f->sgemm(ROW_MAJOR, NO_TRANSPOSE, tb, p->m, p->n, p->k, 1.0f, p->a, p->k, p->b, ldb, 0.0f,
                 p->c, p->n);
    return true;
}

void bench_blas_use_threads(int library, int threads) {
    const functions *f = &blas[library].f;
    if (f->set_threads) f->set_threads(threads);
    if (f->blis_set_threads) f->blis_set_threads(threads);
}
