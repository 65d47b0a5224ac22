/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The usual kernels of a device, compiled before they are needed. */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/threads.h"
#include "check.h"
#include "core.h"
#include "lanes.h"
#include "launch.h"

typedef struct variant_list {
    tdmi_variant *variants;
    size_t count, capacity;
} variant_list;

/* Each once: several dtypes may have the same bits. */
static tdm_status add(variant_list *list, tdmi_variant variant) {
    for (size_t i = 0; i < list->count; i++)
        if (memcmp(&list->variants[i], &variant, sizeof variant) == 0) return TDM_OK;
    tdmi_variant *grown = tdmi_grown(list->variants, list->count, &list->capacity, sizeof *grown);
    if (!grown) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    list->variants = grown;
    list->variants[list->count++] = variant;
    return TDM_OK;
}

/* Every usual operation, size of group and kind of stores that the kernel has for these dtypes; rows are taken to
 * be aligned. */
static tdm_status add_dtypes(variant_list *list, const tdm_device *device, int number, tdm_dtype t,
                             tdm_dtype u) {
    enum { LONG_ROW = 1 << 18 }; /* with more columns nothing changes */
    const tdmi_device_facts *facts = device->facts;
    const tdmi_row_choices *choices = tdmi_tuned_rows_of(device->backend->name, facts);
    const tdm_kernel_entry *kernel = &tdm_kernel_entries[number];
    bool streams = kernel->streams && facts->streaming_stores;
    for (unsigned op = 0; op < (unsigned)kernel->ops; op++) {
        if (!tdm_has_op(kernel->usual, op)) continue;
        for (unsigned stream = 0; stream <= (unsigned)streams; stream++) {
            tdmi_variant last = {.lanes = 0};
            for (int cols = kernel->one_size ? LONG_ROW : 1; cols <= LONG_ROW; cols *= 2) {
                const tdmi_variant variant = {.kernel = (uint8_t)number,
                                              .t = (uint8_t)t,
                                              .u = (uint8_t)u,
                                              .op = (uint8_t)op,
                                              .stream = (uint8_t)stream,
                                              .vectors = 1};
                const tdmi_variant next = tdmi_variant_for(
                    facts, variant, cols, tdmi_row_choice_for(choices, variant, cols));
                if (next.lanes != last.lanes || next.vectors != last.vectors)
                    TDMI_TRY(add(list, next));
                last = next;
            }
        }
    }
    return TDM_OK;
}

static tdm_status add_casts(variant_list *list, const tdm_device *device, int number,
                            tdm_dtype dtype) {
    const tdm_dtype pairs[][2] = {{dtype, dtype}, {dtype, TDM_F32}, {TDM_F32, dtype}};
    const size_t count = dtype == TDM_F32 ? 1 : sizeof pairs / sizeof *pairs;
    for (size_t i = 0; i < count; i++) {
        tdmi_variant cast = tdmi_cast_variant(pairs[i][0], pairs[i][1]);
        TDMI_TRY(add_dtypes(list, device, number, (tdm_dtype)cast.t, (tdm_dtype)cast.u));
    }
    return TDM_OK;
}

/* Casts are from and to f32, and copies; sums so far, whose U lib/ops chooses, have the dtype itself alone. */
static tdm_status add_usual(variant_list *list, const tdm_device *device, tdm_dtype dtype) {
    for (int i = 0; i < TDMI_KERNEL_COUNT; i++) {
        const tdm_kernel_entry *kernel = &tdm_kernel_entries[i];
        if (!kernel->usual || (kernel->one_lane && !device->facts->row_loops)) continue;
        const tdm_dtype t = kernel->t == TDM_T_U64    ? TDM_U64
                            : kernel->t == TDM_T_U32  ? TDM_U32
                            : kernel->t == TDM_T_BITS ? tdmi_dtype_bits(dtype)
                                                      : dtype;
        if (kernel->u == TDM_U_CASTS)
            TDMI_TRY(add_casts(list, device, i, dtype));
        else
            TDMI_TRY(add_dtypes(list, device, i, t, t));
        if (kernel->u == TDM_U_OR_F32 && tdm_dtype_size(dtype) == 2)
            TDMI_TRY(add_dtypes(list, device, i, dtype, TDM_F32));
        if (kernel->of_indices) {
            TDMI_TRY(add_dtypes(list, device, i, TDM_U32, TDM_U32));
            TDMI_TRY(add_dtypes(list, device, i, TDM_U64, TDM_U64));
        }
    }
    return TDM_OK;
}

