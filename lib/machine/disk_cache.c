/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels kept on disk: one file per key under the cache directory, mode 0700. */
#include "machine/disk_cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"
#include "platform/path.h"
#include "platform/process.h"
#include "system_names.h"

typedef struct entry_header {
    char magic[8];
    tdmi_cache_key key;
    uint64_t size;
    uint64_t checksum;
} entry_header;

static const char MAGIC[8] = {'T', 'D', 'M', 'K', 'E', 'R', 'N', '1'};

/* The hash twice, from different starts: one of 64 bits could meet another kernel's. */
tdmi_cache_key tdmi_cache_key_start(void) {
    tdmi_cache_key key = {TDMI_HASH_START, 0x9ae16a3b2f90404fu};
    key = tdmi_cache_key_add(key, tdm_version());
    /* Machines that share a home: what a driver compiled for one host another kind cannot load. */
    char host[32];
    snprintf(host, sizeof host, "%d bits, order %d", (int)sizeof(void *) * 8, __BYTE_ORDER__);
    return tdmi_cache_key_add(key, host);
}

tdmi_cache_key tdmi_cache_key_add(tdmi_cache_key key, const char *text) {
    size_t length = strlen(text) + 1;
    key.high = tdmi_hash(key.high, text, length);
    key.low = tdmi_hash(key.low ^ length, text, length);
    return key;
}

static bool make_directories(const char *directory) {
    char path[1024];
    int refused = 0; /* folders that exist may refuse, too: the reason only where one is missing */
    int length = snprintf(path, sizeof path, "%s", directory);
    errno = ENAMETOOLONG;
    if (length <= 0 || (size_t)length >= sizeof path) return false;
    for (size_t i = 0; path[i = tdmi_path_folder_end(path, i)];) {
        const char slash = path[i];
        path[i] = '\0';
        const bool made = tdmi_folder_make(TDMI_HERE, path);
        path[i] = slash;
        if (made || errno == EEXIST) continue;
        if (errno != EROFS && errno != EACCES) return false;
        refused = errno;
    }
    if (tdmi_folder_make(TDMI_HERE, path) || errno == EEXIST) return true;
    if (errno == ENOENT && refused) errno = refused;
    return false;
}

/* A folder that others may write could feed us binaries: it must be ours, and ours alone. */
static bool ours_alone(const tdmi_file_info *info) { return info->is_ours && !info->is_shared; }

/* Judged once it is open, so that it cannot be replaced in between. */
static tdmi_folder open_directory(tdmi_folder parent, const char *path, bool follow) {
    tdmi_file_info info;
    const tdmi_folder directory = tdmi_folder_open(parent, path, follow, &info);
    if (directory == TDMI_NO_FOLDER || ours_alone(&info)) return directory;
    tdmi_folder_close(directory);
    return TDMI_NO_FOLDER;
}

/* Once, as every kernel that is compiled would repeat it. */
static void warn(const char *what, const char *why) {
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!tdmi_logs(TDM_LOG_WARNING) || atomic_flag_test_and_set(&warned)) return;
    const char *path = tdmi_env_values()->cache_dir;
    tdmi_log(TDM_LOG_WARNING, "%s kept%s%.900s: %s", what, path ? " in " : "", path ? path : "",
             why);
}

/* The cache directory itself may be a link, to a larger disk say; nothing in it may be one. */
static tdmi_folder open_cache(bool make) {
    const char *path = tdmi_env_values()->cache_dir;
    tdmi_folder folder = TDMI_NO_FOLDER;
    if (path && (!make || make_directories(path))) folder = open_directory(TDMI_HERE, path, true);
    if (folder == TDMI_NO_FOLDER && make && !tdmi_env_values()->privileged)
        warn("nothing is", "`tdm doctor` says why");
    return folder;
}

tdmi_folder tdmi_cache_open(const char *name, bool make) {
    const tdmi_folder cache = open_cache(make);
    if (cache == TDMI_NO_FOLDER) return TDMI_NO_FOLDER;
    const bool there = !make || tdmi_folder_make(cache, name) || errno == EEXIST;
    const tdmi_folder folder = there ? open_directory(cache, name, false) : TDMI_NO_FOLDER;
    tdmi_folder_close(cache);
    return folder;
}

tdmi_file tdmi_cache_open_file(tdmi_folder folder, const char *name, tdmi_file_info *info) {
    const tdmi_file file = tdmi_file_open(folder, name, TDMI_OPEN_READ | TDMI_OPEN_NO_LINK, info);
    if (file == TDMI_NO_FILE || (info->kind == TDMI_FILE_REGULAR && ours_alone(info))) return file;
    (void)tdmi_file_close(file);
    return TDMI_NO_FILE;
}

bool tdmi_cache_may_write(uint64_t size) { return size <= tdmi_file_limit(); }

enum { NAME = 48 };

