/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The list of devices, made at the first call, and the meaning of device names.
 *
 * A query that failed by accident is repeated at every later call, until all is known. A list that was
 * given out stays as it is; a longer one, with the new devices after the old, takes its place. */
#include "devices/registry.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/spelling.h"
#include "base/text.h"
#include "machine/identity.h"

#define X(backend) extern const tdmi_backend tdmi_backend_##backend;
TDMI_BACKEND_LIST
#undef X

const tdmi_backend *const tdmi_backends[] = {
#define X(backend) &tdmi_backend_##backend,
    TDMI_BACKEND_LIST
#undef X
};
const size_t tdmi_backend_count = sizeof tdmi_backends / sizeof *tdmi_backends;

const tdmi_backend *tdmi_registry_backend(size_t i) {
    const char *name = tdmi_env_values()->backends[i];
    size_t at = 0;
    while (strcmp(tdmi_backends[at]->name, name) != 0)
        at++; /* the selection has no others */
    return tdmi_backends[at];
}

typedef struct device_list {
    tdmi_listed_device *devices;
    size_t count;
    bool settled[TDM_BACKEND_COUNT];          /* by place in the selection: all is known */
    char unavailable[TDM_BACKEND_COUNT][768]; /* why a backend could not be loaded, or "" */
    struct device_list *before;               /* never freed either */
} device_list;

static _Atomic(device_list *) newest; /* NULL: none yet */
static atomic_bool complete;
static tdmi_mutex lock = TDMI_MUTEX_INIT; /* held while a list is made */

static void link_same_cards(device_list *list) {
    tdmi_listed_device *devices = list->devices;
    for (size_t i = 0; i < list->count; i++) {
        tdm_device_info *info = &devices[i].facts.info;
        for (size_t j = 0; j < list->count && !info->same_as[0]; j++)
            if (tdmi_is_same_device(devices, list->count, i, j))
                snprintf(info->same_as, sizeof info->same_as, "%s", devices[j].facts.info.id);
    }
}

static bool is_listed(const device_list *list, const tdmi_backend *backend, size_t index) {
    for (size_t i = 0; i < list->count; i++)
        if (list->devices[i].backend == backend && list->devices[i].index == index) return true;
    return false;
}

/* The drivers' names of devices go to terminals and into files, cut or not. */
static void clean_texts(tdmi_device_facts *facts) {
    tdm_device_info *info = &facts->info;
    char *const texts[] = {info->name,           info->vendor,   info->api_version,
                           info->driver_version, info->platform, facts->cache_key};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tdmi_clean_text(texts[i], false);
}

static tdm_status add_devices(device_list *list, const tdmi_backend *backend, bool *again) {
    size_t count = backend->count();
    if (count == 0) return TDM_OK;
    tdmi_listed_device *grown = tdmi_realloc(list->devices, (list->count + count) * sizeof *grown);
    if (!grown) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for the device list");
    list->devices = grown;
    int listed = 0;
    for (size_t i = 0; i < list->count; i++)
        listed += list->devices[i].backend == backend;
    for (size_t i = 0; i < count; i++) {
        tdmi_listed_device *device = &list->devices[list->count];
        if (is_listed(list, backend, i)) continue;
        memset(device, 0, sizeof *device);
        device->backend = backend;
        device->index = i;
        if (backend->info(i, &device->facts) != TDM_OK) {
            char subject[64];
            snprintf(subject, sizeof subject, "%s device %zu", backend->name, i);
            tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, tdm_last_error(), "");
            *again = true;
            continue;
        }
        clean_texts(&device->facts);
        tdm_device_info *info = &device->facts.info;
        info->backend = backend->id;
        info->index = listed;
        snprintf(info->id, sizeof info->id, "%s:%d", backend->name, listed);
        tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, true, info->id, info->name, "");
        listed++;
        list->count++;
    }
    return TDM_OK;
}

/* Asks the backends of which not all is known. */
static tdm_status extend(device_list *list) {
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++) {
        if (list->settled[i]) continue;
        bool again = false;
        const size_t before = list->count;
        const char *why = list->unavailable[i];
        tdm_status status = tdmi_registry_backend(i)->load(&again);
        list->unavailable[i][0] = '\0';
        if (status == TDM_OK)
            status = add_devices(list, tdmi_registry_backend(i), &again);
        else
            snprintf(list->unavailable[i], sizeof list->unavailable[i], "%.*s",
                     (int)sizeof list->unavailable[i] - 1, tdm_last_error());
        if (status == TDM_ERROR_OUT_OF_MEMORY) return status;
        list->settled[i] = !again;
        tdmi_log(TDM_LOG_INFO, "%s: %zu device%s%s%s", env->backends[i], list->count - before,
                 list->count - before == 1 ? "" : "s", why[0] ? ": " : "", why);
    }
    link_same_cards(list);
    return TDM_OK;
}

