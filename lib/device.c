/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Devices: listing, opening, reference counts, memory statistics. */
#include <string.h>

#include "core.h"
#include "log.h"

/* The opened devices by index in the registry; at most one object each. Those in contexts of the program's are
 * others: at most one for each context. */
static tdm_device **opened;
static tdm_device *adopted;
static size_t opened_room;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    tdm_backend id;
    const char *name;
} backends[] = {
#define BACKEND(NAME, name, value) {TDM_##NAME, name},
    TDM_BACKEND_LIST(BACKEND)};

#define ALLOWED(NAME, name, value) ", TDM_" #NAME
static const char allowed_backends[] = TDM_BACKEND_LIST(ALLOWED);

const char *tdm_backend_name(tdm_backend backend) {
    for (size_t i = 0; i < TDM_BACKEND_COUNT; i++)
        if (backends[i].id == backend) return backends[i].name;
    return "unknown";
}

static bool is_backend(tdm_backend backend) {
    for (size_t i = 0; i < TDM_BACKEND_COUNT; i++)
        if (backends[i].id == backend) return true;
    return false;
}

tdm_status tdm_get_device_count(size_t *count) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_NOT_NULL(__func__, count);
    const tdmi_listed_device *devices;
    return tdmi_registry_get(&devices, count);
}

tdm_status tdm_get_listed_device(size_t index, const tdm_device_info **info) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_RESULT(__func__, info);
    const tdmi_listed_device *devices;
    size_t count;
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    if (index >= count)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "tdm_get_listed_device: index is %zu, but %zu device%s listed", index,
                         count, count == 1 ? " is" : "s are");
    *info = &devices[index].facts.info;
    return TDM_OK;
}

tdm_status tdm_find_device(const char *name, size_t *index) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_NOT_NULL(__func__, index);
    return tdmi_registry_find(name, index);
}

tdm_status tdm_get_backend_device_count(tdm_backend backend, size_t *count) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_NOT_NULL(__func__, count);
    *count = 0;
    if (!is_backend(backend))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_get_backend_device_count: backend is %d; allowed are %s",
                         (int)backend, allowed_backends + 2);
    const tdmi_listed_device *devices;
    size_t all;
    TDMI_TRY(tdmi_registry_get(&devices, &all));
    for (size_t i = 0; i < all; i++)
        *count += devices[i].facts.info.backend == backend;
    return TDM_OK;
}

tdm_status tdm_get_gpu_count(size_t *count) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_NOT_NULL(__func__, count);
    *count = 0;
    const tdmi_listed_device *devices;
    size_t all, index;
    TDMI_TRY(tdmi_registry_get(&devices, &all));
    (void)tdmi_registry_gpu(SIZE_MAX, &index, count);
    return TDM_OK;
}

/* `context`: the program's, or NULL for one of our own. */
static tdm_status create_device(const tdmi_listed_device *devices, size_t index, void *context,
                                tdm_device **device) {
    const tdmi_listed_device *listed = &devices[index];
    tdm_device *made = tdmi_calloc(1, sizeof *made);
    tdmi_bdevice *impl = tdmi_calloc(1, listed->backend->device_size);
    if (!made || !impl) {
        tdmi_free(made);
        tdmi_free(impl);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a device");
    }
    const tdmi_backend *backend = listed->backend;
    tdm_status status = context ? backend->device_adopt(impl, listed->index, context)
                                : backend->device_init(impl, listed->index);
    if (status != TDM_OK) {
        tdmi_free(made);
        tdmi_free(impl);
        return tdmi_fail_in(status, "opening %s", listed->facts.info.id);
    }
    atomic_init(&made->references, 1);
    atomic_init(&made->lost, false);
    atomic_init(&made->sequence, 0);
    atomic_init(&made->doubtful, 0);
    atomic_init(&made->abandoned, 0);
    made->listed = index;
    made->context = context;
    made->backend = backend;
    made->facts = &listed->facts;
    made->impl = impl;
    made->holding = tdmi_holding_open(devices, index);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->program_lock, NULL);
    pthread_mutex_init(&made->user_lock, NULL);
    pthread_cond_init(&made->program_built, NULL);
    tdmi_log(TDM_LOG_INFO, "opened %s (%s)", made->facts->info.id, made->facts->info.name);
    *device = made;
    return TDM_OK;
}

/* The list may have become longer. */
static bool make_room(size_t count) {
    if (count <= opened_room) return true;
    tdm_device **grown = tdmi_realloc(opened, count * sizeof(tdm_device *));
    if (!grown) return false;
    memset(grown + opened_room, 0, (count - opened_room) * sizeof(tdm_device *));
    opened = grown;
    opened_room = count;
    return true;
}

static tdm_status open_listed(size_t index, tdm_device **device) {
    size_t count;
    const tdmi_listed_device *devices;
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    TDMI_LOCKED(&opened_lock);
    tdm_status status = TDM_OK;
    if (!make_room(count)) {
        status = tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a device");
    } else if (opened[index]) {
        /* a lost one is no use to anybody until its last holder has released it */
        status = tdmi_device_usable(opened[index]);
        if (status == TDM_OK) *device = tdm_device_retain(opened[index]);
    } else {
        status = create_device(devices, index, NULL, device);
        if (status == TDM_OK) opened[index] = *device;
    }
    return status;
}

static bool has_context(const tdm_device *device, const void *wanted) {
    void *context, *id;
    device->backend->device_handles(device->impl, &context, &id);
    return context == wanted;
}

