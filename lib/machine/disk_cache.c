/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels kept on disk: one file per key under the cache directory, mode 0700. */
#define _GNU_SOURCE
#include "machine/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"

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
    int length = snprintf(path, sizeof path, "%s", directory);
    if (length <= 0 || (size_t)length >= sizeof path) return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* What others may write could feed us binaries: it must be ours, and ours alone. */
static bool ours_alone(const struct stat *status) {
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Judged once it is open, so that it cannot be replaced in between. */
static int open_directory(int parent, const char *path, int flags) {
    struct stat status;
    int directory = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (directory >= 0 && fstat(directory, &status) == 0 && ours_alone(&status)) return directory;
    if (directory >= 0) close(directory);
    return -1;
}

/* The cache directory itself may be a link, to a larger disk say; nothing in it may be one. */
static int open_cache(bool make) {
    const char *path = tdmi_env_values()->cache_dir;
    if (!path || (make && !make_directories(path))) return -1;
    int folder = open_directory(AT_FDCWD, path, 0);
    if (folder < 0 && make)
        tdmi_log(TDM_LOG_WARNING, "nothing is kept in %s: `tdm doctor` says why", path);
    return folder;
}

int tdmi_cache_open(const char *name, bool make) {
    int cache = open_cache(make);
    if (cache < 0) return -1;
    bool there = !make || mkdirat(cache, name, 0700) == 0 || errno == EEXIST;
    int folder = there ? open_directory(cache, name, O_NOFOLLOW) : -1;
    close(cache);
    return folder;
}

int tdmi_cache_open_file(int folder, const char *name, struct stat *status) {
    /* Not waiting, in case it is a pipe. */
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    if (fstat(file, status) == 0 && S_ISREG(status->st_mode) && ours_alone(status)) return file;
    close(file);
    return -1;
}

bool tdmi_cache_may_write(uint64_t size) { return size <= tdmi_file_limit(); }

enum { NAME = 48 };

static void name_entry(tdmi_cache_key key, char name[NAME]) {
    snprintf(name, NAME, "%016llx%016llx.bin", (unsigned long long)key.high,
             (unsigned long long)key.low);
}

static bool read_entry(int descriptor, const struct stat *status, tdmi_cache_key key,
                       tdmi_blob *blob) {
    entry_header header;
    FILE *file = fdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return false;
    }
    bool good = fread(&header, sizeof header, 1, file) == 1 &&
                memcmp(header.magic, MAGIC, sizeof MAGIC) == 0 && header.key.high == key.high &&
                header.key.low == key.low && header.size > 0 &&
                (uint64_t)status->st_size == sizeof header + header.size;
    if (good) {
        blob->size = (size_t)header.size;
        blob->data = tdmi_malloc(blob->size);
        good = blob->data && fread(blob->data, blob->size, 1, file) == 1 &&
               tdmi_hash(header.key.low, blob->data, blob->size) == header.checksum;
    }
    fclose(file);
    return good;
}

bool tdmi_disk_cache_read(tdmi_cache_key key, tdmi_blob *blob) {
    char name[NAME];
    struct stat status;
    *blob = (tdmi_blob){0};
    int folder = open_cache(false);
    if (folder < 0) return false;
    name_entry(key, name);
    int descriptor = tdmi_cache_open_file(folder, name, &status);
    bool good = descriptor >= 0 && read_entry(descriptor, &status, key, blob);
    if (!good) {
        tdmi_free(blob->data);
        *blob = (tdmi_blob){0};
    }
    /* What is corrupt is rebuilt; what could not be trusted is replaced then, too. */
    if (descriptor >= 0 && !good) {
        tdmi_log(TDM_LOG_WARNING,
                 "the kept entry %s is damaged, so it is made again or done without", name);
        (void)unlinkat(folder, name, 0);
    }
    close(folder);
    return good;
}

