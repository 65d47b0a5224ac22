/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads for the baselines: the caller and one thread for each other core. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "machine/clock.h"
#include "machine/machine.h"

enum { MAX_THREADS = 256 };

#define START                                                                                      \
    {                                                                                              \
        .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER,                              \
        .wake = PTHREAD_COND_INITIALIZER                                                           \
    }

static struct pool {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int threads;
    void (*body)(void *, int);
    void *context;
    atomic_uint generation;
    atomic_int running;
} pool = START;

void bench_threads_forked(void) { pool = (struct pool)START; }

/* A thread spins for as long as calls follow each other closely, then sleeps, so that it does not
 * disturb what is measured next. */
static const double spin_seconds = 50e-6;

static void wait_for_work(unsigned seen) {
    const double end = bench_now() + spin_seconds;
    while (bench_now() < end)
        if (atomic_load(&pool.generation) != seen) return;
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(&pool.generation) == seen)
        pthread_cond_wait(&pool.wake, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void *run_thread(void *argument) {
    const int thread = (int)(intptr_t)argument;
    for (unsigned seen = 0;; seen++) {
        wait_for_work(seen);
        pool.body(pool.context, thread);
        atomic_fetch_sub(&pool.running, 1);
    }
    return NULL;
}

static void start(void) {
    cpu_set_t cores;
    pool.threads = 1;
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0
                    ? CPU_COUNT(&cores)
                    : (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < count && i < MAX_THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_thread, (void *)(intptr_t)i) != 0) break;
        pthread_detach(thread);
        pool.threads++;
    }
}

int bench_threads(void) {
    pthread_once(&pool.once, start);
    return pool.threads;
}

void bench_parallel(void (*body)(void *context, int thread), void *context) {
    const int threads = bench_threads();
    if (threads > 1) {
        pthread_mutex_lock(&pool.lock);
        pool.body = body;
        pool.context = context;
        atomic_store(&pool.running, threads - 1);
        atomic_fetch_add(&pool.generation, 1);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    body(context, 0);
    while (threads > 1 && atomic_load(&pool.running) > 0)
        ;
}
