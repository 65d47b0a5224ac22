/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The core's own objects, and what the files of lib/ share. Not seen by backends. */
#ifndef TDMI_CORE_H
#define TDMI_CORE_H

#include <stdatomic.h>
#include <string.h>

#include <tandem/graph.h>

#include "backend.h"
#include "base/env.h"
#include "base/threads.h"
#include "machine/holders.h"
#include "tuned.h"

/* A block of memory from the driver, in use by a buffer or cached by the pool. */
typedef struct tdmi_block {
    tdmi_mem mem;
    size_t size;       /* as allocated */
    uint64_t released; /* device->sequence when it was released */
    /* The number of the queue that has used it since it was taken from the pool, TDMI_SEVERAL of more
     * than one, 0 of none; and the one that used it before it was released, 0 where that work is over. See order.c. */
    atomic_uint_fast64_t user, former;
    struct tdmi_adopted *adopted; /* the memory it is a part of (adopted.c); NULL: the pool's */
    struct tdmi_block *next;
} tdmi_block;

#define TDMI_SEVERAL UINT64_MAX

typedef struct tdmi_pool {
    tdmi_block *cached;
    tdm_memory_stats stats; /* but its size */
} tdmi_pool;

/* Host memory that tdm_host_alloc gave out, or that is kept for it. */
typedef struct tdmi_host_block {
    tdm_device *device; /* a reference, while it is given out */
    tdmi_mem mem;
    size_t size;
    struct tdmi_host_block *next;
} tdmi_host_block;

/* A mapping that has not been ended. */
typedef struct tdmi_mapping {
    void *pointer;
    const tdm_buffer *buffer;
    size_t offset, size;
    unsigned access;
    struct tdmi_mapping *next;
} tdmi_mapping;

typedef struct tdmi_program tdmi_program; /* program.c */

enum { TDMI_MOST_KEPT_KERNELS = 96 };

struct tdm_device {
    atomic_uint references;
    size_t listed;            /* index in the registry */
    void *context;            /* that it was made in, if that is the program's; else NULL */
    tdm_device *next_adopted; /* of those with a context */
    const tdmi_backend *backend;
    const tdmi_device_facts *facts;
    tdmi_bdevice *impl;
    tdmi_holding *holding; /* reports stats.reserved to other processes, or NULL */
    atomic_bool lost;
    atomic_uint_fast64_t sequence; /* counts submissions, for the pool */
    tdmi_bevent *order; /* records what one queue waits for of another; NULL: not yet made */
    atomic_uint doubtful, abandoned; /* how many of its queues are; see wait.c */
    atomic_uint leaving_count;       /* of `leaving` */
    tdmi_mutex lock;                 /* all below */
    tdmi_pool pool;
    tdm_queue *queues;
    tdmi_cond drained; /* a queue has no waiters any more */
    struct tdmi_adopted *leaving,
        *leaving_last; /* released, and work may still use it (adopted.c) */
    tdmi_host_block *host_blocks, *kept_blocks; /* given out; freed, the latest first */
    tdmi_mapping *mappings;
    tdmi_mutex program_lock; /* of the list, which is not held while a program is built */
    tdmi_cond program_built;
    tdmi_program *programs;
    tdmi_mutex user_lock; /* of the list, which may be looked at under program_lock */
    struct tdmi_user_kernel *user_kernels; /* the latest first */
    /* of functions that are kernels of expressions (ops/functions.c), each made at its first use */
    _Atomic(struct tdm_kernel *) kept_kernels[TDMI_MOST_KEPT_KERNELS];
    atomic_int tensor_trials[TDM_BF16 + 1];                 /* tensor_cores.c: by dtype */
    void (*_Atomic free_kernel)(struct tdm_kernel *kernel); /* NULL: there are none */
};

/* In the arguments of a profile's span (base/output.h): the queue, and its device. */
#define TDMI_PROFILE_QUEUE "\"device\":\"%s\",\"backend\":\"%s\",\"queue\":%llu"
#define TDMI_PROFILE_QUEUE_OF(queue)                                                               \
    (queue)->device->facts->info.id, (queue)->device->backend->name,                               \
        (unsigned long long)(queue)->number

/* A variant as one number: lanes are a power of two, and of a user's kernel u and op say nothing more. */
static inline uint64_t tdmi_variant_key(tdmi_variant variant) {
    const uint64_t which = variant.user ? variant.user : variant.u | (uint64_t)variant.op << 8;
    return variant.kernel | (uint64_t)(variant.t & 15u) << 8 |
           (uint64_t)(variant.stream & 3u) << 12 |
           (uint64_t)(__builtin_ctz(variant.lanes | 1u << 15) & 15) << 14 |
           (uint64_t)variant.vectors << 18 | which << 26;
}