/* A copy, to be extended; NULL when memory is short. */
static device_list *copy_of(const device_list *list) {
    device_list *copy = tdmi_calloc(1, sizeof *copy);
    if (!copy || !list) return copy;
    *copy = *list;
    copy->devices = tdmi_malloc((list->count + 1) * sizeof *copy->devices);
    if (!copy->devices) {
        tdmi_free(copy);
        return NULL;
    }
    memcpy(copy->devices, list->devices, list->count * sizeof *copy->devices);
    return copy;
}

static bool knows_no_more(const device_list *list, const device_list *before) {
    return before && list->count == before->count &&
           memcmp(list->settled, before->settled, sizeof list->settled) == 0;
}

static tdm_status make_list(void) {
    device_list *before = atomic_load(&newest), *list = copy_of(before);
    tdm_status status =
        list ? extend(list) : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (status != TDM_OK || knows_no_more(list, before)) {
        if (list) tdmi_free(list->devices);
        tdmi_free(list);
        return status;
    }
    bool all = true;
    for (size_t i = 0; i < tdmi_env_values()->backend_count; i++)
        all = all && list->settled[i];
    list->before = before;
    atomic_store(&newest, list);
    atomic_store(&complete, all);
    return TDM_OK;
}

tdm_status tdmi_registry_get(const tdmi_listed_device **list, size_t *count) {
    tdm_status status = TDM_OK;
    if (!atomic_load(&complete)) {
        tdmi_mutex_lock(&lock);
        tdmi_attempt_begin();
        if (!atomic_load(&complete)) status = make_list();
        tdmi_attempt_end(atomic_load(&newest) ? TDM_OK : status);
        tdmi_mutex_unlock(&lock);
    }
    /* Devices listed before stay, even if the rest failed. */
    const device_list *now = atomic_load(&newest);
    *list = now ? now->devices : NULL;
    *count = now ? now->count : 0;
    return now ? TDM_OK : tdmi_fail_in(status, "listing the devices");
}

bool tdmi_registry_gpu(size_t wanted, size_t *index, size_t *seen) {
    const device_list *list = atomic_load(&newest);
    *seen = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->devices[i].facts.info.type != TDM_DEVICE_GPU) continue;
        bool earlier = false;
        for (size_t j = 0; j < i; j++)
            /* a card that another API lists as an accelerator has not been counted */
            earlier = earlier || (list->devices[j].facts.info.type == TDM_DEVICE_GPU &&
                                  tdmi_is_same_device(list->devices, list->count, i, j));
        if (earlier) continue;
        if ((*seen)++ == wanted) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* The ids of all devices, as far as there is room: "cpu:0, opencl:0". */
static const char *all_ids(char text[256]) {
    const device_list *list = atomic_load(&newest);
    size_t length = (size_t)snprintf(text, 256, "%s", list->count ? "" : "none");
    for (size_t i = 0; i < list->count && length < 256; i++)
        length += (size_t)snprintf(text + length, 256 - length, "%s%s", i ? ", " : "",
                                   list->devices[i].facts.info.id);
    return text;
}

static tdm_status not_found(const char *name) {
    if (!name[0])
        return tdmi_fail(TDM_ERROR_NOT_FOUND,
                         "the device's name is empty; NULL is the default one");
    const device_list *list = atomic_load(&newest);
    const char **names = tdmi_calloc(list->count + TDM_BACKEND_COUNT, sizeof *names);
    if (!names) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        names[count++] = list->devices[i].facts.info.id;
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        names[count++] = env->backends[i];
    tdm_status status = tdmi_fail(TDM_ERROR_NOT_FOUND,
                                  "device \"%s\" is not known%s (listed: %s; also gpu:N, "
                                  "BACKEND:uuid=… and BACKEND:pci=…)",
                                  name, tdmi_guess((char[TDMI_GUESS]){0}, name, names, count),
                                  all_ids((char[256]){0}));
    tdmi_free(names);
    return status;
}

/* Why a backend of the selection has no devices: its load failed. NULL when it did not. */
static const char *why_unavailable(const char *backend) {
    const tdmi_env *env = tdmi_env_values();
    const device_list *list = atomic_load(&newest);
    for (size_t i = 0; i < env->backend_count; i++)
        if (strcmp(env->backends[i], backend) == 0 && list->unavailable[i][0])
            return list->unavailable[i];
    return NULL;
}