/* Shared by the threads. */
typedef struct warming {
    tdm_device *device;
    const variant_list *list;
    atomic_size_t next, ready;
    atomic_bool failed;
    tdm_warm_function watch; /* or NULL */
    void *user;
    tdmi_mutex lock; /* of the watch */
    bool stopped;
} warming;

enum { MOST_BUFFERS = 12, MOST_ARGS = 1024 }; /* as the backends have them */
#define FITS(ID, name, args, ...)                                                                  \
    _Static_assert(sizeof(args) <= MOST_ARGS, "an empty launch of " #name " has no room for it");
TDM_KERNEL_LIST(FITS)
#undef FITS

/* Of an empty launch all arguments are 0, and there are no rows, but for what is divided by. */
static const void *empty_args(unsigned kernel) {
    static const _Alignas(16) char zeros[MOST_ARGS];
    static const tdm_sort_args sorting = {.run = 1, .piece = 1};
    static const tdm_reduce_args reducing = {.width = 1};
    switch (kernel) {
    case TDMI_KERNEL_SORT_KEYS:
    case TDMI_KERNEL_SORT_MERGE:
    case TDMI_KERNEL_SORT_TAKE:
        return &sorting;
    case TDMI_KERNEL_REDUCE:
    case TDMI_KERNEL_EXTREME:
    case TDMI_KERNEL_CUMSUM:
        return &reducing;
    default:
        return zeros;
    }
}

/* Compiles one. Some drivers do so, or a second time, when a kernel is first launched: an empty launch makes them. */
static tdm_status make_ready(tdm_queue *queue, tdmi_variant variant) {
    static const tdmi_mem *const mems[MOST_BUFFERS];
    tdmi_bkernel *kernel;
    TDMI_TRY(tdmi_queue_kernel(queue, variant, &kernel));
    const tdmi_launch launch = {
        .groups = 1, .mems = mems, .args = empty_args(variant.kernel), .stream = variant.stream};
    TDMI_TRY(
        tdmi_queue_submitted(queue, queue->device->backend->launch(queue->impl, kernel, &launch)));
    return tdm_queue_finish(queue);
}

static bool goes_on(warming *all) {
    if (!all->watch) return true;
    tdmi_mutex_lock(&all->lock);
    const size_t ready = atomic_load(&all->ready);
    if (!all->stopped) all->stopped = !all->watch(all->user, ready, all->list->count);
    const bool goes = !all->stopped;
    tdmi_mutex_unlock(&all->lock);
    return goes;
}

typedef struct warmer {
    tdmi_thread thread;
    warming *all;
    tdmi_outcome outcome;
} warmer;

static void *warm(void *context) {
    warmer *self = context;
    warming *all = self->all;
    tdm_queue *queue = NULL;
    tdm_status status = tdm_queue_create(all->device, 0, &queue);
    while (status == TDM_OK && !atomic_load(&all->failed)) {
        size_t next = atomic_fetch_add(&all->next, 1);
        if (next >= all->list->count || !goes_on(all)) break;
        status = make_ready(queue, all->list->variants[next]);
        if (status == TDM_OK) atomic_fetch_add(&all->ready, 1);
    }
    if (status != TDM_OK) atomic_store(&all->failed, true);
    tdmi_outcome_add(&self->outcome, status);
    tdm_queue_destroy(queue);
    return NULL;
}

/* By as many threads as there are cores, this one among them, or by one where the driver allows no more. */
static tdm_status warm_in_threads(warming *all) {
    enum { MOST_THREADS = 16 };
    size_t wanted = all->device->facts->one_thread ? 1 : (size_t)tdmi_worker_count();
    if (wanted > MOST_THREADS) wanted = MOST_THREADS;
    if (wanted > all->list->count) wanted = all->list->count;
    warmer *warmers = tdmi_calloc(wanted, sizeof *warmers);
    if (!warmers) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    size_t started = 1;
    for (; started < wanted; started++) {
        warmers[started].all = all;
        if (!tdmi_thread_start(&warmers[started].thread, warm, &warmers[started])) break;
    }
    warmers[0].all = all;
    (void)warm(&warmers[0]);
    tdmi_outcome outcome = {0};
    for (size_t i = 0; i < started; i++) {
        if (i > 0) tdmi_thread_join(warmers[i].thread);
        tdmi_outcome_add(&outcome, tdmi_outcome_end(&warmers[i].outcome));
    }
    tdmi_free(warmers);
    return tdmi_outcome_end(&outcome);
}

void tdmi_compile_all(tdm_device *device, const tdmi_variant *variants, size_t count) {
    const variant_list list = {.variants = (tdmi_variant *)variants, .count = count};
    warming all = {.device = device, .list = &list};
    if (count > 0 && device->facts->cache_key[0]) (void)warm_in_threads(&all);
}

static tdm_status list_usual(const char *function, const tdm_device *device,
                             const tdm_dtype *dtypes, size_t count, variant_list *list) {
    for (size_t i = 0; i < count; i++) {
        if (!tdm_dtype_is_float(dtypes[i]))
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                             "%s: dtypes[%zu] is %s, it must be one of %s", function, i,
                             tdm_dtype_name(dtypes[i]), tdmi_float_dtypes());
        char name[32];
        snprintf(name, sizeof name, "dtypes[%zu]", i);
        TDMI_TRY(tdmi_check_computes(function, device, name, dtypes[i]));
    }
    for (size_t i = 0; i < count; i++)
        TDMI_TRY(add_usual(list, device, dtypes[i]));
    return TDM_OK;
}