typedef struct tdmi_kernel_slot {
    uint64_t key; /* of the variant */
    tdmi_bkernel *kernel;
} tdmi_kernel_slot;

/* A BLAS provider attached to a queue, or why it could not be. */
typedef struct tdmi_attached_blas {
    const tdmi_blas *blas;
    void *state;
    bool tried;
    tdm_status status;
    uint64_t library; /* its identity, once attached */
    char why[512];
} tdmi_attached_blas;

/* The measurement for a product, as it was last looked up. */
typedef struct tdmi_tuned_slot {
    tdmi_tuned_product product; /* m is 0 where nothing was looked up yet */
    const tdmi_tuned *found;    /* or NULL */
    bool exact;
} tdmi_tuned_slot;
enum { TDMI_TUNED_SLOTS = 128 };

/* timeline.h */
typedef struct tdmi_timeline tdmi_timeline;
typedef struct tdmi_timed tdmi_timed;

struct tdm_queue {
    tdm_device *device;
    tdmi_bqueue *impl;
    uint64_t number; /* its own, of all that ever were */
    unsigned flags;
    atomic_uint_fast64_t first_pending; /* sequence of the first work since a finish; 0: none */
    tdmi_kernel_slot *slots;            /* hash table, a power of two long */
    size_t slot_count, slot_used;
    tdmi_attached_blas blas[TDMI_BLAS_COUNT]; /* by tdmi_blas_id */
    bool tuned_known;
    const tdmi_tuned_table *tuned; /* once it is known; NULL: nothing was measured */
    tdmi_tuned_slot *tuned_slots;  /* TDMI_TUNED_SLOTS, when there is a table */
    /* The measurements of rows, or NULL; while tdm_rows_tune measures, the way that it tries. */
    const tdmi_row_choices *row_choices;
    tdmi_block *scratch;
    tdm_graph *graphs;    /* that were made for it */
    tdm_graph *recording; /* of these, the one that is given what the queue is given; or NULL */
    tdm_graph *lender;    /* the one that is recorded or replayed: scratch memory is its own then */
    atomic_bool doubtful; /* the last wait failed: what it may use is kept (wait.c) */
    bool verifies; /* TANDEM_VERIFY: its calls may be made once more, and compared (verify.c) … */
    tdm_queue *reference; /* … on this queue of cpu's, NULL until the first one is … */
    uint64_t verified;    /* … and so many were */
    bool is_reference;    /* it is another one's reference: the builtin kernels multiply */
    /* Under device->lock: destroyed in doubt; a thread waits for it; the threads that are in tdmi_queue_drain, and the
     * first work that the pool waits for there, or 0; calls that wait for the end of work. */
    bool abandoned, awaited;
    unsigned waiters;
    uint64_t waited_from;
    struct tdmi_deferred *deferred;
    _Atomic(struct tdm_failure *) failure; /* NULL until something is watched (failure.c) */
    tdmi_timeline *timeline;               /* NULL without a profile (timeline.c) */
    tdm_queue *next;                       /* of the device */
};

struct tdm_event {
    tdm_device *device;
    tdmi_bevent *impl;
    atomic_bool recorded, timed; /* set by the recording thread, also while others wait */
};

/* How tdm_pack_weight has made the buffer, of which products alone know what its bytes mean: else it is not packed. */
typedef enum tdmi_packing { TDMI_NOT_PACKED, TDMI_PACKED_ROWS, TDMI_PACKED_PANELS } tdmi_packing;

struct tdm_buffer {
    atomic_uint references;
    tdm_device *device;
    tdmi_block *block; /* NULL when size is 0 */
    size_t size;
    atomic_bool read_only;
    tdmi_packing packing;
    int64_t packed_shape[2]; /* of the weight */
};

/* device_status.c: what every call on an opened device begins with; and the end of every backend call,
 * which remembers a lost device. */
tdm_status tdmi_device_usable(const tdm_device *device) TDM_MUST_USE;
tdm_status tdmi_device_result(tdm_device *device, tdm_status status) TDM_MUST_USE;

/* device.c: a listed device, opened now or before; `context` is the program's, or NULL for Tandem's own. */
tdm_status tdmi_device_open(const tdmi_listed_device *devices, size_t count, size_t index,
                            void *context, tdm_device **device) TDM_MUST_USE;

