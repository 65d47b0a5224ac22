/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Texts that are paths. Nothing is opened but to follow links. */
#ifndef TDMI_PLATFORM_PATH_H
#define TDMI_PLATFORM_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it means the same file whatever the working directory (and drive) is. */
bool tdmi_path_is_absolute(const char *path);

/* Bytes of the folder's part, with its separator: 5 of "/tmp/a"; 0 where it is a name alone. */
size_t tdmi_path_folder_length(const char *path);

/* Where the first folder of an absolute path ends that is not its root ("/", "C:/", "//server/share/"), for `from` 0,
 * and the one after it, for a `from` that was returned: the place of its separator, or the path's length. */
size_t tdmi_path_folder_end(const char *path, size_t from);

/* The path of what it means once all links are followed. For free(); NULL with errno where there is no such file. */
char *tdmi_path_resolve(const char *path);

/* A folder of system_names.h as it is on this machine: on Windows it may begin with a variable, as "%CUDA_PATH%/bin"
 * does. False where that makes no absolute path, as without the variable, or one that does not fit. */
bool tdmi_path_expand(const char *folder, char *path, size_t size);

/* Separates paths in a list, as in PATH: ':' or ';'. */
extern const char tdmi_path_separator;

#endif
