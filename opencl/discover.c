/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding the platforms and their devices, without making a context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "opencl_backend.h"
#include "platform/folder.h"
#include "platform/process.h"

static tdmi_mutex lock = TDMI_MUTEX_INIT; /* all below */

/* Everything that load has found so far, never freed. Entries that the core has counted keep their places.
 */
static tdmi_cl_entry **entries;
static size_t entry_count, counted;

/* The devices that a platform has reported, and the platforms themselves. One that is not settled
 * could not be queried, by accident, and is queried again by the next load; `why` gives the
 * reason. */
typedef struct candidate {
    cl_platform_id platform;
    cl_device_id id;
    char platform_name[64];
    bool settled; /* listed, or refused */
    char why[256];
} candidate;
static candidate *candidates;
static size_t candidate_count;

typedef struct platform {
    cl_platform_id id;
    bool settled; /* its devices are candidates, or it has none */
    char why[256];
} platform;
static platform *platforms;
static cl_uint platform_count;

static int rank(const tdmi_cl_entry *entry) {
    switch (entry->facts.info.type) {
    case TDM_DEVICE_GPU:
        return 0;
    case TDM_DEVICE_ACCELERATOR:
        return 1;
    default:
        return 2;
    }
}

static int compare_entries(const void *left, const void *right) {
    const tdmi_cl_entry *a = *(tdmi_cl_entry *const *)left, *b = *(tdmi_cl_entry *const *)right;
    int difference = rank(a) - rank(b);
    if (difference == 0) difference = strcmp(a->facts.info.platform, b->facts.info.platform);
    if (difference == 0) difference = strcmp(a->facts.info.pci, b->facts.info.pci);
    return difference != 0 ? difference : a->order - b->order;
}

static tdm_status short_of_memory(void) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot list the OpenCL devices");
}

static void report_refused(const tdmi_cl_entry *entry, const char *platform_name,
                           const char *refused) {
    char subject[256], detail[256];
    snprintf(subject, sizeof subject, "%s (OpenCL platform %s)", entry->facts.info.name,
             platform_name);
    snprintf(detail, sizeof detail, "refused: %s", refused);
    tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, detail,
                  "update the device's OpenCL driver, or use another device");
}

/* Takes the device into the list, or reports why not. Fails only where memory is short. */
static tdm_status add_device(candidate *device, int order) {
    tdmi_cl_entry **grown = tdmi_realloc(entries, (entry_count + 1) * sizeof(tdmi_cl_entry *));
    if (!grown) return short_of_memory();
    entries = grown;
    tdmi_cl_entry *entry = tdmi_calloc(1, sizeof *entry);
    if (!entry) return short_of_memory();
    entry->platform = device->platform;
    entry->id = device->id;
    entry->order = order;
    const char *refused;
    tdm_status status = tdmi_cl_describe(entry, &refused);
    device->settled = status == TDM_OK;
    if (status == TDM_OK && !refused) {
        entries[entry_count++] = entry;
        return TDM_OK;
    }
    if (status == TDM_OK)
        report_refused(entry, device->platform_name, refused);
    else
        snprintf(device->why, sizeof device->why, "%.255s", tdm_last_error());
    tdmi_free(entry);
    return status == TDM_ERROR_OUT_OF_MEMORY ? status : TDM_OK;
}

/* More than any machine has: a driver that says so is broken, and its number no size of an array.
 */
enum { MOST = 4096 };

/* Asks the platform for its devices; `ids` is malloc'ed, or NULL where there are more than MOST.
 * Fails only where memory is short. */
static tdm_status list_devices(cl_platform_id id, cl_int *code, cl_uint *count,
                               cl_device_id **ids) {
    TDMI_CL_TWICE(*code, tdmi_cl.clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, NULL, count));
    if (*code == CL_SUCCESS && *count == 0) *code = CL_DEVICE_NOT_FOUND;
    if (*code != CL_SUCCESS || *count > MOST) return TDM_OK;
    *ids = tdmi_calloc(*count, sizeof(cl_device_id));
    if (!*ids) return short_of_memory();
    TDMI_CL_TWICE(*code, tdmi_cl.clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, *count, *ids, NULL));
    return TDM_OK;
}

/* The loader lists the devices of a driver again for another .icd file, or variable, that names the driver. */
static bool is_candidate(cl_device_id id) {
    for (size_t i = 0; i < candidate_count; i++)
        if (candidates[i].id == id) return true;
    return false;
}

