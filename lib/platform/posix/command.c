/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/clock.h"
#include "platform/process.h"
#include "posix.h"

extern char **environ;

static size_t count_of(const char *const *texts) {
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

/* Whether a change ("NAME=value", "NAME" or "PREFIX*") is about the variable of an entry. */
static bool is_about(const char *change, const char *entry) {
    const size_t length = strcspn(change, "=*");
    return strncmp(change, entry, length) == 0 && (change[length] == '*' || entry[length] == '=');
}

static bool is_changed(const char *entry, const char *const *changes) {
    for (; changes && *changes; changes++)
        if (is_about(*changes, entry)) return true;
    return false;
}

char **tdmi_posix_environment(const char *const *changes) {
    const char *const *own = (const char *const *)environ;
    const char **made = malloc((count_of(own) + count_of(changes) + 1) * sizeof *made);
    size_t kept = 0;
    if (!made) return NULL;
    for (; own && *own; own++)
        if (!is_changed(*own, changes)) made[kept++] = *own;
    for (; changes && *changes; changes++)
        if (strchr(*changes, '=') && !is_changed(*changes, changes + 1)) made[kept++] = *changes;
    made[kept] = NULL;
    return (char **)made; /* it is not written to */
}

/* Signals are as in a new process: the program may block or ignore some. It leads a process group, with the programs
 * that it starts. An error number. */
static int spawn(const tdmi_command *command, char **environment, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, command->log, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    failed = posix_spawn(child, command->arguments[0], &actions, &attributes,
                         (char *const *)command->arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Its end is seen late by a small part of the time that it took. After the limit it is ended with all that it has
 * started. False where its end cannot be asked. */
static bool wait_for(pid_t child, double limit, int *status, bool *is_late) {
    const uint64_t start = tdmi_nanoseconds();
    for (;;) {
        const pid_t waited = waitpid(child, status, *is_late ? 0 : WNOHANG);
        if (waited > 0) return true;
        if (waited < 0 && errno != EINTR) return false;
        const double taken = (double)(tdmi_nanoseconds() - start) * 1e-9;
        if (taken > limit) {
            *is_late = true;
            kill(-child, SIGKILL);
        } else {
            const double pause = taken < 0.03 ? 0.001 : taken < 1 ? taken / 32 : 0.03;
            tdmi_sleep((uint64_t)(pause * 1e9));
        }
    }
}

bool tdmi_command_run(const tdmi_command *command, tdmi_command_end *end) {
    int status = 0;
    pid_t child;
    *end = (tdmi_command_end){0};
    char **environment = tdmi_posix_environment(command->environment);
    if (!environment) return false;
    const int failed = spawn(command, environment, &child);
    free(environment);
    errno = failed;
    if (failed) return false;
    tdmi_system_give_stack(child);
    if (!wait_for(child, command->seconds, &status, &end->is_late)) return true;
    if (WIFSIGNALED(status))
        snprintf(end->death, sizeof end->death, "signal %d ended (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        end->status = WEXITSTATUS(status);
    return true;
}

bool tdmi_command_is_program(const char *path) {
    tdmi_file_info info;
    return access(path, X_OK) == 0 && tdmi_file_look_up(TDMI_HERE, path, true, &info) &&
           info.kind == TDMI_FILE_REGULAR && !tdmi_system_is_stand_in(path);
}