static tdm_status warm_device(const char *function, tdm_device *device, const tdm_dtype *dtypes,
                              size_t dtype_count, tdm_warm_function watch, void *user,
                              size_t *kernels) {
    if (kernels) *kernels = 0;
    TDMI_NOT_NULL(function, device);
    if (!dtypes && dtype_count > 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: dtypes is NULL, but dtype_count is %zu",
                         function, dtype_count);
    TDMI_TRY(tdmi_device_usable(device));
    variant_list list = {0};
    tdm_status status = list_usual(function, device, dtypes, dtype_count, &list);
    /* kernels that nothing can be kept of were compiled with the library */
    if (status == TDM_OK && list.count > 0 && device->facts->cache_key[0]) {
        warming all = {
            .device = device, .list = &list, .watch = watch, .user = user, .lock = TDMI_MUTEX_INIT};
        status = warm_in_threads(&all);
        if (kernels) *kernels = atomic_load(&all.ready);
    }
    tdmi_free(list.variants);
    return status;
}

tdm_status tdm_device_warm(tdm_device *device, const tdm_dtype *dtypes, size_t dtype_count,
                           size_t *kernels) {
    TDMI_UNCANCELLED();
    return warm_device(__func__, device, dtypes, dtype_count, NULL, NULL, kernels);
}

tdm_status tdm_device_warm_watched(tdm_device *device, const tdm_dtype *dtypes, size_t dtype_count,
                                   tdm_warm_function watch, void *user, size_t *kernels) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, watch);
    return warm_device(__func__, device, dtypes, dtype_count, watch, user, kernels);
}