/* *added: how many were not there before. */
static tdm_status add_candidates(cl_platform_id id, const char *name, cl_uint count,
                                 const cl_device_id *ids, cl_uint *added) {
    candidate *grown = tdmi_realloc(candidates, (candidate_count + count) * sizeof *grown);
    if (!grown) return short_of_memory();
    candidates = grown;
    for (cl_uint i = 0; i < count; i++) {
        if (!ids[i] || is_candidate(ids[i])) continue;
        candidate *made = &candidates[candidate_count++];
        *made = (candidate){.platform = id, .id = ids[i]};
        snprintf(made->platform_name, sizeof made->platform_name, "%s", name);
        ++*added;
    }
    return TDM_OK;
}

/* PoCL lists no device where it cannot make the folder of its cache, and says nothing. The folder, and the variable
 * that names it; false where it is there, and so not the reason. */
static bool lacks_folder(const char *platform_name, char *folder, size_t size,
                         const char **variable) {
    static const struct {
        const char *variable, *below;
    } places[] = {{"POCL_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/pocl"}, {"HOME", "/.cache/pocl"}};
    tdmi_file_info info;
    if (strcmp(platform_name, "Portable Computing Language") != 0) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = tdmi_environment_get(*variable = places[i].variable);
        if (!value) continue;
        snprintf(folder, size, "%.500s%s", value, places[i].below);
        return !tdmi_file_look_up(TDMI_HERE, folder, true, &info) ||
               info.kind != TDMI_FILE_FOLDER || !tdmi_folder_is_writable(folder);
    }
    return false;
}

static void report_no_devices(const char *subject, const char *platform_name) {
    char folder[600], detail[768];
    const char *advice = "set POCL_CACHE_DIR, or HOME, to a folder in which this user may write",
               *variable;
    if (!lacks_folder(platform_name, folder, sizeof folder, &variable)) {
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, subject, "has no devices",
                      "check that the device is present and that this user may open it (groups "
                      "render and video), or remove the driver");
        return;
    }
    snprintf(detail, sizeof detail,
             "has no devices: it can make no folder %s, which %s names, for its cache", folder,
             variable);
    tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, subject, detail, advice);
    tdmi_log(TDM_LOG_WARNING, "%s %s: %s", subject, detail, advice);
}

/* Lists one platform's devices. A platform that cannot tell them is reported and skipped. Fails only
 * where memory is short. */
static tdm_status add_platform(platform *asked) {
    char name[64], version[160], subject[128], detail[256];
    cl_uint count = 0;
    cl_device_id *ids = NULL;
    cl_int code = tdmi_cl_platform_text(asked->id, CL_PLATFORM_NAME, name, sizeof name);
    if (code == CL_SUCCESS)
        code = tdmi_cl_platform_text(asked->id, CL_PLATFORM_VERSION, version, sizeof version);
    if (code == CL_SUCCESS) TDMI_TRY(list_devices(asked->id, &code, &count, &ids));
    snprintf(subject, sizeof subject, "OpenCL platform %s",
             name[0] != '\0' ? name : "without name");
    tdm_status status = TDM_OK;
    asked->settled = code == CL_DEVICE_NOT_FOUND;
    if (code == CL_DEVICE_NOT_FOUND) {
        report_no_devices(subject, name);
    } else if (code == CL_SUCCESS && count > MOST) {
        asked->settled = true;
        snprintf(detail, sizeof detail, "is broken: it says that it has %u devices", count);
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, subject, detail,
                      "reinstall the driver of this platform, or remove its .icd file");
    } else if (code != CL_SUCCESS) {
        snprintf(asked->why, sizeof asked->why, "%s is broken: it failed with %s (%d)", subject,
                 tdmi_cl_error_name(code), code);
    } else {
        cl_uint added = 0;
        status = add_candidates(asked->id, name, count, ids, &added);
        asked->settled = status == TDM_OK;
        snprintf(detail, sizeof detail, "%s, %u device%s%s", version, count, count == 1 ? "" : "s",
                 added > 0 ? "" : ", listed before: another .icd file names the same driver");
        if (status == TDM_OK) tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, true, subject, detail, "");
    }
    tdmi_free(ids);
    return status;
}

/* TDM_ERROR_OUT_OF_MEMORY ends the listing of all backends: that is for memory of ours. */
static tdm_status no_platforms(cl_int code) {
    tdm_status status = tdmi_cl_fail(code, "clGetPlatformIDs");
    if (status != TDM_ERROR_OUT_OF_MEMORY) return status;
    return tdmi_fail(TDM_ERROR_BACKEND, "%s", tdm_last_error());
}

