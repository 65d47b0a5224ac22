/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all: written next to its place, then renamed. */
#ifndef TDMI_MODEL_NEW_FILE_H
#define TDMI_MODEL_NEW_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "platform/file.h"

typedef struct tdmi_new_file {
    char *path;  /* where it will be, symbolic links followed */
    char *aside; /* where it is */
    tdmi_file file;
    uint64_t size; /* written so far */
} tdmi_new_file;

/* Makes an empty file next to `path`, with the mode of the file that is there or, without one, as
 * the umask wants it. TDM_ERROR_IO also when `path` is something else than a regular file. On
 * failure nothing is left. */
tdm_status tdmi_new_file_begin(const char *path, tdmi_new_file *file) TDM_MUST_USE;

/* Removes what processes that have ended left next to `path` of files that they were writing. Begin does, too. */
void tdmi_new_file_remove_left(const char *path);

/* Appends; past the process's limit on a file's size it fails. */
tdm_status tdmi_new_file_write(tdmi_new_file *file, const void *bytes, size_t size) TDM_MUST_USE;

/* Brings it to the disk and puts it in its place, replacing any other file there. Called when `status` is
 * TDM_OK; else, and when it fails, the file is removed. Ends the file in any case; returns the
 * first status that is not TDM_OK. */
tdm_status tdmi_new_file_end(tdmi_new_file *file, tdm_status status) TDM_MUST_USE;

#endif
