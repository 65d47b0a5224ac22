/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Child processes: the program runs itself again where a driver may crash, hang or exit, because
 * after a fork the library refuses every call, and because a crash then ends the child alone. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The descriptor on which a child answers: its standard output may be a driver's to write on. */
enum { CHILD_ANSWER = 3 };

typedef enum child_end {
    CHILD_EXITED,      /* code: the exit status */
    CHILD_SIGNALLED,   /* code: the signal */
    CHILD_TIMED_OUT,   /* killed: no answer for the time that was allowed */
    CHILD_OVERFLOWED,  /* killed: the answer was longer than any can be */
    CHILD_INTERRUPTED, /* killed: the program itself got a signal to end, see child_caught_signal */
    CHILD_NOT_STARTED  /* code: the errno */
} child_end;

typedef struct child_result {
    child_end end;
    int code;
    double seconds;       /* how long it was allowed to be silent */
    char *answer;         /* what it wrote to CHILD_ANSWER, with a NUL after it; never NULL */
    char last_words[200]; /* the last line on its standard error, in printable ASCII; or "" */
} child_result;

/* Runs this program with the arguments (NULL-terminated, without the program's own name) in a
 * new process group and waits until it ends. `changes` to the environment (NULL-terminated,
 * applied in their order): "NAME=value", "NAME" to unset, "PREFIX*" to unset what begins so. The
 * child is killed, with what it started, when it has answered nothing for `seconds`. The caller
 * frees result->answer. */
void child_run(const char *const *arguments, const char *const *changes, double seconds,
               child_result *result);

/* Starts this program with the standard streams of this one and `answer` as CHILD_ANSWER; -1, with
 * errno, when it cannot be started. */
pid_t child_start(const char *const *arguments, const char *const *changes, int answer);

/* A pipe, both ends closed on exec and clear of the descriptors that children are given. */
bool child_pipe(int ends[2]);

/* How it ended: "was ended by SIGSEGV", "gave no answer for 20 seconds". */
void child_describe(const child_result *result, char *text, size_t size);

/* "SIGSEGV"; "signal 99" where it has no name here. */
const char *child_signal_name(int number, char *text, size_t size);

/* From child_catch_signals to child_release_signals a signal that asks the program to end is noted
 * only, and ends a child_run early. */
void child_catch_signals(void);
void child_release_signals(void);
int child_caught_signal(void);

/* poll for one descriptor during which such signals come through: true when there is something to
 * read, or its end. `seconds` below 0: no limit. */
bool child_poll(int descriptor, double seconds);

/* Seconds of a clock that only goes forward. */
double child_now(void);

#endif
