/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The baseline of a product on the host's cores: the fastest of the BLAS libraries that are installed, with
 * its own threads. Each runs in a separate process, which is stopped while Tandem is measured: idle threads
 * of a second pool spin for milliseconds, and would be in the way. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baselines/baseline.h"
#include "baselines/blas.h"
#include "machine/clock.h"
#include "machine/machine.h"
#include "reference/values.h"

typedef struct host_gemm {
    bench_product product; /* of the first set */
    int64_t batch;
    size_t bytes[3]; /* of A, B and C in one set */
    char *memory[3]; /* all sets */
    unsigned sets, next_set;
    int library, threads;
    pid_t child;
    int line; /* a socket: how many calls, and the seconds of each */
} host_gemm;

/* --- in the child ------------------------------------------------------------------------------- */

static void run_products(const host_gemm *g, unsigned set, int64_t first, int64_t end) {
    bench_product p = g->product;
    for (int64_t i = first; i < end; i++) {
        char *at[3];
        for (int j = 0; j < 3; j++)
            at[j] = g->memory[j] + set * g->bytes[j] + (size_t)i * (g->bytes[j] / (size_t)g->batch);
        p.a = at[0];
        p.b = at[1];
        p.c = at[2];
        if (!bench_blas_multiply(g->library, &p)) _exit(1);
    }
}

typedef struct batch_job {
    const host_gemm *g;
    unsigned set;
} batch_job;

static void run_share(void *context, int thread) {
    const batch_job *job = context;
    const int64_t threads = bench_threads(), batch = job->g->batch;
    bench_blas_use_threads(job->g->library, 1);
    run_products(job->g, job->set, batch * thread / threads, batch * (thread + 1) / threads);
}

/* Seconds of a call. Batches have a thread per product: the library's own would be in the way. */
static double run_calls(host_gemm *g, int calls) {
    const double start = bench_now();
    for (int i = 0; i < calls; i++) {
        const unsigned set = g->next_set < g->sets ? g->next_set : 0;
        g->next_set = set + 1;
        if (g->batch == 1)
            run_products(g, set, 0, 1);
        else
            bench_parallel(run_share, &(batch_job){g, set});
    }
    return (bench_now() - start) / calls;
}

/* Ends with the parent, whose inputs it shares. It has its own C, as writing to memory that is shared with the
 * parent would copy each page at the first call. */
static void serve(host_gemm *g, int line) {
    char why[BENCH_WHY_SIZE];
    int calls;
    bench_threads_forked();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        !bench_blas_open(g->library, g->product.dtype, why))
        _exit(1);
    bench_blas_use_threads(g->library, g->threads);
    g->memory[2] = bench_alloc(g->bytes[2] * g->sets);
    if (!g->memory[2]) _exit(1);
    while (read(line, &calls, sizeof calls) == (ssize_t)sizeof calls) {
        const double seconds = run_calls(g, calls);
        if (write(line, &seconds, sizeof seconds) != (ssize_t)sizeof seconds) break;
    }
    _exit(0);
}

/* --- in the benchmark --------------------------------------------------------------------------- */

static bool start_child(host_gemm *g, int library) {
    int ends[2];
    g->library = library;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
    g->child = fork();
    if (g->child == 0) {
        close(ends[0]);
        serve(g, ends[1]);
    }
    close(ends[1]);
    g->line = ends[0];
    return g->child > 0;
}

