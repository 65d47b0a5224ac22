/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that are written whole or not at all: under a temporary name next to their own, which is then renamed. */
#ifndef BENCH_FILE_H
#define BENCH_FILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct bench_file {
    FILE *stream;
    char path[4032], temporary[4096];
} bench_file;

/* Whether a file could be made there now, or in `why`, of 256 bytes, why not. */
bool bench_file_can_be_written(const char *path, char *why);

/* Opens file->stream; bench_file_end closes it, and keeps the file where `good` and all of it was written, else
 * leaves what was there before. Both: false, and why. */
bool bench_file_begin(bench_file *file, const char *path, char *why);
bool bench_file_end(bench_file *file, bool good, char *why);

#endif
