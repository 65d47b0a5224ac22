/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Children: this program started again, for what may crash, hang or exit. For programs, no part of the libraries. */
#ifndef TDMI_PLATFORM_CHILD_H
#define TDMI_PLATFORM_CHILD_H

#include "platform/file.h"

typedef struct tdmi_child {
    intptr_t process;         /* a number, or a handle */
    intptr_t group;           /* a handle for what it starts, where the system has one */
    tdmi_file answer, errors; /* pipes; TDMI_NO_FILE where there is none, or its end was read */
    bool is_apart;
} tdmi_child;

typedef struct tdmi_child_end {
    int status; /* its exit status */
    int death;  /* else what ended it, for the functions below; 0: it returned */
} tdmi_child_end;

/* Starts this program with these arguments (NULL-terminated, without the program's own name). `changes` to the
 * environment (NULL-terminated, or NULL, applied in their order): "NAME=value", "NAME" to unset, "PREFIX*" to unset
 * what begins so. Its standard streams are those of this process; one that is apart has empty ones, its errors come
 * through a pipe, and it is ended with what it has started. It is ended if this process ends first, where the system
 * can do that. False with errno. */
bool tdmi_child_start(const char *const *arguments, const char *const *changes, bool is_apart,
                      tdmi_child *child);

/* Reads from `answer` or `errors` what is there. 0: nothing now, or the pipe has ended and is closed. */
size_t tdmi_child_read(tdmi_file *pipe, void *bytes, size_t size);

/* Returns when there is something to read, or an end; when this program is to end (program.h); or after a time. */
void tdmi_child_wait(const tdmi_child *child, double seconds);

bool tdmi_child_has_ended(const tdmi_child *child);

/* Passes on an interrupt, where its terminal has not done so. */
void tdmi_child_interrupt(const tdmi_child *child, int interrupt);

/* Ends the child if it has not ended, and what it has started if it is apart, and closes its pipes. */
tdmi_child_end tdmi_child_finish(tdmi_child *child);

/* ---- the child's side ---- */

/* The pipe on which it answers, as its standard output may be a driver's to write on; TDMI_NO_FILE where this process
 * was not started by tdmi_child_start. */
tdmi_file tdmi_child_answer(void);

/* A crash of this process leaves nothing (core) and asks nothing (a window). */
void tdmi_child_die_quietly(void);

/* ---- deaths ---- */

/* "SIGSEGV", "signal 99", "exception 0xc0000005 (access violation)". Returns `text`, or a constant. */
const char *tdmi_death_name(int death, char *text, size_t size);

/* Whether it was requested from outside: Ctrl-C, the end of a terminal, a reader that went away. */
bool tdmi_death_is_interrupt(int death);

#endif