static void end_child(host_gemm *g) {
    if (g->line < 0) return;
    close(g->line);
    if (g->child <= 0) return;
    (void)kill(g->child, SIGKILL);
    while (waitpid(g->child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Waits until the child has stopped and its cores are idle: a thread that is woken before is put onto the core of
 * the one that wakes it, and waits there for milliseconds. */
static void stop_child(host_gemm *g) {
    int status = 0;
    if (kill(g->child, SIGSTOP) != 0) return;
    while (waitpid(g->child, &status, WUNTRACED) < 0 && errno == EINTR)
        ;
    if (!WIFSTOPPED(status)) g->child = 0; /* it has ended, and its number may be another's */
}

/* Seconds of a call; negative when the child has gone. */
static double sample(void *state, int calls) {
    host_gemm *g = state;
    double seconds = -1.0;
    if (g->child <= 0) return seconds;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    (void)kill(g->child, SIGCONT);
    if (write(g->line, &calls, sizeof calls) != (ssize_t)sizeof calls ||
        read(g->line, &seconds, sizeof seconds) != (ssize_t)sizeof seconds)
        seconds = -1.0;
    stop_child(g);
    (void)signal(SIGPIPE, before);
    return seconds;
}

/* The least of some calls' seconds, after a first one, which sets up the library. */
static double try_library(host_gemm *g) {
    double fastest = sample(g, 1), spent = fastest;
    for (int i = 0, calls = 1; i < 20 && spent < 0.2 && fastest >= 0.0; i++) {
        const double seconds = sample(g, calls);
        if (seconds < 0.0) return -1.0;
        spent += seconds * calls;
        if (seconds < fastest) fastest = seconds;
        while (calls < 10000 && calls * fastest < 2e-3)
            calls *= 2;
    }
    return fastest;
}

static void destroy_gemm(void *state) {
    host_gemm *g = state;
    end_child(g);
    free(g);
}

static void free_operands(const host_gemm *g) {
    for (int j = 0; j < 3; j++)
        bench_free(g->memory[j]);
}

/* The inputs of the case in the product's dtype, which for 16-bit ones may be f32. */
static bool fill_operands(host_gemm *g, const bench_request *request) {
    const size_t size = tdm_dtype_size(request->dtype);
    for (int j = 0; j < 3; j++) {
        g->memory[j] = bench_alloc(g->bytes[j] * g->sets);
        if (!g->memory[j]) return false;
        if (j == 2) continue;
        const int64_t count = (int64_t)(request->bytes[j] / size);
        const char *input = request->input[j];
        for (int64_t i = 0; g->product.dtype != request->dtype && i < count; i++)
            ((float *)(void *)g->memory[j])[i] =
                (float)decode(request->dtype, input + (size_t)i * size);
        if (g->product.dtype == request->dtype) memcpy(g->memory[j], input, g->bytes[j]);
        for (unsigned set = 1; set < g->sets; set++)
            memcpy(g->memory[j] + set * g->bytes[j], g->memory[j], g->bytes[j]);
    }
    return true;
}

/* Tries the libraries that have the product in its dtype. The child of the fastest goes on; the others have ended.
 * Returns its seconds, or less than 0. */
static double choose_library(host_gemm *g, char *why) {
    double fastest = -1.0;
    host_gemm best = *g;
    for (int library = 0; library < BENCH_BLAS_COUNT; library++) {
        host_gemm tried = *g;
        char reason[BENCH_WHY_SIZE];
        if (!bench_blas_open(library, g->product.dtype, reason)) continue;
        const double seconds = start_child(&tried, library) ? try_library(&tried) : -1.0;
        if (seconds < 0.0 || (fastest >= 0.0 && seconds >= fastest)) {
            if (seconds < 0.0)
                snprintf(why, BENCH_WHY_SIZE, "no process for %s could be made, or it ended",
                         bench_blas_library(library));
            end_child(&tried);
            continue;
        }
        if (fastest >= 0.0) end_child(&best);
        fastest = seconds;
        best = tried;
    }
    *g = best;
    return fastest;
}

/* The product in a dtype by the fastest library that has it so; its seconds, or below 0. */
static double begin(host_gemm *g, const bench_request *request, tdm_dtype dtype, char *why) {
    const bench_shape *shape = &request->shape;
    *g = (host_gemm){.product = {.dtype = dtype,
                                 .transpose_b = request->transpose_b,
                                 .m = (int)shape->extent[0],
                                 .n = (int)shape->extent[1],
                                 .k = (int)shape->extent[2]},
                     .batch = shape->batch,
                     .sets = request->sets,
                     .threads = request->device->compute_units,
                     .line = -1};
    for (int j = 0; j < 3; j++)
        g->bytes[j] = request->bytes[j] / tdm_dtype_size(request->dtype) * tdm_dtype_size(dtype);
    double seconds = -1.0;
    if (fill_operands(g, request))
        seconds = choose_library(g, why);
    else
        snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
    free_operands(g); /* the child has its own */
    return seconds;
}

bool bench_host_gemm_create(const bench_request *request, bench_baseline *baseline, char *why) {
    const bool narrow = request->dtype == TDM_F16 || request->dtype == TDM_BF16;
    host_gemm *g = calloc(1, sizeof *g), wide;
    snprintf(why, BENCH_WHY_SIZE,
             g ? "no BLAS library is installed" : "no memory for the baseline");
    if (!g) return false;
    double seconds = begin(g, request, request->dtype, why);
    if (narrow) { /* or the same in f32, if that is faster or all there is */
        const double others = begin(&wide, request, TDM_F32, why);
        const bool better = others >= 0.0 && (seconds < 0.0 || others < seconds);
        end_child(better ? g : &wide);
        if (better) {
            *g = wide;
            seconds = others;
        }
    }
    if (seconds < 0.0) {
        free(g);
        return false;
    }
    char name[32];
    *baseline = (bench_baseline){.state = g, .sample = sample, .destroy = destroy_gemm};
    snprintf(baseline->name, sizeof baseline->name, "%s%s%s",
             bench_blas_name(g->library, g->product.dtype, name, sizeof name),
             g->product.dtype == request->dtype ? "" : " in f32",
             g->batch > 1 ? ", thread per product" : "");
    return true;
}
