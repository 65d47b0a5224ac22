/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Worker threads for the host's cores.
 *
 * One parallel loop runs at a time. Its state is one 64-bit word, generation in the high half and
 * the next item in the low half, so that a worker that wakes up late can never take an item of a
 * later loop by mistake. Workers spin briefly after a loop where the next one is likely to follow
 * at once, then sleep. Where other threads are about to wake, spinning workers are in their way:
 * products and their norms in turn on PoCL took a tenth longer.
 *
 * A process lives for as long as any of its threads, so workers end soon after the last thread that has used them,
 * unless another uses them meanwhile, and are made again for the next one: a program whose threads end by pthread_exit
 * ends. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/env.h"
#include "base/threads.h"
#include "host/host.h"
#include "platform/clock.h"
#include "platform/process.h"

enum { SPIN_NANOSECONDS = 30000, ITEM_MASK_BITS = 32, STAY_NANOSECONDS = 100000000 };

typedef struct loop {
    void (*body)(void *, uint32_t);
    void *context;
    uint32_t count;
} loop;

static tdmi_once once = TDMI_ONCE_INIT;
static int worker_count = 1;
static tdmi_mutex owner = TDMI_MUTEX_INIT; /* held by the thread that runs a loop */
static tdmi_mutex sleep_lock = TDMI_MUTEX_INIT;
static tdmi_cond wake, all_left;
static int sleepers;       /* this and the next three: under sleep_lock */
static int running, users; /* workers; threads that have used them and have not ended */
static bool leaving;       /* all workers end */
static tdmi_key user;      /* set in each of these threads */
static _Thread_local bool is_user;

static loop current; /* written by the owner while no item can be taken */
static _Atomic uint32_t current_count;
static _Atomic uint64_t ticket;  /* generation << 32 | next item */
static atomic_uint done;         /* items finished in this generation */
static atomic_uint spin_time;    /* ns, after the loop in progress or the last one */
static _Thread_local int number; /* 0 in threads that are no workers */
static _Thread_local bool inside;

static void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Takes and runs items of the loop in progress; returns when there are none left. */
static void run_items(void) {
    uint64_t seen = atomic_load_explicit(&ticket, memory_order_acquire);
    for (;;) {
        uint32_t item = (uint32_t)seen;
        if (item >= atomic_load_explicit(&current_count, memory_order_acquire)) return;
        /* Succeeds only in the generation in which count was read, as each loop changes the word.
         */
        if (!atomic_compare_exchange_weak_explicit(&ticket, &seen, seen + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        current.body(current.context, item);
        atomic_fetch_add_explicit(&done, 1, memory_order_release);
        seen = atomic_load_explicit(&ticket, memory_order_acquire);
    }
}

/* Sleeps until there may be a loop. Without users for some time it is the end of all workers. */
static void sleep_some(void) {
    if (users > 0) {
        tdmi_cond_wait(&wake, &sleep_lock);
        return;
    }
    if (tdmi_cond_wait_for(&wake, &sleep_lock, STAY_NANOSECONDS) || users > 0) return;
    leaving = true;
    tdmi_cond_broadcast(&wake);
}

/* Waits until the generation differs from `generation`. False: the worker ends. */
static bool await_loop(uint32_t generation) {
    uint64_t until = tdmi_nanoseconds() + atomic_load_explicit(&spin_time, memory_order_relaxed);
    do {
        for (int i = 0; i < 64; i++) {
            if ((uint32_t)(atomic_load(&ticket) >> ITEM_MASK_BITS) != generation) return true;
            cpu_relax();
        }
    } while (tdmi_nanoseconds() < until);
    TDMI_LOCKED(&sleep_lock);
    sleepers++;
    while (!leaving && (uint32_t)(atomic_load(&ticket) >> ITEM_MASK_BITS) == generation)
        sleep_some();
    sleepers--;
    if (leaving && --running == 0) tdmi_cond_broadcast(&all_left);
    return !leaving;
}

static void *worker(void *context) {
    number = (int)(intptr_t)context;
    inside = true;
    for (uint32_t generation = 0; await_loop(generation);) {
        generation = (uint32_t)(atomic_load(&ticket) >> ITEM_MASK_BITS);
        run_items();
    }
    return NULL;
}

/* The end of a thread that has used the workers. */
static void forget_user(void *set) {
    (void)set;
    is_user = false;
    if (tdmi_forked) return;
    TDMI_LOCKED(&sleep_lock);
    if (--users == 0) tdmi_cond_broadcast(&wake);
}

/* The calling thread uses the workers from now on; makes those that have ended. */
static void use_workers(void) {
    if (is_user) return;
    is_user = true;
    tdmi_mutex_lock(&sleep_lock);
    users++;
    while (leaving && running > 0)
        tdmi_cond_wait(&all_left, &sleep_lock);
    leaving = false;
    while (running < worker_count - 1 &&
           tdmi_thread_start(NULL, worker, (void *)(intptr_t)(running + 1)))
        running++;
    tdmi_mutex_unlock(&sleep_lock);
    (void)tdmi_key_set(user, &users);
}

static void start_workers(void) {
    int wanted = tdmi_env_values()->cpu_threads;
    worker_count = wanted == 0 ? tdmi_process_cores() : wanted;
    if (worker_count == 1 || !tdmi_key_create(&user, forget_user) || !tdmi_cond_init(&wake) ||
        !tdmi_cond_init(&all_left)) {
        worker_count = 1;
        return;
    }
    use_workers();
    worker_count = running + 1;
}

int tdmi_worker_number(void) { return number; }

int tdmi_worker_count(void) {
    tdmi_once_run(&once, start_workers);
    return worker_count;
}

static void start_loop(const loop *started, tdmi_next next) {
    uint32_t generation = (uint32_t)(atomic_load(&ticket) >> ITEM_MASK_BITS) + 1;
    /* No item can be taken while count is 0; a late worker of the loop before sees that or a ticket
     * that no longer matches. */
    atomic_store_explicit(&current_count, 0, memory_order_release);
    atomic_store_explicit(&ticket, (uint64_t)generation << ITEM_MASK_BITS | UINT32_MAX,
                          memory_order_release);
    current = *started;
    atomic_store_explicit(&spin_time, next == TDMI_NEXT_LOOP ? SPIN_NANOSECONDS : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&done, 0, memory_order_relaxed);
    atomic_store_explicit(&current_count, started->count, memory_order_release);
    atomic_store(&ticket, (uint64_t)(generation + 1) << ITEM_MASK_BITS);
    TDMI_LOCKED(&sleep_lock);
    if (sleepers > 0) tdmi_cond_broadcast(&wake);
}

void tdmi_parallel(uint32_t count, void (*body)(void *context, uint32_t index), void *context,
                   tdmi_next next) {
    if (count <= 1 || inside || tdmi_worker_count() == 1 || !tdmi_mutex_trylock(&owner)) {
        for (uint32_t i = 0; i < count; i++)
            body(context, i);
        return;
    }
    use_workers();
    inside = true;
    start_loop(&(loop){body, context, count}, next);
    run_items();
    for (unsigned spins = 0; atomic_load_explicit(&done, memory_order_acquire) != count; spins++)
        if (spins < 4096)
            cpu_relax();
        else
            tdmi_thread_yield(); /* a worker has lost its core in the middle of an item */
    inside = false;
    tdmi_mutex_unlock(&owner);
}
