/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A launch run thread by thread: each thread of a block is a fiber, which gives way at barriers and shuffles. One
 * warp runs as long as it can, so that it comes ahead of the others where no barrier holds it; which warp and which
 * lane is next depends on the launch: the first, the last or any. */
#include "threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_COPIES = 64, MOST_BATCHES = 16 };
enum { WARP = SIM_WARP, WARPS = SIM_MOST_THREADS / WARP, STACK = 128 << 10, PAGE = 4096 };

/* --- fibers -------------------------------------------------------------------------------------
 */

/* Leaves this one, whose stack pointer is kept in *from, for one that has left so, or has not begun. */
typedef void *fiber;
void sim_switch(fiber *from, fiber to);
__asm__(".text\n.type sim_switch, @function\nsim_switch:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
        ".size sim_switch, . - sim_switch\n");

static void make_fiber(fiber *made, char *stack, void (*begin)(void)) {
    void **top =
        (void **)(void *)(stack + STACK) - 1; /* where a call has left its return address */
    top[0] = NULL;
    memcpy(--top, &begin, sizeof begin);
    *made = top - 6;
}

/* --- the launch that runs -----------------------------------------------------------------------
 */

sim_extents sim_where;

typedef struct thread {
    fiber fiber;
    const char *place; /* in the text, where it shuffles or waits */
    unsigned mask, size;
    int distance;
    char value[16];
    void (*work)(void *const *lanes); /* instead of a shuffle */
    sim_copy copies[MOST_COPIES];     /* on their way, the oldest first … */
    unsigned copy_count, batches[MOST_BATCHES],
        batch_count; /* … how many of each batch that has ended */
} thread;

static struct {
    pthread_mutex_t lock;
    const sim_thread_launch *launch;
    char *stacks;
    thread threads[SIM_MOST_THREADS];
    fiber caller;
    unsigned count, alive, waiting;
    /* a bit for each lane: its state */
    uint32_t ready[WARPS], shuffles[WARPS], ended[WARPS];
    uint32_t ready_warps;
    unsigned warp;
    uint32_t random;
    enum { ASCENDING, DESCENDING, RANDOM } order;
    unsigned long number; /* of this launch */
    unsigned epoch;       /* barriers that the block has passed */
    bool failed;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const order_names[] = {"ascending", "descending", "random"};

void sim_thread_defect(const char *format, ...) {
    char words[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    now.failed = true;
    sim_report("%s: block %u, thread %u: %s (%u threads, launch %lu, %s order)", now.launch->name,
               sim_where.block.x, sim_where.thread.x, words, now.count, now.number,
               order_names[now.order]);
    sim_switch(&now.threads[sim_where.thread.x].fiber, now.caller);
    abort();
}

/* --- threads ------------------------------------------------------------------------------------
 */

static unsigned pick(uint32_t bits) {
    if (now.order == DESCENDING) return 31u - (unsigned)__builtin_clz(bits);
    if (now.order == ASCENDING) return (unsigned)__builtin_ctz(bits);
    now.random = now.random * 1664525u + 1013904223u;
    const unsigned by = now.random >> 27;
    return ((unsigned)__builtin_ctz(bits >> by | (by ? bits << (32 - by) : 0)) + by) % 32;
}

static void make_ready(unsigned number) {
    now.ready[number / WARP] |= 1u << number % WARP;
    now.ready_warps |= 1u << number / WARP;
}

/* Goes on with a thread that is ready, or, when there is none, with the caller. */
static void run_next(fiber *from) {
    if (!now.ready_warps) {
        sim_switch(from, now.caller);
        return;
    }
    if (!now.ready[now.warp]) now.warp = pick(now.ready_warps);
    const unsigned lane = pick(now.ready[now.warp]);
    now.ready[now.warp] &= ~(1u << lane);
    if (!now.ready[now.warp]) now.ready_warps &= ~(1u << now.warp);
    sim_where.thread.x = now.warp * WARP + lane;
    sim_accesses_of(sim_where.block.x, sim_where.thread.x, now.epoch);
    fiber *const to = &now.threads[sim_where.thread.x].fiber;
    if (to != from) sim_switch(from, *to);
}

static void begin_thread(void) {
    now.launch->text.kernel->call(now.launch->arguments);
    thread *const me = &now.threads[sim_where.thread.x];
    if (me->copy_count) sim_thread_defect("ends with %u copies on their way", me->copy_count);
    now.ended[sim_where.thread.x / WARP] |= 1u << sim_where.thread.x % WARP;
    now.alive--;
    run_next(&me->fiber);
    abort();
}

void sim_thread_barrier(const char *place);
void sim_thread_barrier(const char *place) {
    thread *const me = &now.threads[sim_where.thread.x];
    me->place = place;
    if (++now.waiting == now.count) {
        for (unsigned i = 0; i < now.count; i++) {
            if (strcmp(now.threads[i].place, place) != 0)
                sim_thread_defect("waits at the barrier of %s, and thread %u at that of %s", place,
                                  i, now.threads[i].place);
            make_ready(i);
        }
        now.waiting = 0;
        now.epoch++;
    }
    run_next(&me->fiber);
}

static thread *other(unsigned lane) {
    return &now.threads[sim_where.thread.x / WARP * WARP + lane];
}

/* All lanes of the mask have come: each has the value of its partner. */
static void exchange(const thread *me) {
    char values[WARP][sizeof me->value];
    const unsigned first = sim_where.thread.x / WARP * WARP;
    void *lanes[WARP];
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(me->mask >> lane & 1)) continue;
        const thread *it = other(lane);
        const unsigned from = lane ^ (unsigned)me->distance;
        if (it->work != me->work)
            sim_thread_defect("is at %s, and thread %u at %s", me->place, first + lane, it->place);
        if (it->mask != me->mask || it->distance != me->distance || it->size != me->size)
            sim_thread_defect(
                "shuffles with mask %08x, distance %d and %u bytes, and thread %u with %08x, %d "
                "and %u",
                me->mask, me->distance, me->size, first + lane, it->mask, it->distance, it->size);
        if (from >= WARP || !(me->mask >> from & 1))
            sim_thread_defect("thread %u shuffles with lane %u, which is not in its mask, %08x",
                              first + lane, from, me->mask);
        memcpy(values[lane], other(from)->value, sizeof *values);
        memcpy(&lanes[lane], it->value, sizeof *lanes);
    }
    if (me->work) me->work(lanes);
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(me->mask >> lane & 1)) continue;
        memcpy(other(lane)->value, values[lane], sizeof *values);
        make_ready(first + lane);
    }
    now.shuffles[sim_where.thread.x / WARP] &= ~me->mask;
    if (me->size == 0) sim_accesses_sync(first, me->mask);
}

