/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* This process, its environment, others, and programs that it starts. */
#ifndef TDMI_PLATFORM_PROCESS_H
#define TDMI_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- this one ---- */

uint64_t tdmi_process_id(void);

/* The number of the user whose rights it has, for people; 0 where users have none. */
uint64_t tdmi_process_user(void);

/* Whether the program has more rights than its caller (setuid, setgid, file capabilities), whose environment is then
 * not to be believed. */
bool tdmi_process_is_privileged(void);

/* The cores that it may use: those that it is bound to or, where that is less, what the quotas of its control groups
 * come to, rounded up. At least 1. */
int tdmi_process_cores(void);

/* Has a function called in each child of a fork, where there is such a thing. */
void tdmi_process_on_fork(void (*child)(void));

/* A variable's value, which can be read until it changes; NULL where it is not set, and in a privileged program. */
const char *tdmi_environment_get(const char *name);

/* Calls `visit` for each variable whose name begins so, in a privileged program, too. Both texts are good until visit()
 * returns; a name of more than 63 bytes is cut. */
void tdmi_environment_visit(const char *prefix, void (*visit)(const char *name, const char *value));

/* ---- others ---- */

/* A number that distinguishes a process from a later one of the same id. 0 and false: unknown. */
typedef struct tdmi_process_life {
    bool has_ended; /* it is waited for by its parent, and holds nothing */
    uint64_t start; /* when, in the system's units */
    uint64_t stack; /* where its stack is: elsewhere after an exec */
} tdmi_process_life;

tdmi_process_life tdmi_process_look_up(uint64_t id);

/* Whether there is a process of that number, of this user's. */
bool tdmi_process_answers(uint64_t id);

/* Names what numbers of processes mean something within: the machine, since its start, and the container. */
void tdmi_process_space(char *text, size_t size);

/* The name of its program, without a folder, cut where it does not fit; "" where that cannot be known. */
void tdmi_process_name(uint64_t id, char *name, size_t size);

/* ---- programs ---- */

typedef struct tdmi_command {
    const char *const *arguments; /* the path of the program, then its arguments; ends with NULL */
    /* "NAME=value" to set, "NAME" to unset, "PREFIX*" to unset what begins so, in their order and in a copy of this
     * process's; ends with NULL. */
    const char *const *environment;
    const char *log; /* a file to which its output and its errors are appended */
    double seconds;  /* after which it is ended, with all that it has started */
} tdmi_command;

typedef struct tdmi_command_end {
    bool is_late; /* it took longer than it may */
    int status;   /* its exit status; 0 when unknown, as the program ignores its children's ends */
    char death[96]; /* "signal 11 ended (Segmentation fault)", where it did not return; else "" */
} tdmi_command_end;

/* Starts a program without a shell and waits for its end. Its input is empty, its signals are as in a new process, and
 * its stack is as large as it may be. False with errno: it was not started. */
bool tdmi_command_run(const tdmi_command *command, tdmi_command_end *end);

/* Whether the file is a program that can be started: no folder, and no stand-in that would have the user install
 * something (macOS has these for compilers). */
bool tdmi_command_is_program(const char *path);

#endif
