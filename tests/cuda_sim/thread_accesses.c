/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks each access of memory by a launch that runs thread by thread: that it lies in the launch's memory, or the
 * block's, that it is aligned, that the block's memory was written before it is read, and that no two threads access
 * the same byte, one of them writing, without a barrier or a __syncwarp of both in between. */
#include <stdlib.h>
#include <sys/mman.h>

#include "threads.h"

enum { WARP = SIM_WARP };

/* How a byte was written and read last, as stamps, and by which lanes of the warp it was read. */
typedef struct cell {
    uint64_t written, read;
    uint32_t readers;
} cell;

/* Memory that a launch may use. */
typedef struct region {
    uintptr_t start;
    size_t size;
    cell *cells;
} region;

static struct {
    const sim_thread_launch *launch;
    const char *stacks;
    size_t stacks_size;
    region shared, regions[SIM_MAX_USES];
    int region_count;
    uint64_t stamp;                   /* of the thread that runs */
    unsigned syncs[SIM_MOST_THREADS]; /* __syncwarps that each has passed */
    unsigned known[SIM_MOST_THREADS]
                  [SIM_WARP]; /* such of each lane, of the last one that both were in */
} now;

/* --- order --------------------------------------------------------------------------------------
 */

/* A stamp: the block, from 1 on; the barriers that it had passed; the syncs of its warp that the thread had passed;
 * the thread. */
#define BLOCK_OF(stamp) ((stamp) >> 40)
#define EPOCH_OF(stamp) ((stamp) >> 26 & 0x3fff)
#define SYNCS_OF(stamp) ((stamp) >> 12 & 0x3fff)
#define THREAD_OF(stamp) ((unsigned)((stamp)&0xfff))
#define SEVERAL_WARPS ((uint64_t)0xfff)
#define SEVERAL_BLOCKS ((uint64_t)0xffffff << 40)

void sim_accesses_of(unsigned block, unsigned thread, unsigned epoch) {
    now.stamp = (uint64_t)(block + 1) << 40 | (uint64_t)(epoch & 0x3fff) << 26 |
                (uint64_t)(now.syncs[thread] & 0x3fff) << 12 | thread;
}

void sim_accesses_sync(unsigned first, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        now.syncs[first + (unsigned)__builtin_ctz(rest)]++;
    for (uint32_t all = mask; all; all &= all - 1)
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            const unsigned of = (unsigned)__builtin_ctz(rest);
            now.known[first + (unsigned)__builtin_ctz(all)][of] = now.syncs[first + of];
        }
}

/* Whether accesses of these lanes of a warp, the last one at this stamp, have nothing between them and now. */
static inline bool at_once(uint64_t stamp, uint32_t lanes) {
    if (!stamp || stamp == now.stamp) return false;
    if (BLOCK_OF(stamp) != BLOCK_OF(now.stamp)) return true;
    if (EPOCH_OF(stamp) != EPOCH_OF(now.stamp)) return false;
    const unsigned me = THREAD_OF(now.stamp);
    if (THREAD_OF(stamp) / WARP != me / WARP) return true;
    for (lanes &= ~(1u << me % WARP); lanes; lanes &= lanes - 1)
        if (now.known[me][__builtin_ctz(lanes)] <= SYNCS_OF(stamp)) return true;
    return false;
}

/* One more access of a byte that was read so. */
static void add_reader(cell *at) {
    const uint64_t differs = at->read ^ now.stamp;
    const uint32_t lane = 1u << THREAD_OF(now.stamp) % WARP;
    const bool alone = !at_once(at->read, at->readers);
    at->readers = alone ? lane : at->readers | lane;
    if (alone || !(differs >> 26 || THREAD_OF(differs) / WARP)) /* syncs only grow */
        at->read = now.stamp;
    else
        at->read = differs >> 40 ? SEVERAL_BLOCKS : now.stamp | SEVERAL_WARPS;
}

static bool is_same(const cell *a, const cell *b) {
    return a->written == b->written && a->read == b->read && a->readers == b->readers;
}

static void check_cells(const region *memory, size_t first, size_t size, bool writes) {
    const char *const of = memory == &now.shared ? "shared memory" : "memory";
    cell before = {0};
    for (size_t i = first; i < first + size; i++) {
        cell *const at = &memory->cells[i];
        if (i > first && is_same(at, &before)) { /* most elements were accessed whole before, too */
            *at = at[-1];
            continue;
        }
        before = *at;
        const bool written = at_once(at->written, 1u << THREAD_OF(at->written) % WARP);
        if (memory == &now.shared && !writes && !at->written)
            sim_thread_defect("reads shared memory that nothing has written, byte %zu", i);
        if (written || (writes && at_once(at->read, at->readers)))
            sim_thread_defect(
                "%s %s that another thread %s, without a barrier in between: byte %zu",
                writes ? "writes" : "reads", of, written ? "writes" : "reads", i);
        if (writes)
            at->written = now.stamp;
        else if (at->read != now.stamp)
            add_reader(at);
    }
}

