/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels kept on disk. Anything that goes wrong here costs time, never correctness. */
#ifndef TDMI_DISK_CACHE_H
#define TDMI_DISK_CACHE_H

#include "backend.h"
#include "platform/folder.h"

/* A 128-bit key over everything a binary depends on. */
typedef struct tdmi_cache_key {
    uint64_t high, low;
} tdmi_cache_key;

/* Starts a key, and mixes a text into it (its length too, so that boundaries count). */
tdmi_cache_key tdmi_cache_key_start(void);
tdmi_cache_key tdmi_cache_key_add(tdmi_cache_key key, const char *text);

/* Seconds after which what is not finished in the cache directory was left by a process that has ended. */
enum { TDMI_CACHE_UNFINISHED = 3600 };

/* How reading an entry ended. BAD: there is none that is whole. FAILED: memory was short, or a call of the system's
 * failed, and the entry may be whole. Only where it is GOOD does the blob have data. */
typedef enum tdmi_cache_result {
    TDMI_CACHE_GOOD,
    TDMI_CACHE_BAD,
    TDMI_CACHE_FAILED
} tdmi_cache_result;

/* The entry of the key, malloc'ed. One that is BAD is removed. */
tdmi_cache_result tdmi_disk_cache_read(tdmi_cache_key key, tdmi_blob *blob);

/* Keeps a blob under the key: written aside, then renamed, so that a reader sees all or nothing. */
void tdmi_disk_cache_write(tdmi_cache_key key, const tdmi_blob *blob);

/* Opens a folder inside the cache directory, which `make` makes, mode 0700. TDMI_NO_FOLDER when
 * there is none, or when it or the cache directory is another's or may be written by others. The caller closes it. */
tdmi_folder tdmi_cache_open(const char *name, bool make);

/* Opens a file of such a folder for reading, never waiting: TDMI_NO_FILE unless it is a plain file of ours
 * that no other user may write. *info receives what it is. */
tdmi_file tdmi_cache_open_file(tdmi_folder folder, const char *name, tdmi_file_info *info);

/* Whether a file may have that size: past the limit of the process (tdmi_file_limit) a write is a signal that ends
 * it. */
bool tdmi_cache_may_write(uint64_t size);

/* Adds an item: where the cache directory is, or why nothing is kept. */
void tdmi_cache_diagnose(void);

/* Reads an open file of that size, which is closed, as the entry of that key. Nothing is removed. FAILED: with errno,
 * ENOMEM where memory is short. The caller frees blob->data. */
tdmi_cache_result tdmi_disk_cache_check(tdmi_file file, uint64_t size, tdmi_cache_key key,
                                        tdmi_blob *blob);

/* Opens the cache directory; TDMI_NO_FOLDER when there is none (*exists false) or it is not ours alone. */
tdmi_folder tdmi_cache_open_directory(bool *exists);

#endif
