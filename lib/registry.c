/* The list of devices, made once at the first call, and the meaning of device names. */
#include "registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "card.h"
#include "env.h"
#include "words.h"

static tdmi_listed_device *devices;
static size_t device_count;
static tdm_status list_status;
static char unavailable[8][768]; /* why a backend of the selection could not be loaded, or "" */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void link_same_cards(void) {
    for (size_t i = 0; i < device_count; i++) {
        tdm_device_info *info = &devices[i].facts.info;
        for (size_t j = 0; j < device_count && !info->same_as[0]; j++)
            if (tdmi_card_is_same(devices, device_count, i, j))
                snprintf(info->same_as, sizeof info->same_as, "%s", devices[j].facts.info.id);
    }
}

static tdm_status add_devices(const tdmi_backend *backend) {
    size_t count = backend->count();
    if (count == 0) return TDM_OK;
    tdmi_listed_device *grown = realloc(devices, (device_count + count) * sizeof *grown);
    if (!grown) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for the device list");
    devices = grown;
    int listed = 0;
    for (size_t i = 0; i < count; i++) {
        tdmi_listed_device *device = &devices[device_count];
        memset(device, 0, sizeof *device);
        device->backend = backend;
        device->index = i;
        if (backend->info(i, &device->facts) != TDM_OK) {
            char subject[64];
            snprintf(subject, sizeof subject, "%s device %zu", backend->name, i);
            tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, tdm_last_error(), "");
            continue;
        }
        tdm_device_info *info = &device->facts.info;
        info->backend = backend->id;
        info->index = listed;
        snprintf(info->id, sizeof info->id, "%s:%d", backend->name, listed);
        tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, true, info->id, info->name, "");
        listed++;
        device_count++;
    }
    return TDM_OK;
}

static void make_list(void) {
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++) {
        const tdmi_backend *backend = env->backends[i];
        if (backend->load() != TDM_OK) {
            snprintf(unavailable[i], sizeof unavailable[i], "%.*s", (int)sizeof unavailable[i] - 1,
                     tdm_last_error());
            continue;
        }
        list_status = add_devices(backend);
        if (list_status != TDM_OK) return;
    }
    link_same_cards();
}

tdm_status tdmi_registry_get(const tdmi_listed_device **list, size_t *count) {
    pthread_once(&once, make_list);
    *list = devices;
    *count = device_count;
    return list_status == TDM_OK
               ? TDM_OK
               : tdmi_fail(list_status, "out of host memory when the devices were listed");
}

bool tdmi_registry_gpu(size_t wanted, size_t *index, size_t *seen) {
    *seen = 0;
    for (size_t i = 0; i < device_count; i++) {
        if (devices[i].facts.info.type != TDM_DEVICE_GPU) continue;
        bool earlier = false;
        for (size_t j = 0; j < i; j++)
            /* a card that another API lists as an accelerator has not been counted */
            earlier = earlier || (devices[j].facts.info.type == TDM_DEVICE_GPU &&
                                  tdmi_card_is_same(devices, device_count, i, j));
        if (earlier) continue;
        if ((*seen)++ == wanted) {
            *index = i;
            return true;
        }
    }
    return false;
}

static tdm_status not_found(const char *name) {
    const char **names = calloc(device_count + 8, sizeof *names);
    if (!names) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    size_t count = 0;
    for (size_t i = 0; i < device_count; i++)
        names[count++] = devices[i].facts.info.id;
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        names[count++] = env->backends[i]->name;
    char listed[256] = "";
    for (size_t i = 0; i < device_count; i++) {
        size_t length = strlen(listed);
        snprintf(listed + length, sizeof listed - length, "%s%s", i ? ", " : "", names[i]);
    }
    const char *nearest = tdmi_nearest_word(name, names, count);
    tdm_status status =
        tdmi_fail(TDM_ERROR_NOT_FOUND,
                  "device \"%s\" is not known; did you mean \"%s\"? (listed: %s; also gpu:N, "
                  "BACKEND:uuid=… and BACKEND:pci=…)",
                  name, nearest ? nearest : "cpu", listed[0] ? listed : "none");
    free(names);
    return status;
}

