/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A test's folder, and whole files in it. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder; one at a time. The test ends when it cannot be made. */
void folder_make(void);

/* The same before a test of a suite whose tests have a seed and a folder. */
void folder_start(void);

/* Removes it with the files in it. */
void folder_remove(void);

/* The path of a file in it; good until the eighth call from now. */
const char *folder_path(const char *name);

/* Does the folder hold exactly these files ("a|b", sorted)? Hidden ones count. */
bool folder_holds(const char *names);

/* A file's content, malloc'ed, with a NUL after it; NULL when it cannot be read. */
unsigned char *file_read(const char *path, size_t *size);

/* The test ends when it cannot be written. */
void file_write(const char *path, const void *bytes, size_t size);

/* A safetensors file in memory, malloc'ed: header length, header, then `data` bytes (NULL: 0, 1, 2
 * and so on). */
unsigned char *safetensors_bytes(const char *header, const void *data, size_t data_size,
                                 size_t *size);

#endif
