/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries opened at run time, never closed. */
#define _GNU_SOURCE
#include "machine/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Adds a reason to the list of reasons, as far as there is room. */
static void add_reason(tdmi_library *library, const char *reason, const char *detail) {
    size_t length = strlen(library->found), room = sizeof library->found - length;
    int written = snprintf(library->found + length, room, "%s%s; ", reason, detail);
    if (written < 0 || (size_t)written >= room) memcpy(library->found + length, "", 1);
}

/* Whether it may succeed another time. The message ends with the system's words for the error. */
static bool is_accident(const char *why) {
    static const int errors[] = {ENOMEM, EMFILE, ENFILE, EAGAIN, EINTR, EIO};
    bool found = !why || strcmp(why, "out of memory") == 0;
    for (size_t i = 0; !found && i < sizeof errors / sizeof *errors; i++)
        found = strstr(why, strerror(errors[i]));
    return found;
}

/* Is there no such file, rather than one that does not open? The message begins with the name when
 * the search found nothing; else with the file's path, or the name of a library that it needs. */
static bool is_absent(const char *path, const char *why) {
    size_t length = strlen(path);
    if (strchr(path, '/')) return access(path, F_OK) != 0;
    return why && strncmp(why, path, length) == 0 && why[length] == ':';
}

static void *try_open(tdmi_library *library, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        if (is_accident(why)) {
            library->tried = false;
            library->status = TDM_ERROR_IO;
        }
        if (!is_absent(path, why)) library->broken = true;
        add_reason(library, why ? why : path, "");
    }
    return handle;
}

/* Every name in every directory of a ':'-separated list. */
static void *try_directories(tdmi_library *library, const char *list) {
    while (list && *list) {
        size_t length = strcspn(list, ":");
        for (const char *const *name = library->names; length && *name; name++) {
            char path[1024];
            int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, list, *name);
            bool fits = written > 0 && (size_t)written < sizeof path;
            if (!fits) add_reason(library, *name, " in a directory whose name is too long");
            void *handle = fits ? try_open(library, path) : NULL;
            if (handle) return handle;
        }
        list += length + (list[length] == ':');
    }
    return NULL;
}

static void *open_anywhere(tdmi_library *library) {
    void *handle = NULL;
    if (!library->shared) handle = try_directories(library, tdmi_env_values()->library_path);
    for (const char *const *name = library->names; !handle && *name; name++)
        handle = try_open(library, *name);
    for (const char *const *path = library->paths; !handle && path && *path; path++)
        handle = try_directories(library, *path);
    return handle;
}

/* A file of that name that is another library, or of another version. */
static void add_missing(tdmi_library *library, void *handle, const char *symbol) {
    struct link_map *map = NULL;
    char reason[512];
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) map = NULL;
    snprintf(reason, sizeof reason, "%.380s has no function %.100s", map ? map->l_name : "it",
             symbol);
    add_reason(library, reason, "");
    library->broken = true;
}

/* Which file a symbol of the library lives in, for people. */
static void remember_path(tdmi_library *library, void *symbol) {
    Dl_info info;
    snprintf(library->found, sizeof library->found, "%s",
             dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : library->names[0]);
}

/* The system's own search would be safe, but not what the libraries do then: OpenCL's loader takes
 * drivers from OCL_ICD_VENDORS, PoCL its compiled kernels from the home directory. */
static const char PRIVILEGED[] =
    "a program with more rights than its caller (setuid, setgid, file capabilities) opens no "
    "libraries, because they take files from the caller's environment";
static const char STATIC[] =
    "a program that is linked with -static opens no libraries, as they need the shared libc";

/* The first is the program itself. */
static int look_for_interpreter(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP) *(bool *)found = true;
    return 1;
}

const char *tdmi_loader_refusal(void) {
    bool is_dynamic = false;
    if (tdmi_env_values()->privileged) return PRIVILEGED;
    dl_iterate_phdr(look_for_interpreter, &is_dynamic);
    return is_dynamic ? NULL : STATIC;
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
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol && !symbols[i].optional) {
            add_missing(library, handle, symbols[i].name);
            return;
        }
        memcpy(symbols[i].address, &symbol, sizeof symbol);
    }
    void *first = NULL;
    for (size_t i = 0; i < count && !first; i++)
        memcpy(&first, symbols[i].address, sizeof first);
    remember_path(library, first);
    library->handle = handle;
    library->tried = true;
    library->status = TDM_OK;
    tdmi_log(TDM_LOG_INFO, "opened %s: %s", library->title, library->found);
}

tdm_status tdmi_library_open(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    pthread_mutex_lock(&lock);
    const bool first = !library->tried;
    if (first) open_once(library, symbols, count);
    tdm_status status = library->status;
    if (first && status != TDM_OK)
        tdmi_log(TDM_LOG_INFO, "%s is not opened: %s", library->title, library->found);
    pthread_mutex_unlock(&lock);
    if (status == TDM_OK) return TDM_OK;
    if (tdmi_loader_refusal())
        return tdmi_fail(status, "%s is not opened: %s", library->title, library->found);
    return tdmi_fail(status, "%s was not found: %s%s", library->title, library->found,
                     library->advice);
}

uint64_t tdmi_library_identity(const tdmi_library *library) {
    struct stat status;
    if (!library || library->status != TDM_OK || !library->handle ||
        stat(library->found, &status) != 0)
        return 0;
    char *path = realpath(library->found, NULL); /* libdnnl.so.2 leads to libdnnl.so.2.6 */
    const char *name = path ? path : library->found;
    const int64_t facts[] = {(int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
                             (int64_t)status.st_mtim.tv_nsec};
    const uint64_t hash =
        tdmi_hash(tdmi_hash(TDMI_HASH_START, name, strlen(name)), facts, sizeof facts);
    free(path);
    return hash ? hash : 1;
}

void tdmi_library_diagnose(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    tdm_status status = tdmi_library_open(library, symbols, count);
    char subject[160];
    bool advise = status != TDM_OK && !tdmi_loader_refusal();
    const char *slash = status == TDM_OK ? strrchr(library->found, '/') : NULL;
    snprintf(subject, sizeof subject, "%.100s (%s)", slash ? slash + 1 : library->names[0],
             library->title);
    if (status != TDM_OK && !library->broken) {
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_LIBRARY, subject, library->found, library->advice);
        return;
    }
    tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, status == TDM_OK, subject, library->found,
                  advise ? library->advice : "");
}
