/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Child processes of the tests. */
#include "run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { VARIABLES = 512 };

static void build_environment(const char *const *changes, char **out) {
    int n = 0;
    for (char **e = environ; *e && n < VARIABLES - 32; e++) {
        if (strncmp(*e, "TANDEM_", 7) == 0 || strncmp(*e, "TDM_", 4) == 0) continue;
        bool changed = false;
        for (const char *const *c = changes; c && *c; c++) {
            size_t length = strcspn(*c, "=");
            changed = changed || (strncmp(*e, *c, length) == 0 && (*e)[length] == '=');
        }
        if (!changed) out[n++] = *e;
    }
    for (const char *const *c = changes; c && *c && n < VARIABLES - 1; c++)
        if (strchr(*c, '=')) out[n++] = (char *)(void *)*c;
    out[n] = NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads until the pipe closes or the time is over; true when it closed. */
static bool drain(int pipe, double end, run_result *result) {
    size_t used = 0;
    char rest[4096];
    for (;;) {
        double left = end - now();
        struct pollfd ready = {pipe, POLLIN, 0};
        if (left <= 0.0 || poll(&ready, 1, (int)(left * 1000.0) + 1) <= 0) return false;
        size_t room = sizeof result->output - 1 - used;
        ssize_t n = read(pipe, room ? result->output + used : rest, room ? room : sizeof rest);
        if (n <= 0) return true;
        if (room) used += (size_t)n;
        result->output[used] = '\0';
    }
}

void run_program(const char *const *changes, const char *const *arguments, int seconds,
                 run_result *result) {
    char *environment[VARIABLES];
    build_environment(changes, environment);
    memset(result, 0, sizeof *result);
    result->exit_status = -1;
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execvpe(arguments[0], (char *const *)(void *)arguments, environment);
        fprintf(stderr, "cannot run %s\n", arguments[0]);
        _exit(126);
    }
    close(ends[1]);
    if (child > 0) {
        if (!drain(ends[0], now() + seconds, result)) {
            size_t used = strlen(result->output);
            snprintf(result->output + used, sizeof result->output - used, "\n(timed out)\n");
            kill(child, SIGKILL);
        }
        int status = 0;
        waitpid(child, &status, 0);
        result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (WIFSIGNALED(status)) {
            size_t used = strlen(result->output);
            snprintf(result->output + used, sizeof result->output - used, "\n(signal %d)\n",
                     WTERMSIG(status));
        }
    }
    close(ends[0]);
}

void run_shell(const char *const *changes, const char *command, int seconds, run_result *result) {
    const char *arguments[] = {"/bin/sh", "-c", command, NULL};
    run_program(changes, arguments, seconds, result);
}

const char *formatted(const char *format, ...) {
    static char texts[16][8192];
    static int next;
    char *text = texts[next++ % 16];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    if (length >= (int)sizeof texts[0]) abort();
    return text;
}
