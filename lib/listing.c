/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Devices as they are listed: counted, found by name, and opened. */
#include "core.h"
#include "devices/registry.h"

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

static tdm_status open_listed(size_t index, tdm_device **device) {
    size_t count;
    const tdmi_listed_device *devices;
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    return tdmi_device_open(devices, count, index, NULL, device);
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
        tdm_status status = tdmi_device_open(devices, count, i, context, device);
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
