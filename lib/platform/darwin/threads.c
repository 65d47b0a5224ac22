/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a time: macOS has no other clock for conditions, but a relative wait. */
#include "platform/threads.h"

#include <errno.h>
#include <time.h>

bool tdmi_cond_init(tdmi_cond *cond) { return pthread_cond_init(cond, NULL) == 0; }

bool tdmi_cond_wait_for(tdmi_cond *cond, tdmi_mutex *held, uint64_t nanoseconds) {
    enum { SECOND = 1000000000 };
    const struct timespec time = {.tv_sec = (time_t)(nanoseconds / SECOND),
                                  .tv_nsec = (long)(nanoseconds % SECOND)};
    return pthread_cond_timedwait_relative_np(cond, held, &time) != ETIMEDOUT;
}

uint64_t tdmi_thread_id(void) {
    uint64_t id = 0;
    (void)pthread_threadid_np(NULL, &id);
    return id;
}