static void name_entry(tdmi_cache_key key, char name[NAME]) {
    snprintf(name, NAME, "%016llx%016llx.bin", (unsigned long long)key.high,
             (unsigned long long)key.low);
}

/* The outcome of reading `size` bytes. */
static tdmi_cache_result read_part(tdmi_file file, uint64_t at, void *to, size_t size) {
    if (tdmi_file_read(file, at, to, size) == size) return TDMI_CACHE_GOOD;
    return errno == 0 ? TDMI_CACHE_BAD : TDMI_CACHE_FAILED;
}

static tdmi_cache_result read_blob(tdmi_file file, uint64_t size, tdmi_cache_key key,
                                   tdmi_blob *blob) {
    entry_header header;
    tdmi_cache_result result = read_part(file, 0, &header, sizeof header);
    if (result != TDMI_CACHE_GOOD) return result;
    if (memcmp(header.magic, MAGIC, sizeof MAGIC) != 0 || header.key.high != key.high ||
        header.key.low != key.low || header.size == 0 || size != sizeof header + header.size)
        return TDMI_CACHE_BAD;
    blob->size = (size_t)header.size;
    blob->data = tdmi_malloc(blob->size);
    errno = ENOMEM;
    if (!blob->data) return TDMI_CACHE_FAILED;
    result = read_part(file, sizeof header, blob->data, blob->size);
    if (result == TDMI_CACHE_GOOD &&
        tdmi_hash(header.key.low, blob->data, blob->size) != header.checksum)
        result = TDMI_CACHE_BAD;
    return result;
}

tdmi_cache_result tdmi_disk_cache_check(tdmi_file file, uint64_t size, tdmi_cache_key key,
                                        tdmi_blob *blob) {
    *blob = (tdmi_blob){0};
    const tdmi_cache_result result = read_blob(file, size, key, blob);
    const int error = errno;
    (void)tdmi_file_close(file);
    if (result == TDMI_CACHE_GOOD) return result;
    tdmi_free(blob->data);
    *blob = (tdmi_blob){0};
    errno = error;
    return result;
}

/* Of what could not be opened: whether it is there, and could be trusted. */
static tdmi_cache_result why_not_open(tdmi_folder in, const char *name, tdmi_file_kind kind) {
    tdmi_file_info info;
    const bool there = name && tdmi_file_look_up(in, name, kind == TDMI_FILE_FOLDER, &info);
    return there && info.kind == kind && ours_alone(&info) ? TDMI_CACHE_FAILED : TDMI_CACHE_BAD;
}

tdmi_cache_result tdmi_disk_cache_read(tdmi_cache_key key, tdmi_blob *blob) {
    char name[NAME];
    tdmi_file_info info;
    *blob = (tdmi_blob){0};
    const tdmi_folder folder = open_cache(false);
    if (folder == TDMI_NO_FOLDER)
        return why_not_open(TDMI_HERE, tdmi_env_values()->cache_dir, TDMI_FILE_FOLDER);
    name_entry(key, name);
    const tdmi_file file = tdmi_cache_open_file(folder, name, &info);
    const tdmi_cache_result result = file == TDMI_NO_FILE
                                         ? why_not_open(folder, name, TDMI_FILE_REGULAR)
                                         : tdmi_disk_cache_check(file, info.size, key, blob);
    /* A corrupt entry is rebuilt; one that could not be trusted is replaced then, too. */
    if (file != TDMI_NO_FILE && result == TDMI_CACHE_BAD) {
        tdmi_log(TDM_LOG_WARNING,
                 "the kept entry %s is damaged, so it is made again or done without", name);
        (void)tdmi_file_remove(folder, name);
    }
    tdmi_folder_close(folder);
    return result;
}

static bool write_entry(tdmi_file file, tdmi_cache_key key, const tdmi_blob *blob) {
    entry_header header = {.key = key, .size = blob->size};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.checksum = tdmi_hash(key.low, blob->data, blob->size);
    const bool good = tdmi_file_write(file, &header, sizeof header) == sizeof header &&
                      tdmi_file_write(file, blob->data, blob->size) == blob->size;
    const int error = errno;
    if (tdmi_file_close(file) && good) return true;
    if (!good) errno = error;
    return false;
}

/* A new file whose name begins like the entry's, or TDMI_NO_FILE. */
static tdmi_file open_aside(tdmi_folder folder, const char *entry, char aside[NAME + 32]) {
    static atomic_uint count;
    for (int tries = 0; tries < 16; tries++) {
        snprintf(aside, NAME + 32, "%s.%llu-%u", entry, (unsigned long long)tdmi_process_id(),
                 atomic_fetch_add(&count, 1));
        const tdmi_file file = tdmi_file_open(
            folder, aside, TDMI_OPEN_WRITE | TDMI_OPEN_NEW | TDMI_OPEN_PRIVATE, NULL);
        if (file != TDMI_NO_FILE || errno != EEXIST) return file;
    }
    return TDMI_NO_FILE;
}

