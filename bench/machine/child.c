/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Children read from and write to unlinked temporary files: unlike pipes these cannot fill up. */
#include "machine/child.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { STREAMS = 3, MAX_ARGUMENTS = 15 };

static bool start(const char *const *arguments, FILE *const *stream, pid_t *child, int *error) {
    posix_spawn_file_actions_t actions;
    *error = posix_spawn_file_actions_init(&actions);
    if (*error) return false;
    for (int i = 0; i < STREAMS && !*error; i++)
        *error = posix_spawn_file_actions_adddup2(&actions, fileno(stream[i]), i);
    if (!*error) {
        /* posix_spawnp takes the arguments as not const, and changes nothing */
        char *copy[MAX_ARGUMENTS + 1] = {0};
        for (int i = 0; arguments[i] && i < MAX_ARGUMENTS; i++)
            memcpy(&copy[i], &arguments[i], sizeof copy[i]);
        *error = posix_spawnp(child, copy[0], &actions, NULL, copy, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    return *error == 0;
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

/* The last line that is not blank: where a program says what was wrong. */
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

char *bench_run_child(const char *const *arguments, const char *input, size_t input_size, char *why,
                      bool *missing) {
    FILE *stream[STREAMS] = {tmpfile(), tmpfile(), tmpfile()};
    char *output = NULL;
    pid_t child;
    int error = 0;
    bool good = stream[0] && stream[1] && stream[2];
    if (missing) *missing = false;
    snprintf(why, BENCH_CHILD_WHY_SIZE, "no temporary files: %s", strerror(errno));
    if (good) {
        good = fwrite(input, 1, input_size, stream[0]) == input_size && fflush(stream[0]) == 0;
        /* the child shares the offset of the file */
        good = good && lseek(fileno(stream[0]), 0, SEEK_SET) == 0;
    }
    if (good && !start(arguments, stream, &child, &error)) {
        if (missing) *missing = error == ENOENT;
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s cannot be started: %s", arguments[0],
                 strerror(error));
        good = false;
    } else if (good && !wait_for(child)) {
        copy_last_line(stream[2], arguments[0], why);
        good = false;
    }
    if (good) output = read_all(stream[1]);
    for (int i = 0; i < STREAMS; i++)
        if (stream[i]) fclose(stream[i]);
    return output;
}
