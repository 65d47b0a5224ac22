/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Child processes: the program runs itself again where a driver may crash, hang or exit, because
 * after a fork the library refuses every call, and because a crash then ends the child alone. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "platform/child.h"

typedef enum child_end {
    CHILD_EXITED,      /* code: the exit status */
    CHILD_SIGNALLED,   /* code: the death (platform/child.h) */
    CHILD_TIMED_OUT,   /* killed: no answer for the time that was allowed */
    CHILD_OVERFLOWED,  /* killed: the answer was longer than any can be */
    CHILD_INTERRUPTED, /* killed: the program itself is to end, see tdmi_interrupt_caught */
    CHILD_NOT_STARTED  /* code: the errno */
} child_end;

typedef struct child_result {
    child_end end;
    int code;
    double seconds;       /* how long it was allowed to be silent */
    char *answer;         /* as it wrote it, with a NUL after it; never NULL */
    char last_words[200]; /* the last line on its standard error, in printable ASCII; or "" */
} child_result;

/* Runs this program apart, with arguments and changes as tdmi_child_start has them, and waits until it ends. The child
 * is killed, with what it started, when it has answered nothing for `seconds`. The caller frees result->answer. */
void child_run(const char *const *arguments, const char *const *changes, double seconds,
               child_result *result);

/* How it ended: "was ended by SIGSEGV", "gave no answer for 20 seconds". */
void child_describe(const child_result *result, char *text, size_t size);

/* Seconds of a clock that only goes forward. */
double child_now(void);

#endif
