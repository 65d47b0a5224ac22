/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries opened at run time, never closed. */
#include "machine/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "platform/file.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/threads.h"

static tdmi_mutex lock = TDMI_MUTEX_INIT;

/* Adds a reason to the list of reasons, "; " between them, as far as there is room: first why a file that is there is
 * not used, as many may be missing. */
static void add_reason(tdmi_library *library, bool is_there, const char *reason) {
    char others[sizeof library->found];
    snprintf(others, sizeof others, "%s", library->found);
    const int written =
        snprintf(library->found, sizeof library->found, "%s%s%s", is_there ? reason : others,
                 others[0] ? "; " : "", is_there ? others : reason);
    if (written < (int)sizeof library->found) return;
    snprintf(library->found, sizeof library->found, "%s", is_there ? reason : others);
}

static void *try_open(tdmi_library *library, const char *path) {
    unsigned failure;
    char why[512];
    void *handle =
        tdmi_library_load(path, library->shared ? TDMI_LOAD_SYSTEM : 0, &failure, why, sizeof why);
    if (handle) return handle;
    if (failure & TDMI_LOAD_ACCIDENT) { /* it may succeed another time */
        library->tried = false;
        library->status = TDM_ERROR_IO;
    }
    const bool is_there = !(failure & TDMI_LOAD_ABSENT);
    if (is_there) library->broken = true;
    add_reason(library, is_there, why);
    return NULL;
}

/* Every name in every directory of a list, as PATH is one. */
static void *try_directories(tdmi_library *library, const char *list) {
    const char separator[] = {tdmi_path_separator, '\0'};
    while (list && *list) {
        size_t length = strcspn(list, separator);
        for (const char *const *name = library->names; length && *name; name++) {
            char path[1024];
            int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, list, *name);
            bool fits = written > 0 && (size_t)written < sizeof path;
            if (!fits) {
                snprintf(path, sizeof path, "%s in a directory whose name is too long", *name);
                add_reason(library, false, path);
            }
            void *handle = fits ? try_open(library, path) : NULL;
            if (handle) return handle;
        }
        list += length + (list[length] != '\0');
    }
    return NULL;
}

static void *open_anywhere(tdmi_library *library) {
    void *handle = NULL;
    if (!library->shared) handle = try_directories(library, tdmi_env_values()->library_path);
    for (const char *const *name = library->names; !handle && *name; name++)
        handle = try_open(library, *name);
    for (const char *const *path = library->paths; !handle && path && *path; path++) {
        char folder[1024];
        if (tdmi_path_expand(*path, folder, sizeof folder))
            handle = try_directories(library, folder);
    }
    return handle;
}

/* A file of that name that is another library, or of another version. */
static void add_missing(tdmi_library *library, void *handle, const char *symbol) {
    char path[384], reason[512];
    if (!tdmi_library_path(handle, path, sizeof path)) snprintf(path, sizeof path, "it");
    snprintf(reason, sizeof reason, "%.380s has no function %.100s", path, symbol);
    add_reason(library, true, reason);
    library->broken = true;
}

/* The system's own search would be safe, but not what the libraries do then: OpenCL's loader takes
 * drivers from OCL_ICD_VENDORS, PoCL its compiled kernels from the home directory. */
static const char PRIVILEGED[] =
    "a program with more rights than its caller (setuid, setgid, file capabilities) opens no "
    "libraries, because they take files from the caller's environment";
static const char STATIC[] =
    "a program that is linked with -static opens no libraries, as they need the shared libc";

const char *tdmi_loader_refusal(void) {
    if (tdmi_env_values()->privileged) return PRIVILEGED;
    return tdmi_library_can_load() ? NULL : STATIC;
}

static void open_once(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    library->tried = true;
    library->found[0] = '\0';
    library->status = TDM_ERROR_UNAVAILABLE;
    const char *refusal = tdmi_loader_refusal();
    if (refusal) {
        snprintf(library->found, sizeof library->found, "%s", refusal);
        return;
    }
    void *handle = open_anywhere(library);
    if (!handle) return;
    for (size_t i = 0; i < count; i++) {
        void *symbol = tdmi_library_symbol(handle, symbols[i].name);
        if (!symbol && !symbols[i].optional) {
            add_missing(library, handle, symbols[i].name);
            return;
        }
        memcpy(symbols[i].address, &symbol, sizeof symbol);
    }
    if (!tdmi_library_path(handle, library->found, sizeof library->found))
        snprintf(library->found, sizeof library->found, "%s", library->names[0]);
    library->handle = handle;
    library->tried = true;
    library->status = TDM_OK;
    tdmi_log(TDM_LOG_INFO, "opened %s: %s", library->title, library->found);
}

tdm_status tdmi_library_open(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    tdmi_mutex_lock(&lock);
    const bool first = !library->tried;
    if (first) open_once(library, symbols, count);
    tdm_status status = library->status;
    if (first && status != TDM_OK)
        tdmi_log(TDM_LOG_INFO, "%s is not opened: %s", library->title, library->found);
    tdmi_mutex_unlock(&lock);
    if (status == TDM_OK) return TDM_OK;
    if (tdmi_loader_refusal())
        return tdmi_fail(status, "%s is not opened: %s", library->title, library->found);
    return tdmi_fail(status, "%s was not found: %s; %s", library->title, library->found,
                     library->advice);
}

uint64_t tdmi_file_stamp(const char *file) {
    tdmi_file_info info;
    if (!tdmi_file_look_up(TDMI_HERE, file, true, &info)) return 0;
    char *path = tdmi_path_resolve(file); /* libdnnl.so.2 leads to libdnnl.so.2.6 */
    const char *name = path ? path : file;
    const uint64_t facts[] = {info.size, (uint64_t)info.changed};
    const uint64_t hash =
        tdmi_hash(tdmi_hash(TDMI_HASH_START, name, strlen(name)), facts, sizeof facts);
    free(path);
    return hash ? hash : 1;
}

uint64_t tdmi_library_identity(const tdmi_library *library) {
    if (!library || library->status != TDM_OK || !library->handle) return 0;
    return tdmi_file_stamp(library->found);
}

void tdmi_library_diagnose(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    tdm_status status = tdmi_library_open(library, symbols, count);
    char subject[160];
    bool advise = status != TDM_OK && !tdmi_loader_refusal();
    snprintf(subject, sizeof subject, "%.100s (%s)",
             status == TDM_OK ? library->found + tdmi_path_folder_length(library->found)
                              : library->names[0],
             library->title);
    if (status != TDM_OK && !library->broken) {
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_LIBRARY, subject, library->found, library->advice);
        return;
    }
    tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, status == TDM_OK, subject, library->found,
                  advise ? library->advice : "");
}

void tdmi_library_diagnose_by(tdmi_library *library, const tdmi_symbol *symbols, size_t count,
                              tdm_status (*open)(void)) {
    if (open() != TDM_OK && library->status == TDM_OK)
        tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, false, library->names[0], tdm_last_error(),
                      library->advice);
    else
        tdmi_library_diagnose(library, symbols, count);
}