/* Why a backend of the selection has no devices: its load failed. NULL when it did not. */
static const char *why_unavailable(const char *backend) {
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        if (strcmp(env->backends[i]->name, backend) == 0 && unavailable[i][0])
            return unavailable[i];
    return NULL;
}

static tdm_status find_in_backend(const char *name, const char *backend, const char *which,
                                  size_t *index) {
    unsigned long wanted = 0;
    size_t seen = 0;
    bool by_uuid = strncmp(which, "uuid=", 5) == 0, by_pci = strncmp(which, "pci=", 4) == 0;
    bool gpu = strcmp(backend, "gpu") == 0;
    if ((by_uuid || by_pci) && !gpu) {
        for (size_t i = 0; i < device_count; i++) {
            const tdm_device_info *info = &devices[i].facts.info;
            if (strcmp(devices[i].backend->name, backend) == 0 &&
                (by_uuid ? tdmi_card_has_uuid(info, which + 5)
                         : info->pci[0] && strcasecmp(info->pci, which + 4) == 0)) {
                *index = i;
                return TDM_OK;
            }
        }
        return tdmi_fail(TDM_ERROR_NOT_FOUND,
                         "no %s device has the %s \"%s\"; see `tandem devices`", backend,
                         by_uuid ? "UUID" : "PCI address", strchr(which, '=') + 1);
    }
    if (*which && !tdmi_parse_index(which, 1000000, &wanted)) return not_found(name);
    if (gpu) {
        if (tdmi_registry_gpu(wanted, index, &seen)) return TDM_OK;
    } else {
        for (size_t i = 0; i < device_count; i++) {
            if (strcmp(devices[i].backend->name, backend) != 0) continue;
            if (seen++ == wanted) {
                *index = i;
                return TDM_OK;
            }
        }
    }
    const char *why = why_unavailable(backend);
    if (why) return tdmi_fail(TDM_ERROR_UNAVAILABLE, "device \"%s\" does not exist: %s", name, why);
    char nearest[64] = "";
    if (seen > 0)
        snprintf(nearest, sizeof nearest, "; did you mean \"%s:%zu\"?", backend, seen - 1);
    return tdmi_fail(
        TDM_ERROR_NOT_FOUND,
        "device \"%s\" does not exist: %zu %s device%s listed%s%s (see `tandem doctor`)", name,
        seen, gpu ? "GPU" : backend, seen == 1 ? " is" : "s are",
        strcmp(backend, "cpu") == 0 ? " (TANDEM_CPU_DEVICES sets how many)" : "", nearest);
}

static tdm_status find_named(const char *name, size_t *index) {
    char backend[16];
    size_t length = strcspn(name, ":");
    if (length >= sizeof backend) return not_found(name);
    snprintf(backend, sizeof backend, "%.*s", (int)length, name);
    bool known = strcmp(backend, "gpu") == 0;
    const char *excluded = NULL;
    for (size_t i = 0; i < tdmi_backend_count; i++)
        if (strcmp(backend, tdmi_backends[i]->name) == 0) excluded = tdmi_backends[i]->name;
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        known = known || strcmp(backend, env->backends[i]->name) == 0;
    if (!known && excluded)
        return tdmi_fail(TDM_ERROR_NOT_FOUND,
                         "device \"%s\" is not available: TANDEM_BACKEND leaves out %s", name,
                         excluded);
    if (!known || (name[length] == ':' && name[length + 1] == '\0')) return not_found(name);
    return find_in_backend(name, backend, name[length] ? name + length + 1 : "", index);
}

tdm_status tdmi_registry_find(const char *name, size_t *index) {
    const tdmi_listed_device *list;
    size_t count;
    TDMI_TRY(tdmi_registry_get(&list, &count));
    const tdmi_env *env = tdmi_env_values();
    if (name) return find_named(name, index);
    if (env->device) {
        tdm_status status = find_named(env->device, index);
        return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "TANDEM_DEVICE");
    }
    *index = 0;
    if (count > 0) return TDM_OK;
    const char *why = why_unavailable(env->backends[0]->name);
    return tdmi_fail(why ? TDM_ERROR_UNAVAILABLE : TDM_ERROR_NOT_FOUND,
                     "no backend of TANDEM_BACKEND lists a device%s%s; see `tandem doctor`",
                     why ? ": " : "", why ? why : "");
}