/* The platforms there are, until that is known. *again: it may be another time. */
static tdm_status find_platforms(bool *again) {
    cl_uint count = 0;
    cl_int code;
    if (platform_count > 0) return TDM_OK;
    TDMI_CL_TWICE(code, tdmi_cl.clGetPlatformIDs(0, NULL, &count));
    /* Loaders differ in how they say that there is nothing. */
    if (code == CL_SUCCESS && count == 0) code = CL_PLATFORM_NOT_FOUND_KHR;
    *again = code != CL_PLATFORM_NOT_FOUND_KHR;
    if (code != CL_SUCCESS) return no_platforms(code);
    if (count > MOST)
        return tdmi_fail(TDM_ERROR_BACKEND,
                         "a driver is broken: there would be %u OpenCL platforms; `tdm doctor` "
                         "says which",
                         count);
    cl_platform_id *ids = tdmi_calloc(count, sizeof(cl_platform_id));
    platform *made = tdmi_calloc(count, sizeof *made);
    tdm_status status = TDM_OK;
    if (!ids || !made) {
        status = short_of_memory();
    } else {
        TDMI_CL_TWICE(code, tdmi_cl.clGetPlatformIDs(count, ids, NULL));
        if (code != CL_SUCCESS) status = no_platforms(code);
    }
    for (cl_uint i = 0; i < count && status == TDM_OK; i++)
        made[i].id = ids[i];
    tdmi_free(ids);
    if (status != TDM_OK) {
        tdmi_free(made);
        return status;
    }
    platforms = made;
    platform_count = count;
    return TDM_OK;
}

static bool all_settled(void) {
    bool all = true;
    for (cl_uint i = 0; i < platform_count; i++)
        all = all && platforms[i].settled;
    for (size_t i = 0; i < candidate_count; i++)
        all = all && candidates[i].settled;
    return all;
}

static tdm_status find_all(bool *again) {
    *again = false;
    tdm_status status = tdmi_cl_open();
    if (status != TDM_OK) {
        *again = status != TDM_ERROR_UNAVAILABLE;
        return status;
    }
    TDMI_TRY(tdmi_cl_check_vendors());
    TDMI_TRY(find_platforms(again));
    *again = true;
    for (cl_uint i = 0; i < platform_count; i++)
        if (!platforms[i].settled) TDMI_TRY(add_platform(&platforms[i]));
    for (size_t i = 0; i < candidate_count; i++)
        if (!candidates[i].settled) TDMI_TRY(add_device(&candidates[i], (int)i));
    *again = !all_settled();
    if (entry_count == 0)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "%u OpenCL platform%s installed, but none has a device that can be used; "
                         "`tdm doctor` says why",
                         platform_count, platform_count == 1 ? " is" : "s are");
    qsort(entries + counted, entry_count - counted, sizeof *entries, compare_entries);
    return TDM_OK;
}

tdm_status tdmi_cl_load(bool *again) {
    TDMI_LOCKED(&lock);
    return find_all(again);
}

size_t tdmi_cl_count(void) {
    TDMI_LOCKED(&lock);
    size_t count = counted = entry_count;
    return count;
}

const tdmi_cl_entry *tdmi_cl_entry_at(size_t index) {
    TDMI_LOCKED(&lock);
    return entries[index];
}

bool tdmi_cl_device_find(const void *id, size_t *index) {
    TDMI_LOCKED(&lock);
    size_t at = 0;
    while (at < counted && (const void *)entries[at]->id != id)
        at++;
    *index = at;
    return at < counted;
}

tdm_status tdmi_cl_info(size_t index, tdmi_device_facts *facts) {
    *facts = tdmi_cl_entry_at(index)->facts;
    return TDM_OK;
}

void tdmi_cl_diagnose(void) {
    tdmi_cl_diagnose_drivers();
    tdmi_mutex_lock(&lock);
    for (cl_uint i = 0; i < platform_count; i++)
        if (!platforms[i].settled)
            tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, "OpenCL platform", platforms[i].why,
                          "reinstall the driver of this platform, or remove its .icd file");
    for (size_t i = 0; i < candidate_count; i++)
        if (!candidates[i].settled)
            tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, candidates[i].platform_name,
                          candidates[i].why,
                          "update the device's OpenCL driver, or use another device");
    tdmi_mutex_unlock(&lock);
    if (tdmi_cl_open() == TDM_OK) tdmi_clblast_diagnose(); /* CLBlast needs the loader */
}
