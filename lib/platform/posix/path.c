/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Paths with slashes. */
#define _GNU_SOURCE
#include "platform/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tdmi_path_separator = ':';

bool tdmi_path_is_absolute(const char *path) { return path[0] == '/'; }

size_t tdmi_path_folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

size_t tdmi_path_folder_end(const char *path, size_t from) {
    return path[from] ? from + 1 + strcspn(path + from + 1, "/") : from;
}

char *tdmi_path_resolve(const char *path) { return realpath(path, NULL); }

bool tdmi_path_expand(const char *folder, char *path, size_t size) {
    const int length = snprintf(path, size, "%s", folder);
    return length >= 0 && (size_t)length < size && tdmi_path_is_absolute(path);
}
