/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The vendors' libraries, opened at run time. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include <stdbool.h>

/* Opens the first library of a NULL-terminated list of names that can be opened, where Tandem looks for them: in the
 * folders of TANDEM_LIBRARY_PATH, where the system has libraries, in `folders` (NULL-terminated; or NULL). NULL and
 * why (of BENCH_WHY_SIZE bytes) otherwise. */
void *bench_open_library(const char *const *names, const char *const *folders, char *why);

/* Resolves a symbol into a function pointer; false and why when it is missing. */
bool bench_resolve(void *library, const char *symbol, void *function, char *why);

#endif
