/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The folder of compiled kernels, listed and tidied. */
#include <tandem/cache.h>
#include <tandem/tandem.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/threads.h"
#include "devices/registry.h"
#include "host/compiler.h"
#include "machine/cache_entry.h"

enum { DIGITS = 32 };
static const char SUFFIX[] = ".bin";

/* 32 digits and ".bin"; what is being written, or was never finished, has a longer name. */
static bool is_entry_name(const char *name, bool *finished) {
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != DIGITS || strncmp(name + DIGITS, SUFFIX, sizeof SUFFIX - 1) != 0) return false;
    const char *rest = name + DIGITS + sizeof SUFFIX - 1;
    *finished = *rest == '\0';
    return *finished || *rest == '.';
}

static tdmi_cache_key key_of_name(const char *name) {
    char half[17] = "";
    memcpy(half, name, 16);
    tdmi_cache_key key = {strtoull(half, NULL, 16), 0};
    memcpy(half, name + 16, 16);
    key.low = strtoull(half, NULL, 16);
    return key;
}

static void read_lines(tdmi_blob *blob, tdm_cache_entry *entry) {
    char *lines[TDMI_CACHE_LINES];
    if (!tdmi_cache_split(blob, lines)) {
        snprintf(entry->fault, sizeof entry->fault, "is of another layout");
        return;
    }
    snprintf(entry->version, sizeof entry->version, "%s", lines[0]);
    snprintf(entry->backend, sizeof entry->backend, "%s", lines[1]);
    snprintf(entry->device, sizeof entry->device, "%s", lines[2]);
    snprintf(entry->kernel, sizeof entry->kernel, "%s", lines[3]);
    snprintf(entry->options, sizeof entry->options, "%s", lines[4]);
    char *const texts[] = {entry->version, entry->backend, entry->device, entry->kernel,
                           entry->options};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tdmi_clean_text(texts[i], false);
}

/* Only a regular file that this user alone can write is read: another may be a FIFO, or a trap. */
static const char *why_untrusted(const tdmi_file_info *info) {
    if (info->kind != TDMI_FILE_REGULAR) return "is not a regular file";
    if (!info->is_ours) return "belongs to another user";
    if (info->is_shared) return "may be written by others";
    return NULL;
}

/* False when memory is short: such an entry has no fault. */
static bool read_entry(tdmi_folder folder, tdm_cache_entry *entry, tdmi_file_info *info) {
    const char *fault = why_untrusted(info);
    tdmi_file file = TDMI_NO_FILE;
    if (!fault) {
        file = tdmi_file_open(folder, entry->file, TDMI_OPEN_READ | TDMI_OPEN_NO_LINK, info);
        if (file == TDMI_NO_FILE) fault = "cannot be opened";
    }
    tdmi_blob blob = {NULL, 0};
    if (!fault) {
        const tdmi_cache_result result =
            tdmi_disk_cache_check(file, info->size, key_of_name(entry->file), &blob);
        if (result == TDMI_CACHE_FAILED && errno == ENOMEM) return false;
        if (result == TDMI_CACHE_GOOD)
            read_lines(&blob, entry);
        else
            fault = result == TDMI_CACHE_BAD ? "is corrupt" : "cannot be read";
    }
    if (fault) snprintf(entry->fault, sizeof entry->fault, "%s", fault);
    tdmi_free(blob.data);
    return true;
}

/* False when the name is none of ours, or the entry is gone or just being written, or memory is short. */
static bool take_entry(tdmi_folder folder, const char *name, tdm_cache_entry *entry,
                       bool *lacks_memory) {
    enum { SECOND = 1000000000 };
    tdmi_file_info info;
    bool finished = false;
    if (!is_entry_name(name, &finished) && !tdmi_host_compiler_folder_is(name)) return false;
    if (strlen(name) >= sizeof entry->file) return false;
    if (!tdmi_file_look_up(folder, name, false, &info)) return false;
    memset(entry, 0, sizeof *entry);
    snprintf(entry->file, sizeof entry->file, "%s", name);
    const int64_t now = time(NULL), changed = info.changed / SECOND;
    entry->size = info.size;
    entry->age = now > changed ? (uint64_t)(now - changed) : 0;
    if (!finished && entry->age < TDMI_CACHE_UNFINISHED) return false;
    if (finished) {
        *lacks_memory = !read_entry(folder, entry, &info);
        return !*lacks_memory;
    }
    snprintf(entry->fault, sizeof entry->fault, "was never finished");
    return true;
}

static int compare_ages(const void *left, const void *right) {
    const tdm_cache_entry *a = left, *b = right;
    if (a->age != b->age) return a->age > b->age ? -1 : 1;
    return strcmp(a->file, b->file);
}

struct tdm_cache_listing {
    tdm_cache_entry *entries;
    size_t count;
};