static bool write_entry(int descriptor, tdmi_cache_key key, const tdmi_blob *blob) {
    entry_header header = {.key = key, .size = blob->size};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.checksum = tdmi_hash(key.low, blob->data, blob->size);
    FILE *file = fdopen(descriptor, "wb");
    if (!file) {
        close(descriptor);
        return false;
    }
    bool good = fwrite(&header, sizeof header, 1, file) == 1 &&
                fwrite(blob->data, blob->size, 1, file) == 1;
    return fclose(file) == 0 && good;
}

/* A new file whose name begins like the entry's, or -1. */
static int open_aside(int folder, const char *entry, char aside[NAME + 32]) {
    static atomic_uint count;
    for (int tries = 0; tries < 16; tries++) {
        snprintf(aside, NAME + 32, "%s.%ld-%u", entry, (long)getpid(), atomic_fetch_add(&count, 1));
        int file =
            openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

void tdmi_disk_cache_write(tdmi_cache_key key, const tdmi_blob *blob) {
    char name[NAME], aside[NAME + 32];
    if (!blob->data || blob->size == 0) return;
    if (!tdmi_cache_may_write(sizeof(entry_header) + blob->size)) return;
    int folder = open_cache(true);
    if (folder < 0) return;
    name_entry(key, name);
    int file = open_aside(folder, name, aside);
    if (file >= 0 && (!write_entry(file, key, blob) || renameat(folder, aside, folder, name) != 0))
        (void)unlinkat(folder, aside, 0);
    close(folder);
}

/* --- for `tdm doctor` -----------------------------------------------------------------------
 */

/* Why nothing is kept in the directory, and what to do about it; false when something is. */
static bool explain(const char *path, char *why, size_t size, const char **advice) {
    struct stat status;
    *advice = "make it a directory of your own, or set TANDEM_CACHE_DIR";
    int directory = open_cache(true);
    if (directory >= 0) {
        close(directory);
        return false;
    }
    if (!make_directories(path) || stat(path, &status) != 0) {
        snprintf(why, size, "cannot be made: %s", strerror(errno));
    } else if (!S_ISDIR(status.st_mode)) {
        snprintf(why, size, "is not a directory");
    } else if (status.st_uid != geteuid()) {
        snprintf(why, size, "belongs to user %lu, not to user %lu, who runs this",
                 (unsigned long)status.st_uid, (unsigned long)geteuid());
    } else if (!ours_alone(&status)) {
        snprintf(why, size, "others may write there (mode %03o)", (unsigned)status.st_mode & 0777);
        *advice = "take that from them: chmod go-w";
    } else {
        snprintf(why, size, "cannot be opened");
    }
    return true;
}

void tdmi_cache_diagnose(void) {
    static const char subject[] = "cache directory";
    const tdmi_env *env = tdmi_env_values();
    const char *xdg = getenv("XDG_CACHE_HOME"), *advice;
    char detail[1200], why[256];
    if (env->privileged) {
        tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, true, subject,
                      "none, because this program has more rights than its caller", "");
        return;
    }
    if (xdg && xdg[0] && xdg[0] != '/') {
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
    bool bad = explain(env->cache_dir, why, sizeof why, &advice);
    snprintf(detail, sizeof detail, "%.700s, from %s%s%s%s", env->cache_dir, env->cache_variable,
             bad ? ": " : "", bad ? why : "", bad ? "; nothing is kept" : "");
    tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, !bad, subject, detail, bad ? advice : "");
}

/* --- for listing and verifying the folder ------------------------------------------------------- */

bool tdmi_disk_cache_check(int file, tdmi_cache_key key, tdmi_blob *blob) {
    struct stat status;
    *blob = (tdmi_blob){0};
    if (fstat(file, &status) == 0) {
        if (read_entry(file, &status, key, blob)) return true;
    } else {
        close(file);
    }
    tdmi_free(blob->data);
    *blob = (tdmi_blob){0};
    return false;
}

int tdmi_cache_open_directory(bool *exists) {
    const char *path = tdmi_env_values()->cache_dir;
    struct stat status;
    *exists = path && stat(path, &status) == 0;
    return open_cache(false);
}