/* listing.c: the device that the driver calls `id`, of a backend, in a context of the program's. */
tdm_status tdmi_device_adopt(const char *function, tdm_backend backend, void *context,
                             const void *id, tdm_device **device) TDM_MUST_USE;

/* queue.c: makes a queue, over the driver's `handle` where that is not NULL. */
tdm_status tdmi_queue_make(tdm_device *device, unsigned flags, void *handle,
                           tdm_queue **queue) TDM_MUST_USE;

/* adopted.c: a buffer over memory that the program owns, for a public function. `handle` is of the kind that the
 * backend's mem_adopt takes. On failure nothing was taken, and release is not called. */
tdm_status tdmi_adopt_memory(const char *function, tdm_device *device, void *handle, size_t size,
                             void (*release)(void *context), void *context,
                             tdm_buffer **buffer) TDM_MUST_USE;

/* adopted.c: a block's last buffer is gone: it leaves now, or when the work that uses it is over. */
void tdmi_adopted_give(tdm_device *device, tdmi_block *block);

/* adopted.c: releases what work no longer uses, and notifies the owners: of `all` there is, or of the oldest up to the
 * first that is still used, which takes no time worth mentioning. Called without locks. */
void tdmi_device_let_leave(tdm_device *device, bool all);

/* failure.c: what a library has reported of the queue's work (tandem/library.h), once. */
tdm_status tdmi_queue_report_failure(tdm_queue *queue) TDM_MUST_USE;

/* wait.c: waits for the queue. *over: whether its work has ended, however it did; when not,
 * what it may use must be kept. */
tdm_status tdmi_queue_wait(tdm_queue *queue, bool *over) TDM_MUST_USE;

/* wait.c: a wait failed, so the queue is in doubt from now on, unless nothing is pending (false).
 * It is not any more: what was kept for it is released. */
bool tdmi_queue_doubt(tdm_queue *queue);
void tdmi_queue_doubt_locked(tdm_queue *queue); /* with device->lock held, something is pending */
void tdmi_queue_settle(tdm_queue *queue);

/* wait.c: how everything is given back that this queue's work has used: at once or, while the queue
 * is in doubt, when it is settled. */
void tdmi_queue_let_go(tdm_queue *queue, void (*release)(void *thing), void *thing);

/* wait.c: for memory that any queue of the device may have used. True: a queue in doubt has it and
 * will release it. */
bool tdmi_device_keeps(tdm_device *device, void (*release)(void *thing), void *thing);

/* queue_end.c: ends queues that were destroyed in doubt and whose work is over by now. */
void tdmi_device_end_abandoned(tdm_device *device);

/* order.c: the end of every call that gives work to the queue, after it was given: marks the queue
 * as pending, passes the status on and remembers a lost device. */
tdm_status tdmi_queue_submitted(tdm_queue *queue, tdm_status status) TDM_MUST_USE;

/* order.c: an event of the backend's; NULL can be freed, too. */
tdm_status tdmi_make_event(tdm_device *device, tdmi_bevent **event) TDM_MUST_USE;
void tdmi_free_event(tdm_device *device, tdmi_bevent *event);

/* order.c: the number of the queue that this thread gave work to last, 0 for none. */
uint64_t tdmi_last_queue(void);

/* scratch.c: at least `size` bytes of device memory for work on this queue alone. The next caller
 * gets the same memory: work on a queue runs in order. */
tdm_status tdmi_queue_scratch(tdm_queue *queue, size_t size, const tdmi_mem **mem) TDM_MUST_USE;

/* pool.c: called with device->lock held, which taking and trimming release while they wait for queues. `in_use`: bytes
 * that count as the user's, the same when the block is given back; 0 for memory of our own.
 * Trimming frees the pinned memory that is kept, too. */
tdm_status tdmi_pool_take(tdm_device *device, size_t size, size_t in_use,
                          tdmi_block **block) TDM_MUST_USE;
void tdmi_pool_give(tdm_device *device, tdmi_block *block, size_t in_use);
void tdmi_pool_trim(tdm_device *device);

/* Trims where memory is short, and waits only if the pool holds blocks. Whether there was anything to give back. The
 * second takes the lock. */
bool tdmi_pool_make_room(tdm_device *device);
bool tdmi_device_make_room(tdm_device *device);

/* Keeps the first pinned blocks up to `most_bytes` and `most_blocks` beyond them, and frees the others. */
void tdmi_pool_free_kept(tdm_device *device, size_t most_bytes, size_t most_blocks);

/* pinned.c: host memory as the backend gives it, or as it was kept; keeping it, or freeing it where that is
 * no gain. */
