/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Counting the calls that the library makes of a driver. One file for each driver. */
#ifndef CALLS_COUNT_H
#define CALLS_COUNT_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the device to count on. */
extern const char count_device[];

/* Pieces of work that mapping a buffer and ending that are, at most: none where host and device share memory. */
extern const unsigned long count_mapping;

/* Of every function of the driver's, and of the libraries that multiply on it. */
void count_reset(void);

/* The index-th function that was called since the reset, and how often; NULL past the last. */
const char *count_called(size_t index, unsigned long *calls);

/* A call that gives the device work. */
bool count_is_work(const char *function);

/* One that costs next to nothing, and is made of each piece of work at most. */
bool count_is_free(const char *function);

/* One that hands over an argument, which stays with a kernel. */
bool count_is_argument(const char *function);

#endif
