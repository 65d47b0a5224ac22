/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/progress.h"

#include <stdio.h>

#include "platform/program.h"

void bench_progress(size_t number, size_t all, const char *what) {
    fprintf(stderr, tdmi_stream_is_terminal(stderr) ? "\r\033[K[%zu/%zu] %s" : "[%zu/%zu] %s\n",
            number, all, what);
    fflush(stderr);
}

void bench_progress_end(void) {
    if (tdmi_stream_is_terminal(stderr)) fputs("\r\033[K", stderr);
    fflush(stderr);
}
