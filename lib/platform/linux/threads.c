/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Waiting by the clock that only runs forward. For FreeBSD, too. */
#define _GNU_SOURCE
#include "platform/threads.h"

#include <errno.h>
#include <time.h>

bool tdmi_cond_init(tdmi_cond *cond) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) return false;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    const bool made = pthread_cond_init(cond, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    return made;
}

bool tdmi_cond_wait_for(tdmi_cond *cond, tdmi_mutex *held, uint64_t nanoseconds) {
    enum { SECOND = 1000000000 };
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    nanoseconds += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(nanoseconds / SECOND);
    until.tv_nsec = (long)(nanoseconds % SECOND);
    return pthread_cond_timedwait(cond, held, &until) != ETIMEDOUT;
}