tdm_status tdmi_pinned_take(tdm_device *device, size_t size, tdmi_host_block **block) TDM_MUST_USE;
void tdmi_pinned_give(tdm_device *device, tdmi_host_block *block);

/* The queue's oldest submission that may not be over; 0: there is none. With device->lock held, as the next. */
static inline uint64_t tdmi_pending_since(const tdm_queue *queue) {
    return queue->waited_from ? queue->waited_from : atomic_load(&queue->first_pending);
}

/* order.c: that of all queues; UINT64_MAX when nothing is pending. */
uint64_t tdmi_oldest_pending(const tdm_device *device);

/* order.c: waits for what the queue was given, however it ends, by any thread, for the memory's sake. Called with
 * device->lock held, which is released meanwhile, as what the queue waits for may be up to a thread that needs it;
 * the queue is not freed until then. */
tdm_status tdmi_queue_drain(tdm_queue *queue) TDM_MUST_USE;

/* order.c: the queue whose work may still use a released block, or a taken one that was released before; NULL
 * when there is none. Not of TDMI_SEVERAL. */
tdm_queue *tdmi_former_user(const tdm_device *device, const tdmi_block *block);

/* order.c: called of each piece of memory that work is about to be given to the queue for. Where another
 * queue's work may still use it, from before it was released, the queue waits for that. */
tdm_status tdmi_order_block(tdm_queue *queue, tdmi_block *block) TDM_MUST_USE;

/* record.c: another operation is about to name its buffers to the graph that the queue records, if any. */
void tdmi_graph_begin_operation(tdm_graph *graph);

/* record.c: the operation names a buffer, which the graph holds. */
tdm_status tdmi_graph_hold(tdm_queue *queue, const tdm_buffer *buffer, bool written) TDM_MUST_USE;

/* The same of a buffer that work on the queue reads, or also writes. */
static inline TDM_MUST_USE tdm_status tdmi_order(tdm_queue *queue, const tdm_buffer *buffer,
                                                 bool written) {
    tdmi_block *block = buffer->block;
    if (queue->recording) return tdmi_graph_hold(queue, buffer, written);
    if (!block || queue->device->facts->synchronous) return TDM_OK;
    const uint64_t user = atomic_load_explicit(&block->user, memory_order_relaxed);
    if (user == queue->number) return TDM_OK;
    if (user == TDMI_SEVERAL && atomic_load(&block->former) == 0) return TDM_OK;
    return tdmi_order_block(queue, block);
}

/* order.c: the same for work on another device's queue: waits here until the memory is free. */
tdm_status tdmi_order_foreign(const tdm_buffer *buffer) TDM_MUST_USE;

/* program.c: the kernel of a variant, built or fetched at first use; then one look-up, no lock. */
tdm_status tdmi_queue_kernel(tdm_queue *queue, tdmi_variant variant,
                             tdmi_bkernel **kernel) TDM_MUST_USE;
void tdmi_queue_free_kernels(tdm_queue *queue);

/* program.c: whether a kernel needs no compiler any more: it is there, or kept on disk, or has none. */
tdm_status tdmi_is_compiled(tdm_device *device, tdmi_variant variant,
                            bool *is_compiled) TDM_MUST_USE;

/* program.c: builds the program of a variant, which is complete, unless it is there. */
tdm_status tdmi_device_compile(tdm_device *device, tdmi_variant variant) TDM_MUST_USE;

/* warm.c: builds the programs of variants in several threads, as far as they can be built. */
void tdmi_compile_all(tdm_device *device, const tdmi_variant *variants, size_t count);

/* program.c: another instance of that kernel, for the caller to give back; and what the kernel of a number
 * takes. */
tdm_status tdmi_queue_own_kernel(tdm_queue *queue, tdmi_variant variant,
                                 tdmi_bkernel **kernel) TDM_MUST_USE;
void tdmi_give_back_kernel(tdm_device *device, tdmi_bkernel *kernel);
void tdmi_kernel_takes(tdm_device *device, tdmi_variant variant, int *buffers, size_t *args_size);

/* program.c: the name of a kernel's function. */
const char *tdmi_kernel_entry(tdm_device *device, tdmi_variant variant);

/* record.c: fails when the queue records a graph, in the words of a call that cannot be recorded. */
tdm_status tdmi_check_not_recording(const char *function, const tdm_queue *queue) TDM_MUST_USE;

/* record.c: frees all that the queue's graphs have of it, and leaves them without a queue. */
void tdmi_queue_leave_graphs(tdm_queue *queue);
void tdmi_device_free_programs(tdm_device *device);

/* blas.c */
void tdmi_queue_detach_blas(tdm_queue *queue);

#endif
