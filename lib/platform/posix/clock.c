/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Clocks. */
#define _GNU_SOURCE
#include "platform/clock.h"

#include <time.h>

enum { SECOND = 1000000000 };

uint64_t tdmi_nanoseconds(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void tdmi_sleep(uint64_t nanoseconds) {
    const struct timespec time = {.tv_sec = (time_t)(nanoseconds / SECOND),
                                  .tv_nsec = (long)(nanoseconds % SECOND)};
    (void)nanosleep(&time, NULL);
}
