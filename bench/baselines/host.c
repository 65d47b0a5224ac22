/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines on the host's cores: the raw CBLAS call, and the machine's own way to move bytes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"
#include "baselines/library.h"
#include "machine/clock.h"
#include "machine/machine.h"
#include "reference/values.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

/* CBLAS with 32-bit integers, as the distributions build it. */
static struct {
    pthread_once_t once;
    bool usable;
    char why[BENCH_WHY_SIZE];
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
    int (*get_threads)(void); /* OpenBLAS only */
    void (*set_threads)(int);
    const char *(*get_config)(void);
} blas = {.once = PTHREAD_ONCE_INIT};

static void load_blas(void) {
    static const char *const names[] = {"libopenblas.so.0", "libcblas.so.3", "libblas.so.3", NULL};
    char ignored[BENCH_WHY_SIZE];
    void *library = bench_open_library(names, blas.why);
    if (!library) return;
    blas.usable = bench_resolve(library, "cblas_sgemm", &blas.sgemm, blas.why) &&
                  bench_resolve(library, "cblas_dgemm", &blas.dgemm, blas.why);
    if (!bench_resolve(library, "openblas_get_num_threads", &blas.get_threads, ignored) ||
        !bench_resolve(library, "openblas_set_num_threads", &blas.set_threads, ignored))
        blas.set_threads = NULL;
    if (!bench_resolve(library, "openblas_get_config", &blas.get_config, ignored))
        blas.get_config = NULL;
}

void bench_host_describe(json_t *libraries) {
    pthread_once(&blas.once, load_blas);
    json_object_set_new(libraries, "cblas",
                        json_string(!blas.usable      ? blas.why
                                    : blas.get_config ? blas.get_config()
                                                      : "CBLAS of unknown version"));
}

typedef struct host_gemm {
    bool is_double, transpose_b;
    int m, n, k;
    int64_t batch;
    size_t bytes[3]; /* of A, B and C in one set */
    char *memory[3]; /* all sets */
    unsigned sets;
    int threads_before;
} host_gemm;

static void run_products(const host_gemm *g, unsigned set, int64_t first, int64_t end) {
    const size_t size = g->is_double ? sizeof(double) : sizeof(float);
    const int tb = g->transpose_b ? TRANSPOSE : NO_TRANSPOSE, ldb = g->transpose_b ? g->k : g->n;
    const size_t lengths[3] = {(size_t)g->m * (size_t)g->k, (size_t)g->k * (size_t)g->n,
                               (size_t)g->m * (size_t)g->n};
    for (int64_t i = first; i < end; i++) {
        void *p[3];
        for (int j = 0; j < 3; j++)
            p[j] = g->memory[j] + set * g->bytes[j] + (size_t)i * lengths[j] * size;
        if (g->is_double)
            blas.dgemm(ROW_MAJOR, NO_TRANSPOSE, tb, g->m, g->n, g->k, 1.0, p[0], g->k, p[1], ldb,
                       0.0, p[2], g->n);
        else
            blas.sgemm(ROW_MAJOR, NO_TRANSPOSE, tb, g->m, g->n, g->k, 1.0f, p[0], g->k, p[1], ldb,
                       0.0f, p[2], g->n);
    }
}

typedef struct batch_job {
    const host_gemm *g;
    unsigned set;
} batch_job;

static void run_share(void *context, int thread) {
    const batch_job *job = context;
    const int64_t threads = bench_threads(), batch = job->g->batch;
    run_products(job->g, job->set, batch * thread / threads, batch * (thread + 1) / threads);
}

static bool call_gemm(void *state, unsigned set) {
    const host_gemm *g = state;
    if (g->batch == 1) {
        run_products(g, set, 0, 1);
    } else {
        batch_job job = {g, set};
        bench_parallel(run_share, &job);
    }
    return true;
}

/* A thread per product: CBLAS's own threads would only get in the way. */
static void enter_batch(void *state) {
    host_gemm *g = state;
    if (!blas.set_threads) return;
    g->threads_before = blas.get_threads();
    blas.set_threads(1);
}

static void leave_batch(void *state) {
    const host_gemm *g = state;
    if (blas.set_threads) blas.set_threads(g->threads_before);
}

static void destroy_gemm(void *state) {
    host_gemm *g = state;
    for (int j = 0; j < 3; j++)
        bench_free(g->memory[j], g->bytes[j] * g->sets);
    free(g);
}

/* The inputs of the case; for 16-bit types the same values as f32. */
static bool fill_gemm(host_gemm *g, const bench_request *request) {
    for (int j = 0; j < 3; j++) {
        g->memory[j] = bench_alloc(g->bytes[j] * g->sets);
        if (!g->memory[j]) return false;
        if (j == 2) continue;
        const tdm_dtype dtype = request->dtype;
        const int64_t count = (int64_t)(request->bytes[j] / tdm_dtype_size(dtype));
        const char *input = request->input[j];
        for (int64_t i = 0; dtype != TDM_F32 && dtype != TDM_F64 && i < count; i++)
            ((float *)(void *)g->memory[j])[i] =
                (float)decode(dtype, input + (size_t)i * tdm_dtype_size(dtype));
        if (dtype == TDM_F32 || dtype == TDM_F64)
            memcpy(g->memory[j], request->input[j], g->bytes[j]);
        for (unsigned set = 1; set < g->sets; set++)
            memcpy(g->memory[j] + set * g->bytes[j], g->memory[j], g->bytes[j]);
    }
    return true;
}

