/* Compiled kernels kept on disk. Anything that goes wrong here costs time, never correctness. */
#ifndef TDMI_DISK_CACHE_H
#define TDMI_DISK_CACHE_H

#include "backend.h"

/* A 128-bit key over everything a binary depends on. */
typedef struct tdmi_cache_key {
    uint64_t high, low;
} tdmi_cache_key;

/* Starts a key, and mixes a text into it (its length too, so that boundaries count). */
tdmi_cache_key tdmi_cache_key_start(void);
tdmi_cache_key tdmi_cache_key_add(tdmi_cache_key key, const char *text);

/* The entry of the key, malloc'ed; false when there is none that is whole. */
bool tdmi_disk_cache_read(tdmi_cache_key key, tdmi_blob *blob);

/* Keeps a blob under the key: written aside, then renamed, so that a reader sees all or nothing. */
void tdmi_disk_cache_write(tdmi_cache_key key, const tdmi_blob *blob);

/* The path of a folder inside the cache directory that is ours alone; `make` makes it, mode 0700.
 * False when there is none, or when others may write there. */
bool tdmi_cache_folder(const char *name, bool make, char *path, size_t size);

#endif