static void meet(const char *place, unsigned mask, int distance, void *value, unsigned size,
                 void (*work)(void *const *lanes)) {
    const unsigned lane = sim_where.thread.x % WARP, warp = sim_where.thread.x / WARP;
    thread *const me = other(lane);
    if (!(mask >> lane & 1))
        sim_thread_defect("shuffles with mask %08x, which has not its lane", mask);
    if (size > sizeof me->value) sim_thread_defect("shuffles %u bytes", size);
    me->place = place;
    me->mask = mask;
    me->distance = distance;
    me->size = size;
    me->work = work;
    memcpy(me->value, value, size);
    now.shuffles[warp] |= 1u << lane;
    if (mask & now.ended[warp])
        sim_thread_defect("shuffles with mask %08x, of which lanes %08x have ended or do not exist",
                          mask, mask & now.ended[warp]);
    if (!(mask & ~now.shuffles[warp])) exchange(me);
    run_next(&me->fiber);
    memcpy(value, me->value, size);
}

void sim_thread_shuffle(const char *place, unsigned mask, int distance, void *value, unsigned size);
void sim_thread_shuffle(const char *place, unsigned mask, int distance, void *value,
                        unsigned size) {
    meet(place, mask, distance, value, size, NULL);
}

/* An instruction of whole warps: each lane says where its operands are, and the last one has the work done for all. */
void sim_thread_together(const char *place, void *operands, void (*work)(void *const *lanes));
void sim_thread_together(const char *place, void *operands, void (*work)(void *const *lanes)) {
    meet(place, ~0u, 0, &operands, sizeof operands, work);
}

/* A shuffle of nothing, which alone orders accesses of memory. */
void sim_thread_syncwarp(const char *place, unsigned mask);
void sim_thread_syncwarp(const char *place, unsigned mask) {
    char nothing;
    sim_thread_shuffle(place, mask, 0, &nothing, 0);
}

/* --- copies that no thread waits for ---------------------------------------------------------------
 */

void sim_thread_copy(sim_copy copy);
void sim_thread_copy(sim_copy copy) {
    thread *const me = &now.threads[sim_where.thread.x];
    if (me->copy_count == MOST_COPIES) sim_thread_defect("has %d copies on their way", MOST_COPIES);
    me->copies[me->copy_count++] = copy;
}

static unsigned count_batched(const thread *me) {
    unsigned count = 0;
    for (unsigned i = 0; i < me->batch_count; i++)
        count += me->batches[i];
    return count;
}