/* Also of the one that has a context of its own, which the program may have been given. */
static tdm_device *find_adopted(size_t index, const void *context) {
    if (index < opened_room && opened[index] && has_context(opened[index], context))
        return opened[index];
    tdm_device *device = adopted;
    while (device && (device->listed != index || device->context != context))
        device = device->next_adopted;
    return device;
}

static tdm_status adopt_listed(const tdmi_listed_device *devices, size_t index, void *context,
                               tdm_device **device) {
    TDMI_LOCKED(&opened_lock);
    tdm_device *found = find_adopted(index, context);
    tdm_status status =
        found ? tdmi_device_usable(found) : create_device(devices, index, context, device);
    if (status == TDM_OK && found) *device = tdm_device_retain(found);
    if (status == TDM_OK && !found) {
        (*device)->next_adopted = adopted;
        adopted = *device;
    }
    return status;
}

tdm_status tdmi_device_adopt(const char *function, tdm_backend backend, void *context,
                             const void *id, tdm_device **device) {
    const tdmi_listed_device *devices;
    size_t count, index;
    TDMI_TRY(tdmi_enter());
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    for (size_t i = 0; i < count; i++) {
        const tdmi_listed_device *listed = &devices[i];
        if (listed->facts.info.backend != backend || !listed->backend->device_find(id, &index) ||
            index != listed->index)
            continue;
        tdm_status status = adopt_listed(devices, i, context, device);
        return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", function);
    }
    return tdmi_fail(TDM_ERROR_NOT_FOUND,
                     "%s: id is of no device that Tandem lists; `tdm doctor` says why", function);
}

tdm_status tdm_device_open(const char *name, tdm_device **device) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, device);
    TDMI_TRY(tdmi_enter());
    size_t index;
    TDMI_TRY(tdmi_registry_find(name, &index));
    return open_listed(index, device);
}

/* The index-th physical GPU, or the first cpu when there are not that many. */
static tdm_status find_gpu_or_cpu(size_t gpu, size_t *index) {
    const tdmi_listed_device *devices;
    size_t count, seen;
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    return tdmi_registry_gpu(gpu, index, &seen) ? TDM_OK : tdmi_registry_find("cpu", index);
}

tdm_status tdm_device_try_gpu(size_t index, tdm_device **device) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, device);
    TDMI_TRY(tdmi_enter());
    size_t found;
    TDMI_TRY(find_gpu_or_cpu(index, &found));
    return open_listed(found, device);
}

tdm_status tdm_device_try_all_gpus(size_t capacity, tdm_device **devices, size_t *count) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, count);
    *count = 0;
    TDMI_NOT_NULL(__func__, devices);
    size_t gpus;
    TDMI_TRY(tdm_get_gpu_count(&gpus));
    size_t wanted = gpus > 0 ? gpus : 1;
    if (capacity < wanted)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "tdm_device_try_all_gpus: capacity is %zu, but %zu device%s to be opened",
                         capacity, wanted, wanted == 1 ? " is" : "s are");
    for (size_t i = 0; i < wanted; i++) {
        tdm_status status = tdm_device_try_gpu(i, &devices[i]);
        if (status == TDM_OK) continue;
        while (i-- > 0) {
            tdm_device_release(devices[i]);
            devices[i] = NULL;
        }
        return status;
    }
    *count = wanted;
    return TDM_OK;
}

tdm_device *tdm_device_retain(tdm_device *device) {
    if (device) atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    return device;
}

static void destroy_device(tdm_device *device) {
    for (int i = 0; i < TDMI_MOST_KEPT_KERNELS; i++)
        if (device->kept_kernels[i]) device->free_kernel(device->kept_kernels[i]);
    tdmi_device_free_programs(device);
    tdmi_pool_trim(device);
    (void)tdmi_pinned_trim(device);
    if (device->order) device->backend->event_deinit(device->order);
    tdmi_free(device->order);
    while (device->host_blocks) {
        tdmi_host_block *block = device->host_blocks;
        device->host_blocks = block->next;
        device->backend->host_free(device->impl, &block->mem);
        tdmi_free(block);
    }
    while (device->mappings) {
        tdmi_mapping *mapping = device->mappings;
        device->mappings = mapping->next;
        tdmi_free(mapping);
    }
    device->backend->device_deinit(device->impl);
    tdmi_holding_close(device->listed);
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->program_lock);
    pthread_mutex_destroy(&device->user_lock);
    pthread_cond_destroy(&device->program_built);
    tdmi_free(device->impl);
    tdmi_free(device);
}

static void forget(tdm_device *device) {
    if (!device->context) opened[device->listed] = NULL;
    for (tdm_device **at = &adopted; *at; at = &(*at)->next_adopted) {
        if (*at != device) continue;
        *at = device->next_adopted;
        return;
    }
}

void tdm_device_release(tdm_device *device) {
    TDMI_UNCANCELLED();
    if (!device || tdmi_forked) return;
    /* The last reference goes under the lock, so that a device that is being opened again at this
     * moment is either this one, still whole, or a new one. */
    unsigned references = atomic_load(&device->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&device->references, &references, references - 1)) return;
    pthread_mutex_lock(&opened_lock);
    bool last = atomic_fetch_sub(&device->references, 1) == 1;
    if (last) forget(device);
    pthread_mutex_unlock(&opened_lock);
    if (last) destroy_device(device);
}

const tdm_device_info *tdm_device_get_info(const tdm_device *device) {
    return device ? &device->facts->info : NULL;
}
