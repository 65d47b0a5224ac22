/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions of the stand-in for libOpenCL.so.1 that counts calls and makes some fail. Found with dlsym, because the
 * library opens the stand-in itself. */
#ifndef CALLS_STAND_IN_H
#define CALLS_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

/* Forgets counts and failures. No other thread may be in a call then, nor in opencl_fail_nth. */
typedef void opencl_count_reset_function(void);

/* The index-th function that was called since the reset, and how often; NULL past the last. */
typedef const char *opencl_count_called_function(size_t index, unsigned long *calls);

/* How many calls of the function were made to fail since the reset. */
typedef unsigned long opencl_count_failed_function(const char *function);

/* From now on the nth call of `function` since the reset gives `code` and does nothing; with `onwards` every later one
 * too. Once more with nth + 1: both. */
typedef void opencl_fail_nth_function(const char *function, unsigned long nth, bool onwards,
                                      int code);

#endif
