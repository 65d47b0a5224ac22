/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Children write to unlinked temporary files: unlike pipes these cannot fill up. */
#define _GNU_SOURCE
#include "machine/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/clock.h"

extern char **environ;

enum { STREAMS = 3, MAX_ARGUMENTS = 15 };

/* False, and why. */
static bool start(const char *const *arguments, const int *stream, pid_t *child, char *why) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    const bool made = !error;
    for (int i = 0; i < STREAMS && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, stream[i], i);
    if (!error) {
        /* posix_spawnp takes the arguments as not const, and changes nothing */
        char *copy[MAX_ARGUMENTS + 1] = {0};
        for (int i = 0; arguments[i] && i < MAX_ARGUMENTS; i++)
            memcpy(&copy[i], &arguments[i], sizeof copy[i]);
        error = posix_spawnp(child, copy[0], &actions, NULL, copy, environ);
    }
    if (made) posix_spawn_file_actions_destroy(&actions);
    if (error)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s cannot be started: %s", arguments[0],
                 strerror(error));
    return !error;
}

static bool wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* All of a file, as text; NULL when memory is short. */
static char *read_all(FILE *stream) {
    if (fseek(stream, 0, SEEK_END) != 0) return NULL;
    const long size = ftell(stream);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!text) return NULL;
    rewind(stream);
    text[fread(text, 1, (size_t)size, stream)] = '\0';
    return text;
}

/* The last line that is not blank, in which a program reports its error. */
static void copy_last_line(FILE *stream, const char *program, char *why) {
    char *text = read_all(stream);
    snprintf(why, BENCH_CHILD_WHY_SIZE, "%s failed", program);
    if (!text) return;
    size_t end = strlen(text);
    while (end > 0 && strchr(" \n", text[end - 1]))
        text[--end] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    line += strspn(line, " ");
    if (*line) snprintf(why, BENCH_CHILD_WHY_SIZE, "%s: %s", program, line);
    free(text);
}

char *bench_run_child(const char *const *arguments, char *why) {
    FILE *const stream[STREAMS] = {fopen("/dev/null", "r"), tmpfile(), tmpfile()};
    char *output = NULL;
    pid_t child;
    if (!stream[0] || !stream[1] || !stream[2]) {
        snprintf(why, BENCH_CHILD_WHY_SIZE, "no temporary files: %s", strerror(errno));
    } else {
        const int number[STREAMS] = {fileno(stream[0]), fileno(stream[1]), fileno(stream[2])};
        const bool started = start(arguments, number, &child, why);
        if (started && wait_for(child))
            output = read_all(stream[1]);
        else if (started)
            copy_last_line(stream[2], arguments[0], why);
    }
    for (int i = 0; i < STREAMS; i++)
        if (stream[i]) fclose(stream[i]);
    return output;
}

bool bench_server_start(bench_server *server, const char *const *arguments, char *why) {
    int ends[2];
    *server = (bench_server){.errors = tmpfile()};
    if (!server->errors || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        snprintf(why, BENCH_CHILD_WHY_SIZE, "no socket or temporary file: %s", strerror(errno));
        if (server->errors) fclose(server->errors);
        *server = (bench_server){0};
        return false;
    }
    server->line = ends[0];
    const int number[STREAMS] = {ends[1], ends[1], fileno(server->errors)};
    const bool good = start(arguments, number, &server->pid, why);
    close(ends[1]);
    if (good) return true;
    close(server->line);
    fclose(server->errors);
    *server = (bench_server){0};
    return false;
}

void bench_server_end(bench_server *server) {
    if (!server->pid) return;
    close(server->line);
    kill(server->pid, SIGKILL);
    wait_for(server->pid);
    fclose(server->errors);
    *server = (bench_server){0};
}

static bool send_all(int line, const char *text, size_t size) {
    while (size > 0) {
        /* one that has ended is an error, not a signal */
        const ssize_t sent = send(line, text, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return false;
        if (sent < 0) continue;
        text += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* A line, within a time; false at its end, or after it. */
static bool receive_line(int line, double seconds, char *text, size_t size) {
    const double end = bench_now() + seconds;
    for (size_t length = 0; length < size;) {
        const double left = end - bench_now();
        struct pollfd ready = {.fd = line, .events = POLLIN};
        if (left <= 0.0) return false;
        const int count = poll(&ready, 1, (int)(left * 1e3) + 1);
        if (count < 0 && errno != EINTR) return false;
        if (count <= 0) continue;
        if (recv(line, text + length, 1, 0) != 1) return false;
        if (text[length] == '\n') {
            text[length] = '\0';
            return true;
        }
        length++;
    }
    return false;
}

char *bench_server_ask(bench_server *server, const char *program, const char *request,
                       double seconds, char *why) {
    char text[1024];
    const double begun = bench_now();
    if (send_all(server->line, request, strlen(request)) &&
        receive_line(server->line, seconds, text, sizeof text))
        return strdup(text);
    /* a program that closed its end has said why */
    if (bench_now() - begun < seconds)
        copy_last_line(server->errors, program, why);
    else
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s did not answer within %.0f s", program, seconds);
    bench_server_end(server);
    return NULL;
}
