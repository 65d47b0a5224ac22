/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running another program: its input, its output, all in memory. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_CHILD_WHY_SIZE = 256 };

/* Runs arguments[0], looked for in PATH, with the others (14 at most) and `input` as its standard
 * input, and waits. Returns what it wrote to its standard output, which the caller frees; NULL when
 * it cannot be started or does not exit with 0, and why (of BENCH_CHILD_WHY_SIZE bytes) then has
 * the end of what it wrote to its standard error. *missing, which may be NULL, tells whether there
 * is no such program. */
char *bench_run_child(const char *const *arguments, const char *input, size_t input_size, char *why,
                      bool *missing);

#endif
