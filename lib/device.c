/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Devices that are open: making and counting them. */
#include <string.h>

#include "base/log.h"
#include "core.h"

/* The opened devices by index in the list; at most one object each. Those in contexts of the program's are
 * others: at most one for each context. */
static tdm_device **opened;
static tdm_device *adopted;
static tdm_device *set_aside; /* lost, and kept for memory that their drivers may still use */
static size_t opened_room;
static tdmi_mutex opened_lock = TDMI_MUTEX_INIT;

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
    (void)tdmi_mutex_init(&made->lock);
    (void)tdmi_mutex_init(&made->program_lock);
    (void)tdmi_mutex_init(&made->user_lock);
    (void)tdmi_cond_init(&made->program_built);
    (void)tdmi_cond_init(&made->drained);
    const tdm_device_info *info = &made->facts->info;
    tdmi_log(TDM_LOG_INFO, "opened %s (%s)%s%s", info->id, info->name,
             info->driver_version[0] ? ", driver " : "", info->driver_version);
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

static bool has_context(const tdm_device *device, const void *wanted) {
    void *context, *id;
    device->backend->device_handles(device->impl, &context, &id);
    return context == wanted;
}

/* Also the one in Tandem's own context, which the program may have been given. */
static tdm_device *find_opened(size_t index, const void *context) {
    if (!context || (opened[index] && has_context(opened[index], context))) return opened[index];
    tdm_device *device = adopted;
    while (device && (device->listed != index || device->context != context))
        device = device->next_adopted;
    return device;
}

static void forget(tdm_device *device) {
    if (opened[device->listed] == device) opened[device->listed] = NULL;
    tdm_device **const lists[] = {&adopted, &set_aside};
    for (int i = 0; i < 2; i++) {
        tdm_device **at = lists[i];
        while (*at && *at != device)
            at = &(*at)->next_adopted;
        if (*at) *at = device->next_adopted;
    }
}

tdm_status tdmi_device_open(const tdmi_listed_device *devices, size_t count, size_t index,
                            void *context, tdm_device **device) {
    TDMI_LOCKED(&opened_lock);
    if (!make_room(count))
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a device");
    tdm_device *found = find_opened(index, context);
    /* One that queues in doubt hold may never be released (wait.c). */
    if (found && atomic_load(&found->lost) && atomic_load(&found->abandoned) > 0) {
        forget(found);
        found->next_adopted = set_aside;
        set_aside = found;
        found = NULL;
    }
    if (found) { /* a lost one is of no use until its last holder has released it */
        TDMI_TRY(tdmi_device_usable(found));
        *device = tdm_device_retain(found);
        return TDM_OK;
    }
    TDMI_TRY(create_device(devices, index, context, device));
    tdm_device **const list = context ? &adopted : &opened[index];
    (*device)->next_adopted = *list;
    *list = *device;
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
    tdmi_free_event(device, device->order);
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
    tdmi_mutex_destroy(&device->lock);
    tdmi_mutex_destroy(&device->program_lock);
    tdmi_mutex_destroy(&device->user_lock);
    tdmi_cond_destroy(&device->program_built);
    tdmi_cond_destroy(&device->drained);
    tdmi_free(device->impl);
    tdmi_free(device);
}

void tdm_device_release(tdm_device *device) {
    TDMI_UNCANCELLED();
    if (!device || tdmi_forked) return;
    /* The last reference goes under the lock, so that a device that is being opened again at this
     * moment is either this one, still whole, or a new one. */
    unsigned references = atomic_load(&device->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&device->references, &references, references - 1)) return;
    tdmi_mutex_lock(&opened_lock);
    bool last = atomic_fetch_sub(&device->references, 1) == 1;
    if (last) forget(device);
    tdmi_mutex_unlock(&opened_lock);
    if (last) destroy_device(device);
}

const tdm_device_info *tdm_device_get_info(const tdm_device *device) {
    return device ? &device->facts->info : NULL;
}
