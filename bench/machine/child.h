/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running another program: its output, all in memory. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <stdio.h>

enum { BENCH_CHILD_WHY_SIZE = 256 };

/* Runs arguments[0], looked for in PATH, with the others (14 at most), and waits. Returns what it wrote
 * to its standard output, which the caller frees; NULL when it cannot be started or does not exit
 * with 0, and why (of BENCH_CHILD_WHY_SIZE bytes) then has the end of what it wrote to its standard
 * error. */
char *bench_run_child(const char *const *arguments, char *why);

/* A program that answers lines with lines, one after the other. Zero-initialised: it does not run. */
typedef struct bench_server {
    int pid;
    int line;     /* a socket: its standard input and output */
    FILE *errors; /* its standard error */
} bench_server;

/* Starts it; false, and why (of BENCH_CHILD_WHY_SIZE bytes), where it cannot be. */
bool bench_server_start(bench_server *server, const char *const *arguments, char *why);

/* Its answer, without the newline, which the caller frees. NULL, and why, where it has ended or takes longer than
 * `seconds`; then it does not run any more. */
char *bench_server_ask(bench_server *server, const char *program, const char *request,
                       double seconds, char *why);

/* Ends one that runs. */
void bench_server_end(bench_server *server);

#endif
