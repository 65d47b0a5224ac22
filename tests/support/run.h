/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running another program with a chosen environment, and reading its output. */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include <stdbool.h>

typedef struct run_result {
    int exit_status;    /* -1 when it was ended by a signal or the time limit */
    char output[65536]; /* stdout and stderr together, cut at the end of the array */
} run_result;

/* Runs a program and waits, at most `seconds`. The environment is this process's without TANDEM_
 * and TDM_ variables, and with `changes`: "NAME=value" sets, "NAME" removes; NULL-terminated. */
void run_program(const char *const *changes, const char *const *arguments, int seconds,
                 run_result *result);

/* The same through the shell, with the changes as above. */
void run_shell(const char *const *changes, const char *command, int seconds, run_result *result);

/* The text that printf would print, of less than 8 KiB; good until the 16th call from now. */
const char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
