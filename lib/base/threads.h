/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A promise to threads: no call of the library is cut short. */
#ifndef TDMI_THREADS_H
#define TDMI_THREADS_H

#include <stdbool.h>

#include "base/floating.h"
#include "base/output.h"
#include "platform/threads.h"

/* First line of every public function that takes a lock, opens a file, calls a driver or computes. The thread cannot be
 * cancelled before the function returns: most of what these do is a cancellation point, and a thread that ended in one
 * would leave locks taken and files open, drivers' among them. And it computes in the default floating-point state, in
 * which threads begin that are started on the way. A profile (base/output.h) has a span of the call. */
#define TDMI_UNCANCELLED()                                                                         \
    __attribute__((cleanup(tdmi_end_call), unused)) const tdmi_thread_state tdmi_state_ =          \
        tdmi_begin_call(__func__)

typedef struct tdmi_thread_state {
    int cancel;
    tdmi_floating floating;
    const char *function;
    bool has_span; /* it began in the profile */
} tdmi_thread_state;

static inline tdmi_thread_state tdmi_begin_call(const char *function) {
    tdmi_thread_state before = {0, tdmi_floating_enter(), function, false};
    before.cancel = tdmi_cancel_forbid();
    if (tdmi_profiles()) before.has_span = tdmi_profile_begin("call", function);
    return before;
}

static inline void tdmi_end_call(const tdmi_thread_state *before) {
    if (before->has_span)
        tdmi_profile_end();
    else if (tdmi_profiles())
        tdmi_profile_end_first(before->function);
    tdmi_cancel_allow(before->cancel);
    tdmi_floating_leave(before->floating);
}

#endif
