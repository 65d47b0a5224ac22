/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How far a run is, on stderr: on a terminal one line that is overwritten, else a line for each step. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stddef.h>

/* "[3/40] WHAT", of a step that begins; numbers begin at 1. */
void bench_progress(size_t number, size_t all, const char *what);

/* Before anything else is printed: clears the line where it is overwritten. */
void bench_progress_end(void);

#endif