bool bench_host_gemm_create(const bench_request *request, bench_baseline *baseline, char *why) {
    pthread_once(&blas.once, load_blas);
    if (!blas.usable) {
        snprintf(why, BENCH_WHY_SIZE, "%s", blas.why);
        return false;
    }
    const bench_shape *shape = &request->shape;
    host_gemm *g = calloc(1, sizeof *g);
    if (g) {
        *g = (host_gemm){.is_double = request->dtype == TDM_F64,
                         .transpose_b = request->transpose_b,
                         .m = (int)shape->extent[0],
                         .n = (int)shape->extent[1],
                         .k = (int)shape->extent[2],
                         .batch = shape->batch,
                         .sets = request->sets};
        for (int j = 0; j < 3; j++)
            g->bytes[j] = request->bytes[j] / tdm_dtype_size(request->dtype) *
                          (g->is_double ? sizeof(double) : sizeof(float));
    }
    if (!g || !fill_gemm(g, request)) {
        snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
        if (g) destroy_gemm(g);
        return false;
    }
    *baseline = (bench_baseline){.state = g, .call = call_gemm, .destroy = destroy_gemm};
    if (shape->batch > 1) {
        baseline->enter = enter_batch;
        baseline->leave = leave_batch;
    }
    snprintf(baseline->name, sizeof baseline->name, "cblas %s%s%s",
             g->is_double ? "dgemm" : "sgemm",
             request->dtype == TDM_F32 || g->is_double ? "" : " in f32",
             shape->batch > 1 ? ", thread per product" : "");
    return true;
}

typedef struct host_move {
    bench_move_way way;
    size_t in, out;
    char *source, *target; /* all sets */
    unsigned sets;
} host_move;

static bool call_move(void *state, unsigned set) {
    const host_move *m = state;
    bench_move(m->way, m->source + set * m->in, m->in, m->target + set * m->out, m->out);
    return true;
}

static void destroy_move(void *state) {
    host_move *m = state;
    bench_free(m->source, m->in * m->sets);
    bench_free(m->target, m->out * m->sets);
    free(m);
}

/* Seconds of the fastest of some calls that take about a millisecond each. */
static double try_way(host_move *m, bench_move_way way) {
    m->way = way;
    double fastest = 1e9;
    unsigned set = 0;
    for (int i = 0; i < 4; i++) {
        unsigned calls = 0;
        const double start = bench_now();
        double elapsed = 0.0;
        while (elapsed < 1e-3) {
            call_move(m, set++ % m->sets);
            elapsed = bench_now() - start;
            calls++;
        }
        if (i > 0 && elapsed / calls < fastest) fastest = elapsed / calls;
    }
    return fastest;
}

static void choose_way(host_move *m) {
    double fastest = 1e9;
    bench_move_way best = {false, false, false};
    /* what is large is never fastest on one thread */
    const bool large = m->in + m->out > (size_t)32 << 20;
    for (int i = large ? 4 : 0; i < 8; i++) {
        const bench_move_way way = {(i & 4) != 0, (i & 2) != 0, (i & 1) != 0};
        if (way.fetching && (m->in == 0 || (!way.streaming && m->out > 0))) continue;
        if (way.streaming && m->out == 0) continue;
        const double seconds = try_way(m, way);
        if (seconds >= fastest) continue;
        fastest = seconds;
        best = way;
    }
    m->way = best;
}

bool bench_host_move_create(const bench_request *request, bench_baseline *baseline, char *why) {
    host_move *m = calloc(1, sizeof *m);
    if (m) {
        m->in = request->bytes_in;
        m->out = request->bytes_out;
        m->sets = request->sets;
        /* the one number that a norm leaves is not worth a store of its own */
        if (m->out < m->in / 64) m->out = 0;
        m->source = bench_alloc(m->in * m->sets);
        m->target = bench_alloc(m->out * m->sets);
    }
    if (!m || !m->source || !m->target) {
        snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
        if (m) destroy_move(m);
        return false;
    }
    choose_way(m);
    *baseline = (bench_baseline){.state = m, .call = call_move, .destroy = destroy_move};
    snprintf(baseline->name, sizeof baseline->name, "%s%s%s%s",
             m->out == 0  ? "read"
             : m->in == 0 ? "write"
                          : "copy",
             m->way.streaming ? ", streaming" : "", m->way.fetching ? ", prefetch" : "",
             m->way.all_threads ? "" : ", 1 thread");
    return true;
}