/* Whole under its name, or not at all: then false with errno. */
static bool keep(tdmi_folder folder, tdmi_cache_key key, const tdmi_blob *blob) {
    char name[NAME], aside[NAME + 32];
    name_entry(key, name);
    errno = EFBIG;
    if (!tdmi_cache_may_write(sizeof(entry_header) + blob->size)) return false;
    const tdmi_file file = open_aside(folder, name, aside);
    if (file == TDMI_NO_FILE) return false;
    if (write_entry(file, key, blob) && tdmi_file_rename(folder, aside, name)) return true;
    const int error = errno;
    (void)tdmi_file_remove(folder, aside);
    errno = error;
    return false;
}

void tdmi_disk_cache_write(tdmi_cache_key key, const tdmi_blob *blob) {
    if (!blob->data || blob->size == 0) return;
    const tdmi_folder folder = open_cache(true);
    if (folder == TDMI_NO_FOLDER) return;
    if (!keep(folder, key, blob)) warn("an entry is not", strerror(errno));
    tdmi_folder_close(folder);
}

/* --- for `tdm doctor` -----------------------------------------------------------------------
 */

/* Keeps an entry and removes it: only writing shows a read-only or full file system. */
static bool keeps(tdmi_folder directory) {
    char name[NAME], byte = 0;
    const tdmi_cache_key key = tdmi_cache_key_add(tdmi_cache_key_start(), "tdm doctor");
    if (!keep(directory, key, &(tdmi_blob){&byte, 1})) return false;
    name_entry(key, name);
    (void)tdmi_file_remove(directory, name);
    return true;
}

/* Whether the directory is of use; `why` not, or why nothing more is kept ("": it is), and what to do about it. */
static bool explain(const char *path, char *why, size_t size, const char **advice) {
    tdmi_file_info info;
    why[0] = 0;
    *advice = "make it a directory of your own, or set TANDEM_CACHE_DIR";
    const tdmi_folder directory = open_cache(true);
    if (directory != TDMI_NO_FOLDER) {
        const int error = keeps(directory) ? 0 : errno;
        tdmi_folder_close(directory);
        if (error == EROFS)
            snprintf(why, size, "read-only, so that nothing more is kept");
        else if (error)
            snprintf(why, size, "cannot be written: %s", strerror(error));
        return !error || error == EROFS;
    }
    if (!make_directories(path) || !tdmi_file_look_up(TDMI_HERE, path, true, &info)) {
        snprintf(why, size, "cannot be made: %s", strerror(errno));
    } else if (info.kind != TDMI_FILE_FOLDER) {
        snprintf(why, size, "is not a directory");
    } else if (!info.is_ours) {
        if (info.owner == tdmi_process_user()) /* users have no numbers */
            snprintf(why, size, "belongs to another user");
        else
            snprintf(why, size, "belongs to user %llu, not to user %llu, who runs this",
                     (unsigned long long)info.owner, (unsigned long long)tdmi_process_user());
    } else if (!ours_alone(&info)) {
        snprintf(why, size,
                 info.mode ? "others may write there (mode %03o)" : "others may write there",
                 info.mode);
        *advice = "take that from them: " TDMI_TAKE_RIGHTS;
    } else {
        snprintf(why, size, "cannot be opened");
    }
    return false;
}

void tdmi_cache_diagnose(void) {
    static const char subject[] = "cache directory";
    const tdmi_env *env = tdmi_env_values();
    const char *xdg = tdmi_environment_get("XDG_CACHE_HOME"), *advice;
    char detail[1200], why[256];
    if (env->privileged) {
        tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, true, subject,
                      "none, because this program has more rights than its caller", "");
        return;
    }
    if (xdg && xdg[0] && !tdmi_path_is_absolute(xdg)) {
        snprintf(detail, sizeof detail, "\"%.900s\" is not an absolute path, so it is ignored",
                 xdg);
        tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, false, "XDG_CACHE_HOME", detail,
                      "correct or unset it");
    }
    if (!env->cache_dir) {
        tdmi_diagnose(
            TDM_DIAGNOSTIC_VARIABLE, false, subject,
            "none: neither TANDEM_CACHE_DIR nor XDG_CACHE_HOME nor HOME names an absolute "
            "path, so every process compiles its kernels again",
            "set TANDEM_CACHE_DIR");
        return;
    }
    const bool good = explain(env->cache_dir, why, sizeof why, &advice);
    snprintf(detail, sizeof detail, "%.700s, from %s%s%s%s", env->cache_dir, env->cache_variable,
             why[0] ? ": " : "", why, good ? "" : "; nothing is kept");
    tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, good, subject, detail, good ? "" : advice);
}

/* --- for listing the folder ---------------------------------------------------------------------- */

tdmi_folder tdmi_cache_open_directory(bool *exists) {
    const char *path = tdmi_env_values()->cache_dir;
    tdmi_file_info info;
    *exists = path && tdmi_file_look_up(TDMI_HERE, path, true, &info);
    return open_cache(false);
}
