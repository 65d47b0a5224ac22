/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The time in seconds, of the clock that nothing sets. */
#ifndef TESTS_MPI_NOW_H
#define TESTS_MPI_NOW_H

#include <time.h>

static inline double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