typedef struct taking {
    tdmi_folder folder;
    tdm_cache_listing *listing;
    size_t room;
    bool lacks_memory;
} taking;

static void take(void *context, const char *name) {
    taking *to = context;
    tdm_cache_listing *listing = to->listing;
    if (to->lacks_memory) return;
    tdm_cache_entry *grown = tdmi_grown(listing->entries, listing->count, &to->room, sizeof *grown);
    to->lacks_memory = !grown;
    if (!grown) return;
    listing->entries = grown;
    if (take_entry(to->folder, name, listing->entries + listing->count, &to->lacks_memory))
        listing->count++;
}

static tdm_status list_all(tdm_cache_listing *listing) {
    bool exists;
    taking to = {.listing = listing, .folder = tdmi_cache_open_directory(&exists)};
    if (to.folder == TDMI_NO_FOLDER && !exists) return TDM_OK;
    const bool listed = to.folder != TDMI_NO_FOLDER && tdmi_folder_list(to.folder, take, &to);
    if (to.folder != TDMI_NO_FOLDER) tdmi_folder_close(to.folder);
    if (!listed)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "the folder of compiled kernels cannot be used: it must be a folder of "
                         "this user's that others may not write");
    if (to.lacks_memory) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof *listing->entries, compare_ages);
    return TDM_OK;
}

tdm_status tdm_cache_listing_create(tdm_cache_listing **listing) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, listing);
    TDMI_TRY(tdmi_enter());
    tdm_cache_listing *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = list_all(made);
    if (status != TDM_OK) {
        tdm_cache_listing_destroy(made);
        return status;
    }
    *listing = made;
    return TDM_OK;
}

void tdm_cache_listing_destroy(tdm_cache_listing *listing) {
    TDMI_UNCANCELLED();
    if (!listing) return;
    tdmi_free(listing->entries);
    tdmi_free(listing);
}

size_t tdm_cache_listing_get_count(const tdm_cache_listing *listing) {
    return listing ? listing->count : 0;
}

tdm_status tdm_cache_listing_get_item(const tdm_cache_listing *listing, size_t index,
                                      const tdm_cache_entry **entry) {
    TDMI_RESULT(__func__, entry);
    TDMI_NOT_NULL(__func__, listing);
    if (index >= listing->count)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: index is %zu, but there are %zu entries",
                         __func__, index, listing->count);
    *entry = &listing->entries[index];
    return TDM_OK;
}

tdm_status tdm_cache_is_current(const tdm_cache_entry *entry, bool *current) {
    TDMI_UNCANCELLED();
    const tdmi_listed_device *devices;
    size_t count;
    TDMI_NOT_NULL(__func__, current);
    *current = false;
    TDMI_NOT_NULL(__func__, entry);
    TDMI_TRY(tdmi_enter());
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    /* of devices that TANDEM_BACKEND hides, nothing is known against an entry */
    const bool ours = !entry->fault[0] && strcmp(entry->version, tdm_version()) == 0;
    *current = ours && !tdmi_registry_selects(entry->backend);
    for (size_t i = 0; i < count && ours; i++) {
        char device[TDMI_CACHE_DEVICE], measured[TDMI_CACHE_DEVICE];
        tdmi_cache_device(&devices[i].facts, device);
        tdmi_cache_measured_device(&devices[i].facts, measured);
        *current = *current ||
                   (strcmp(entry->backend, devices[i].backend->name) == 0 &&
                    (strcmp(entry->device, device) == 0 || strcmp(entry->device, measured) == 0));
    }
    return TDM_OK;
}

tdm_status tdm_cache_remove(const char *file) {
    TDMI_UNCANCELLED();
    bool finished, exists;
    TDMI_NOT_NULL(__func__, file);
    TDMI_TRY(tdmi_enter());
    const bool is_folder = tdmi_host_compiler_folder_is(file);
    if (!is_folder && (!is_entry_name(file, &finished) || strchr(file, '/')))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_cache_remove: file is \"%.80s\": an entry's name is 32 hexadecimal "
                         "digits and \".bin\", as tdm_cache_listing_get_item gives it",
                         file);
    const tdmi_folder folder = tdmi_cache_open_directory(&exists);
    if (folder == TDMI_NO_FOLDER && exists)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "tdm_cache_remove: the folder of compiled kernels cannot be used");
    const bool removed = is_folder ? tdmi_host_compiler_folder_remove(file)
                                   : folder == TDMI_NO_FOLDER || tdmi_file_remove(folder, file);
    const int error = removed ? 0 : errno;
    if (folder != TDMI_NO_FOLDER) tdmi_folder_close(folder);
    if (error == 0 || error == ENOENT) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE, "tdm_cache_remove: %s cannot be removed: %s", file,
                     strerror(error));
}