/* --- places -------------------------------------------------------------------------------------
 */

/* Memory of the compiler's, not of the launch: a stack, or constants. */
static bool is_compilers(uintptr_t at, bool writes) {
    const sim_text *text = &now.launch->text;
    return at - (uintptr_t)now.stacks < now.stacks_size ||
           (!writes && (at - (uintptr_t)text->start < text->size ||
                        at - (uintptr_t)&sim_where < sizeof sim_where));
}

/* The buffer that an access misses by least. */
static void outside(uintptr_t at, size_t size, bool writes) {
    const region *near = NULL;
    ptrdiff_t least = PTRDIFF_MAX;
    for (int i = 0; i < now.region_count; i++) {
        const region *r = &now.regions[i];
        const ptrdiff_t by = at < r->start ? (ptrdiff_t)(r->start - at)
                                           : (ptrdiff_t)(at + size - (r->start + r->size));
        if (by >= least) continue;
        near = r;
        least = by;
    }
    if (near)
        sim_thread_defect("%s %zu bytes at byte %td of a buffer that has %zu",
                          writes ? "writes" : "reads", size, (ptrdiff_t)(at - near->start),
                          near->size);
    sim_thread_defect("%s %zu bytes outside of all memory", writes ? "writes" : "reads", size);
}

static void check_access(const void *address, size_t size, bool writes, bool aligned) {
    const uintptr_t at = (uintptr_t)address;
    const region *memory = at - now.shared.start < now.shared.size ? &now.shared : NULL;
    for (int i = 0; i < now.region_count && !memory; i++)
        if (at - now.regions[i].start < now.regions[i].size) memory = &now.regions[i];
    if (memory && at + size <= memory->start + memory->size) {
        if (aligned && at % size)
            sim_thread_defect("accesses %zu bytes that are not aligned", size);
        check_cells(memory, at - memory->start, size, writes);
        return;
    }
    if (!is_compilers(at, writes)) outside(at, size, writes);
}

/* The functions that -fsanitize=thread calls. */
#define HOOKS(size)                                                                                \
    void __tsan_read##size(const void *p);                                                         \
    void __tsan_write##size(const void *p);                                                        \
    void __tsan_unaligned_read##size(const void *p);                                               \
    void __tsan_unaligned_write##size(const void *p);                                              \
    void __tsan_read##size(const void *p) { check_access(p, size, false, true); }                  \
    void __tsan_write##size(const void *p) { check_access(p, size, true, true); }                  \
    void __tsan_unaligned_read##size(const void *p) { check_access(p, size, false, false); }       \
    void __tsan_unaligned_write##size(const void *p) { check_access(p, size, true, false); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(const void *p, unsigned long size);
void __tsan_write_range(const void *p, unsigned long size);
void __tsan_init(void);
void __tsan_func_entry(const void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *p, unsigned long size) { check_access(p, size, false, false); }
void __tsan_write_range(const void *p, unsigned long size) { check_access(p, size, true, false); }
void __tsan_init(void) {}
void __tsan_func_entry(const void *caller) { (void)caller; }
void __tsan_func_exit(void) {}

/* --- launches -----------------------------------------------------------------------------------
 */

static region make_region(uintptr_t start, size_t size) {
    region made = {.start = start, .size = size};
    if (!size) return made;
    made.cells = mmap(NULL, size * sizeof(cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made.cells == MAP_FAILED) abort();
    return made;
}

static void end_region(const region *made) {
    if (made->cells) munmap(made->cells, made->size * sizeof(cell));
}

void sim_accesses_begin(const sim_thread_launch *launch, const char *stacks, size_t size) {
    now.launch = launch;
    now.stacks = stacks;
    now.stacks_size = size;
    now.region_count = 0;
    for (int i = 0; i < SIM_MAX_USES; i++) {
        const sim_block *block = launch->uses[i];
        if (!block) continue;
        now.regions[now.region_count++] = make_region((uintptr_t)block->bytes, block->size);
    }
    now.shared = make_region((uintptr_t)launch->text.shared, launch->text.shared_size);
}

void sim_accesses_block(void) {
    if (now.shared.size) memset(now.shared.cells, 0, now.shared.size * sizeof(cell));
    if (now.shared.size) memset(now.launch->text.shared, 0xff, now.shared.size);
    memset(now.syncs, 0, now.launch->threads * sizeof *now.syncs);
    memset(now.known, 0, now.launch->threads * sizeof *now.known);
}

void sim_accesses_end(void) {
    end_region(&now.shared);
    for (int i = 0; i < now.region_count; i++)
        end_region(&now.regions[i]);
}
