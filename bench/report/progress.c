/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/progress.h"

#include <stdio.h>
#include <unistd.h>

void bench_progress(size_t number, size_t all, const char *what) {
    fprintf(stderr, isatty(STDERR_FILENO) ? "\r\033[K[%zu/%zu] %s" : "[%zu/%zu] %s\n", number, all,
            what);
    fflush(stderr);
}

void bench_progress_end(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fflush(stderr);
}