void sim_thread_end_batch(void);
void sim_thread_end_batch(void) {
    thread *const me = &now.threads[sim_where.thread.x];
    if (me->batch_count == MOST_BATCHES)
        sim_thread_defect("has %d batches of copies on their way", MOST_BATCHES);
    const unsigned count = me->copy_count - count_batched(me);
    me->batches[me->batch_count++] = count;
}

/* The next copy that must be done before `most` batches are on their way; false: they are. */
bool sim_thread_next_copy(unsigned most, sim_copy *copy);
bool sim_thread_next_copy(unsigned most, sim_copy *copy) {
    thread *const me = &now.threads[sim_where.thread.x];
    while (me->batch_count > most && !me->batches[0])
        memmove(me->batches, me->batches + 1, --me->batch_count * sizeof *me->batches);
    if (me->batch_count <= most) return false;
    *copy = me->copies[0];
    memmove(me->copies, me->copies + 1, --me->copy_count * sizeof *me->copies);
    me->batches[0]--;
    return true;
}

/* --- launches -----------------------------------------------------------------------------------
 */

typedef enum thread_state { WAITS, SHUFFLES, HAS_ENDED, STATES } thread_state;

static thread_state state_of(unsigned number) {
    const uint32_t lane = 1u << number % WARP;
    return now.ended[number / WARP] & lane      ? HAS_ENDED
           : now.shuffles[number / WARP] & lane ? SHUFFLES
                                                : WAITS;
}

/* No thread is ready: they have all ended, or wait for each other. */
static void check_end(void) {
    static const char *const does[] = {"waits at the barrier of ", "shuffles at ", "has ended"};
    char words[200] = "";
    if (!now.alive || now.failed) return;
    for (int state = 0; state < STATES; state++) {
        unsigned i = 0;
        while (i < now.count && state_of(i) != (thread_state)state)
            i++;
        const size_t length = strlen(words);
        if (i < now.count)
            snprintf(words + length, sizeof words - length, "%sthread %u %s%s", length ? ", " : "",
                     i, does[state], state == HAS_ENDED ? "" : now.threads[i].place);
    }
    now.failed = true;
    sim_report("%s: block %u: no thread can go on: %s (%u threads, launch %lu, %s order)",
               now.launch->name, sim_where.block.x, words, now.count, now.number,
               order_names[now.order]);
}

static void run_block(void) {
    sim_accesses_block();
    now.epoch = now.waiting = 0;
    now.alive = now.count;
    memset(now.shuffles, 0, sizeof now.shuffles);
    for (unsigned i = 0; i < WARPS; i++) /* lanes that the block has not */
        now.ended[i] = i * WARP + WARP <= now.count ? 0
                       : i * WARP >= now.count      ? ~0u
                                                    : ~0u << now.count % WARP;
    for (unsigned i = 0; i < now.count; i++) {
        make_fiber(&now.threads[i].fiber, now.stacks + (size_t)i * STACK, begin_thread);
        now.threads[i].copy_count = now.threads[i].batch_count = 0;
        make_ready(i);
    }
    run_next(&now.caller);
    check_end();
}

/* Stacks that have a page before each that nothing may touch; they stay. */
static void make_stacks(void) {
    const size_t size = (size_t)SIM_MOST_THREADS * STACK;
    now.stacks = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (now.stacks == MAP_FAILED) abort();
    for (int i = 0; i < SIM_MOST_THREADS; i++)
        if (mprotect(now.stacks + (size_t)i * STACK, PAGE, PROT_NONE) != 0) abort();
}

static void begin_launch(const sim_thread_launch *launch) {
    static unsigned long launches;
    if (!now.stacks) make_stacks();
    now.launch = launch;
    now.number = ++launches;
    now.random = (uint32_t)(now.number * 2654435761u) ^ sim_get()->threads;
    now.random ^= now.random >> 15;
    now.order = now.random % 3;
    now.count = launch->threads;
    now.failed = false;
    now.warp = 0;
    now.ready_warps = 0;
    memset(now.ready, 0, sizeof now.ready);
    sim_accesses_begin(launch, now.stacks, (size_t)SIM_MOST_THREADS * STACK);
}

void sim_thread_run(const sim_thread_launch *launch) {
    pthread_mutex_lock(&now.lock); /* a kernel's shared memory is there once */
    begin_launch(launch);
    sim_where.grid = (sim_extent){launch->blocks, 1, 1};
    for (unsigned i = 0; i < launch->blocks && !now.failed; i++) {
        sim_where.block = (sim_extent){i, 0, 0};
        run_block();
    }
    sim_accesses_end();
    pthread_mutex_unlock(&now.lock);
}
