/* Compiled kernels kept on disk: one file per key under the cache directory, mode 0700. */
#define _GNU_SOURCE
#include "disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"

/* FNV-1a, 64 bits, twice with different offsets. (Fowler, Noll, Vo) */
static const uint64_t FNV_PRIME = 1099511628211u;

typedef struct entry_header {
    char magic[8];
    tdmi_cache_key key;
    uint64_t size;
    uint64_t checksum;
} entry_header;

static const char MAGIC[8] = {'T', 'D', 'M', 'K', 'E', 'R', 'N', '1'};

static uint64_t fnv(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

tdmi_cache_key tdmi_cache_key_start(void) {
    tdmi_cache_key key = {14695981039346656037u, 0x9ae16a3b2f90404fu};
    return tdmi_cache_key_add(key, tdm_version());
}

tdmi_cache_key tdmi_cache_key_add(tdmi_cache_key key, const char *text) {
    size_t length = strlen(text) + 1;
    key.high = fnv(key.high, text, length);
    key.low = fnv(key.low ^ length, text, length);
    return key;
}

static bool cache_directory(char *path, size_t size) {
    const char *found = tdmi_env_values()->cache_dir;
    int length = found ? snprintf(path, size, "%s", found) : -1;
    return length > 0 && (size_t)length < size;
}

static bool make_directories(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* A directory that others may write could feed us binaries: it must be ours, and ours alone. */
static bool trusted(const char *directory) {
    struct stat status;
    return stat(directory, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool tdmi_cache_folder(const char *name, bool make, char *path, size_t size) {
    char directory[1024];
    if (!cache_directory(directory, sizeof directory)) return false;
    if (make && !make_directories(directory)) return false;
    if (!trusted(directory)) return false;
    int length = snprintf(path, size, "%s/%s", directory, name);
    if (length <= 0 || (size_t)length >= size) return false;
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return trusted(path);
}

static bool entry_path(const char *directory, tdmi_cache_key key, char *path, size_t size) {
    int length = snprintf(path, size, "%s/%016llx%016llx.bin", directory,
                          (unsigned long long)key.high, (unsigned long long)key.low);
    return length > 0 && (size_t)length < size;
}

bool tdmi_disk_cache_read(tdmi_cache_key key, tdmi_blob *blob) {
    char directory[1024], path[1100];
    blob->data = NULL;
    blob->size = 0;
    if (!cache_directory(directory, sizeof directory) || !trusted(directory)) return false;
    if (!entry_path(directory, key, path, sizeof path)) return false;
    FILE *file = fopen(path, "rbe");
    if (!file) return false;
    entry_header header;
    struct stat status;
    bool good = fread(&header, sizeof header, 1, file) == 1 &&
                memcmp(header.magic, MAGIC, sizeof MAGIC) == 0 && header.key.high == key.high &&
                header.key.low == key.low && fstat(fileno(file), &status) == 0 &&
                (uint64_t)status.st_size == sizeof header + header.size && header.size > 0;
    if (good) {
        blob->size = (size_t)header.size;
        blob->data = malloc(blob->size);
        good = blob->data && fread(blob->data, blob->size, 1, file) == 1 &&
               fnv(header.key.low, blob->data, blob->size) == header.checksum;
    }
    fclose(file);
    if (!good) {
        free(blob->data);
        blob->data = NULL;
        blob->size = 0;
        unlink(path); /* corrupt: it is rebuilt */
    }
    return good;
}

static bool write_entry(int descriptor, tdmi_cache_key key, const tdmi_blob *blob) {
    entry_header header = {.key = key, .size = blob->size};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.checksum = fnv(key.low, blob->data, blob->size);
    FILE *file = fdopen(descriptor, "wb");
    if (!file) {
        close(descriptor);
        return false;
    }
    bool good = fwrite(&header, sizeof header, 1, file) == 1 &&
                fwrite(blob->data, blob->size, 1, file) == 1;
    return fclose(file) == 0 && good;
}

void tdmi_disk_cache_write(tdmi_cache_key key, const tdmi_blob *blob) {
    char directory[1024], path[1100], aside[1120];
    if (!blob->data || blob->size == 0) return;
    if (!cache_directory(directory, sizeof directory) || !make_directories(directory)) return;
    if (!trusted(directory) || !entry_path(directory, key, path, sizeof path)) return;
    snprintf(aside, sizeof aside, "%s.XXXXXX", path);
    int descriptor = mkostemp(aside, O_CLOEXEC);
    if (descriptor < 0) return;
    if (!write_entry(descriptor, key, blob) || rename(aside, path) != 0) unlink(aside);
}
