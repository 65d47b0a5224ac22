/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads for the baselines: the caller and one thread for each other core. */
#include <stdatomic.h>

#include "machine/clock.h"
#include "machine/machine.h"
#include "platform/process.h"
#include "platform/threads.h"

enum { MAX_THREADS = 256 };

#define START                                                                                      \
    { .once = TDMI_ONCE_INIT, .lock = TDMI_MUTEX_INIT }

static struct pool {
    tdmi_once once;
    tdmi_mutex lock;
    tdmi_cond wake;
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
    tdmi_mutex_lock(&pool.lock);
    while (atomic_load(&pool.generation) == seen)
        tdmi_cond_wait(&pool.wake, &pool.lock);
    tdmi_mutex_unlock(&pool.lock);
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
    pool.threads = 1;
    const int count = tdmi_cond_init(&pool.wake) ? tdmi_process_cores() : 1;
    while (pool.threads < count && pool.threads < MAX_THREADS &&
           tdmi_thread_start(NULL, run_thread, (void *)(intptr_t)pool.threads))
        pool.threads++;
}

int bench_threads(void) {
    tdmi_once_run(&pool.once, start);
    return pool.threads;
}

void bench_parallel(void (*body)(void *context, int thread), void *context) {
    const int threads = bench_threads();
    if (threads > 1) {
        tdmi_mutex_lock(&pool.lock);
        pool.body = body;
        pool.context = context;
        atomic_store(&pool.running, threads - 1);
        atomic_fetch_add(&pool.generation, 1);
        tdmi_cond_broadcast(&pool.wake);
        tdmi_mutex_unlock(&pool.lock);
    }
    body(context, 0);
    while (threads > 1 && atomic_load(&pool.running) > 0)
        ;
}
