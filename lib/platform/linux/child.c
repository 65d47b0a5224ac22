/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* This program again, by posix_spawn: started, listened to, and killed with all that it started. */
#define _GNU_SOURCE
#include "platform/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupts.h"
#include "platform/program.h"
#include "posix.h"

/* The descriptor on which a child answers; pipes are clear of it and of the standard streams. */
enum { ANSWER = 3, FIRST_DESCRIPTOR = 10, MOST_ARGUMENTS = 256 };

/* ---- starting ---- */

/* Both ends are closed on exec, and the one that is read from does not wait. */
static bool make_pipe(int ends[2]) {
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
        (void)tdmi_posix_refuse(made[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return true;
    (void)tdmi_posix_refuse(ends[0]);
    (void)tdmi_posix_refuse(ends[1]);
    return false;
}

/* The program's own file: what runs now, even where the file was replaced since; without /proc, the name that it was
 * started by. */
static const char *own_file(void) {
    static const char self[] = "/proc/self/exe";
    if (access(self, X_OK) == 0) return self;
    return (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel hands a pointer as a number */
}

static int spawn(char *const *words, char **environment, int answer, int errors, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t mask;
    const char *file = own_file();
    int failed = file ? posix_spawn_file_actions_init(&actions) : ENOENT;
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    const bool is_apart = errors >= 0;
    if (is_apart) {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, errors, 2);
    }
    posix_spawn_file_actions_adddup2(&actions, answer, ANSWER);
    tdmi_interrupt_mask(&mask);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setflags(
        &attributes, (short)(POSIX_SPAWN_SETSIGMASK | (is_apart ? POSIX_SPAWN_SETPGROUP : 0)));
    failed = posix_spawn(child, file, &actions, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int start(const char *const *arguments, const char *const *changes, int answer, int errors,
                 pid_t *child) {
    char *words[MOST_ARGUMENTS] = {program_invocation_short_name};
    for (int count = 1; *arguments; arguments++) {
        if (count == MOST_ARGUMENTS - 1) return E2BIG;
        words[count++] = (char *)*arguments;
    }
    char **environment = tdmi_posix_environment(changes);
    if (!environment) return ENOMEM;
    const int failed = spawn(words, environment, answer, errors, child);
    free(environment);
    return failed;
}

bool tdmi_child_start(const char *const *arguments, const char *const *changes, bool is_apart,
                      tdmi_child *child) {
    int answer[2], errors[2] = {-1, -1};
    pid_t number = -1;
    *child = (tdmi_child){.answer = TDMI_NO_FILE, .errors = TDMI_NO_FILE, .is_apart = is_apart};
    if (!make_pipe(answer)) return false;
    const bool has_pipes = !is_apart || make_pipe(errors);
    const int failed = has_pipes ? start(arguments, changes, answer[1], errors[1], &number) : errno;
    (void)tdmi_posix_refuse(answer[1]);
    (void)tdmi_posix_refuse(errors[1]);
    child->process = number;
    child->answer = answer[0];
    child->errors = errors[0];
    if (!failed) return true;
    (void)tdmi_posix_refuse(answer[0]);
    (void)tdmi_posix_refuse(errors[0]);
    errno = failed;
    return false;
}

/* ---- listening ---- */

size_t tdmi_child_read(tdmi_file *pipe, void *bytes, size_t size) {
    const ssize_t count = *pipe == TDMI_NO_FILE ? -1 : read((int)*pipe, bytes, size);
    if (count > 0) return (size_t)count;
    if (*pipe != TDMI_NO_FILE && (count == 0 || (errno != EAGAIN && errno != EINTR))) {
        (void)tdmi_posix_refuse((int)*pipe);
        *pipe = TDMI_NO_FILE;
    }
    return 0;
}

/* The end of a child is no event of poll(): it is mostly one of its pipes. Pipes that something else keeps open say
 * nothing of the child, so that it is looked at again and again; soon, once both are closed. */
void tdmi_child_wait(const tdmi_child *child, double seconds) {
    struct pollfd ready[2] = {{(int)child->answer, POLLIN, 0}, {(int)child->errors, POLLIN, 0}};
    const bool has_pipe = child->answer != TDMI_NO_FILE || child->errors != TDMI_NO_FILE;
    const double pause = !has_pipe ? 0.001 : child->is_apart ? 0.05 : 0.5;
    if (tdmi_child_has_ended(child)) return;
    (void)tdmi_interrupt_poll(ready, 2, seconds < pause ? (seconds > 0 ? seconds : 0) : pause);
}

bool tdmi_child_has_ended(const tdmi_child *child) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == (pid_t)child->process;
}

void tdmi_child_interrupt(const tdmi_child *child, int interrupt) {
    (void)kill((pid_t)child->process, interrupt);
}

tdmi_child_end tdmi_child_finish(tdmi_child *child) {
    const pid_t number = (pid_t)child->process;
    int status = 0;
    /* before it is waited for: until then its number, which is the group's, is no other's */
    if (child->is_apart) (void)kill(-number, SIGKILL);
    (void)kill(number, SIGKILL);
    while (waitpid(number, &status, 0) < 0 && errno == EINTR)
        ;
    (void)tdmi_posix_refuse((int)child->answer);
    (void)tdmi_posix_refuse((int)child->errors);
    child->answer = child->errors = TDMI_NO_FILE;
    if (WIFSIGNALED(status)) return (tdmi_child_end){.death = WTERMSIG(status)};
    return (tdmi_child_end){.status = WEXITSTATUS(status)};
}

/* ---- the child's side ---- */

tdmi_file tdmi_child_answer(void) {
    struct stat status;
    if (fstat(ANSWER, &status) != 0 || !S_ISFIFO(status.st_mode) ||
        fcntl(ANSWER, F_SETFD, FD_CLOEXEC) != 0)
        return TDMI_NO_FILE;
    /* if the parent dies before it can kill this process, nothing is left running */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return ANSWER;
}

void tdmi_child_die_quietly(void) {
    static const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
}

/* ---- deaths ---- */

const char *tdmi_death_name(int death, char *text, size_t size) {
#define NAME(signal)                                                                               \
    { signal, #signal }
    static const struct {
        int number;
        const char *name;
    } names[] = {NAME(SIGABRT), NAME(SIGALRM), NAME(SIGBUS),  NAME(SIGFPE),  NAME(SIGHUP),
                 NAME(SIGILL),  NAME(SIGINT),  NAME(SIGKILL), NAME(SIGPIPE), NAME(SIGQUIT),
                 NAME(SIGSEGV), NAME(SIGSYS),  NAME(SIGTERM), NAME(SIGTRAP), NAME(SIGUSR1),
                 NAME(SIGUSR2), NAME(SIGXCPU), NAME(SIGXFSZ)};
#undef NAME
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == death) return names[i].name;
    snprintf(text, size, "signal %d", death);
    return text;
}

bool tdmi_death_is_interrupt(int death) {
    return death == SIGINT || death == SIGTERM || death == SIGHUP || death == SIGQUIT ||
           death == SIGPIPE;
}