static tdm_status find_in_backend(const char *name, const char *backend, const char *which,
                                  size_t *index) {
    const device_list *list = atomic_load(&newest);
    unsigned long wanted = 0;
    size_t seen = 0;
    bool by_uuid = strncmp(which, "uuid=", 5) == 0, by_pci = strncmp(which, "pci=", 4) == 0;
    bool gpu = strcmp(backend, "gpu") == 0;
    if ((by_uuid || by_pci) && !gpu) {
        for (size_t i = 0; i < list->count; i++) {
            const tdm_device_info *info = &list->devices[i].facts.info;
            if (strcmp(list->devices[i].backend->name, backend) == 0 &&
                (by_uuid ? tdmi_has_uuid(info, which + 5)
                         : info->pci[0] && tdmi_is_same_word(info->pci, which + 4, SIZE_MAX))) {
                *index = i;
                return TDM_OK;
            }
        }
        return tdmi_fail(TDM_ERROR_NOT_FOUND, "no %s device has the %s \"%s\"; see `tdm devices`",
                         backend, by_uuid ? "UUID" : "PCI address", strchr(which, '=') + 1);
    }
    if (*which && !tdmi_parse_index(which, 1000000, &wanted)) return not_found(name);
    if (gpu) {
        if (tdmi_registry_gpu(wanted, index, &seen)) return TDM_OK;
    } else {
        for (size_t i = 0; i < list->count; i++) {
            if (strcmp(list->devices[i].backend->name, backend) != 0) continue;
            if (seen++ == wanted) {
                *index = i;
                return TDM_OK;
            }
        }
    }
    const char *why = why_unavailable(backend);
    if (why)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE, "device \"%s\" does not exist (listed: %s): %s",
                         name, all_ids((char[256]){0}), why);
    return tdmi_fail(TDM_ERROR_NOT_FOUND,
                     "device \"%s\" does not exist (listed: %s%s; `tdm doctor` says why)", name,
                     all_ids((char[256]){0}),
                     strcmp(backend, "cpu") == 0 ? "; TANDEM_CPU_DEVICES sets how many" : "");
}

bool tdmi_registry_selects(const char *backend) {
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        if (strcmp(env->backends[i], backend) == 0) return true;
    return false;
}

static tdm_status find_named(const char *name, size_t *index) {
    char backend[16];
    size_t length = strcspn(name, ":");
    if (length >= sizeof backend) return not_found(name);
    snprintf(backend, sizeof backend, "%.*s", (int)length, name);
    const bool known = strcmp(backend, "gpu") == 0 || tdmi_registry_selects(backend);
    const char *excluded = NULL;
    for (size_t i = 0; i < tdmi_backend_count; i++)
        if (strcmp(backend, tdmi_backends[i]->name) == 0) excluded = tdmi_backends[i]->name;
    if (!known && excluded)
        return tdmi_fail(TDM_ERROR_NOT_FOUND,
                         "device \"%s\" is not available: TANDEM_BACKEND leaves out %s", name,
                         excluded);
    if (!known || (name[length] == ':' && name[length + 1] == '\0')) return not_found(name);
    return find_in_backend(name, backend, name[length] ? name + length + 1 : "", index);
}

/* The first device, but where nothing was chosen no CPU through OpenCL: `cpu` is faster there, and compiles nothing. */
static size_t find_default(const tdmi_listed_device *list, size_t count) {
    if (tdmi_env_values()->backend_given) return 0;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info = &list[i].facts.info;
        if (info->backend != TDM_OPENCL || info->type != TDM_DEVICE_CPU) return i;
    }
    return 0;
}

const char *tdmi_registry_why(const tdm_device_info *chosen) {
    const tdmi_env *env = tdmi_env_values();
    if (env->device) return "decided by TANDEM_DEVICE";
    if (env->backend_given) return "decided by TANDEM_BACKEND";
    if (chosen->type == TDM_DEVICE_GPU) return "the first GPU";
    return chosen->backend == TDM_CPU ? "as there is no GPU" : "the first device";
}

tdm_status tdmi_registry_find(const char *name, size_t *index) {
    const tdmi_listed_device *list;
    size_t count;
    TDMI_TRY(tdmi_registry_get(&list, &count));
    const tdmi_env *env = tdmi_env_values();
    if (name) return find_named(name, index);
    if (env->device) {
        tdm_status status = find_named(env->device, index);
        if (status != TDM_OK) return tdmi_fail_in(status, "TANDEM_DEVICE");
    } else {
        *index = find_default(list, count);
    }
    if (count > 0) {
        tdmi_log(TDM_LOG_INFO, "the default device is %s, %s", list[*index].facts.info.id,
                 tdmi_registry_why(&list[*index].facts.info));
        return TDM_OK;
    }
    const char *why = why_unavailable(env->backends[0]);
    return tdmi_fail(why ? TDM_ERROR_UNAVAILABLE : TDM_ERROR_NOT_FOUND,
                     "no backend of TANDEM_BACKEND lists a device%s%s",
                     why ? ": " : "; `tdm doctor` says why", why ? why : "");
}
