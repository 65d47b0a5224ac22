/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Child processes: started, listened to, and killed with all that they started. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LONGEST_ANSWER = 1 << 20, TAIL = 4096, MOST_ARGUMENTS = 256, FIRST_DESCRIPTOR = 10 };

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static struct sigaction actions_before[ENDING_SIGNALS];
static sigset_t mask_before;
static bool catching;
static volatile sig_atomic_t caught;

double child_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signal(int number) { caught = number; }

void child_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask;
    sigemptyset(&mask);
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        sigaction(ending_signals[i], NULL, &actions_before[i]);
        /* signals that nohup or a shell ignored stay ignored */
        if (actions_before[i].sa_handler == SIG_IGN) continue;
        sigaction(ending_signals[i], &action, NULL);
        sigaddset(&mask, ending_signals[i]);
    }
    caught = 0;
    sigprocmask(SIG_BLOCK, &mask, &mask_before);
    catching = true;
}

void child_release_signals(void) {
    /* first the mask: what is waiting is noted still, and ends no process */
    if (catching) sigprocmask(SIG_SETMASK, &mask_before, NULL);
    for (int i = 0; catching && i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &actions_before[i], NULL);
    catching = false;
}

int child_caught_signal(void) { return caught; }

static int wait_for(struct pollfd *ready, nfds_t count, double seconds) {
    struct timespec limit = {(time_t)seconds, 0};
    limit.tv_nsec = (long)((seconds - (double)limit.tv_sec) * 1e9);
    return ppoll(ready, count, seconds < 0.0 ? NULL : &limit, catching ? &mask_before : NULL);
}

bool child_poll(int descriptor, double seconds) {
    struct pollfd ready = {descriptor, POLLIN, 0};
    return wait_for(&ready, 1, seconds) > 0;
}

const char *child_signal_name(int number, char *text, size_t size) {
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
        if (names[i].number == number) return names[i].name;
    snprintf(text, size, "signal %d", number);
    return text;
}

void child_describe(const child_result *result, char *text, size_t size) {
    char name[32];
    switch (result->end) {
    case CHILD_EXITED:
        snprintf(text, size, "ended the process by exit(%d)", result->code);
        return;
    case CHILD_SIGNALLED:
        snprintf(text, size, "was ended by %s", child_signal_name(result->code, name, sizeof name));
        return;
    case CHILD_TIMED_OUT:
        snprintf(text, size, "gave no answer for %g seconds", result->seconds);
        return;
    case CHILD_OVERFLOWED:
        snprintf(text, size, "answered without an end");
        return;
    case CHILD_INTERRUPTED:
        snprintf(text, size, "was interrupted");
        return;
    case CHILD_NOT_STARTED:
        snprintf(text, size, "could not be started: %s", strerror(result->code));
        return;
    }
}

/* --- starting --------------------------------------------------------------------------------- */

bool child_pipe(int ends[2]) {
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
        close(made[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) return true;
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return false;
}

/* Does the variable "NAME=value" fall under "NAME=…", "NAME" or "PREFIX*"? */
static bool is_changed(const char *variable, const char *change) {
    size_t length = strcspn(change, "=*");
    return strncmp(variable, change, length) == 0 &&
           (change[length] == '*' || variable[length] == '=');
}

/* The environment of a child: pointers to texts of others, the array malloc'ed. */
static char **make_environment(const char *const *changes) {
    size_t count = 1;
    for (char **variable = environ; variable && *variable; variable++)
        count++;
    for (const char *const *change = changes; change && *change; change++)
        count++;
    char **made = calloc(count, sizeof *made);
    size_t n = 0;
    for (char **variable = environ; made && variable && *variable; variable++) {
        bool changed = false;
        for (const char *const *change = changes; change && *change && !changed; change++)
            changed = is_changed(*variable, *change);
        if (!changed) made[n++] = *variable;
    }
    for (const char *const *change = changes; made && change && *change; change++) {
        bool changed = !strchr(*change, '=');
        for (const char *const *later = change + 1; *later && !changed; later++)
            changed = is_changed(*change, *later);
        if (!changed) made[n++] = (char *)*change;
    }
    return made;
}

/* The program's own file: what runs now, even where the file was replaced since; without /proc, the
 * name that it was started by. */
static const char *own_file(void) {
    static const char self[] = "/proc/self/exe";
    if (access(self, X_OK) == 0) return self;
    return (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel hands a pointer as a number */
}

/* Starts with the streams that the actions make. */
static int spawn(const char *const *arguments, const char *const *changes, bool own_group,
                 const posix_spawn_file_actions_t *actions, pid_t *child) {
    char *list[MOST_ARGUMENTS] = {(char *)"tdm"};
    int count = 1;
    for (; *arguments; arguments++) {
        if (count == MOST_ARGUMENTS - 1) return E2BIG;
        list[count++] = (char *)*arguments;
    }
    char **environment = make_environment(changes);
    posix_spawnattr_t attributes;
    if (!environment) return ENOMEM;
    int error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        free(environment);
        return error;
    }
    short flags = POSIX_SPAWN_SETSIGMASK;
    if (own_group) flags = (short)(flags | POSIX_SPAWN_SETPGROUP);
    if (!catching) sigprocmask(SIG_BLOCK, NULL, &mask_before);
    const char *file = own_file();
    error = posix_spawnattr_setflags(&attributes, flags);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &mask_before);
    if (error == 0)
        error = file ? posix_spawn(child, file, actions, &attributes, list, environment) : ENOENT;
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return error;
}

pid_t child_start(const char *const *arguments, const char *const *changes, int answer) {
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&actions, answer, CHILD_ANSWER);
        if (error == 0) error = spawn(arguments, changes, false, &actions, &child);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = error;
    return error == 0 ? child : -1;
}

static int start_apart(const char *const *arguments, const char *const *changes, int answer,
                       int errors, pid_t *child) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, answer, CHILD_ANSWER);
    if (error == 0) error = spawn(arguments, changes, true, &actions, child);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* --- listening -------------------------------------------------------------------------------- */

typedef struct listener {
    pid_t child;
    int answer, errors; /* pipes; -1 once they are closed */
    size_t size, room;  /* of the answer */
    char tail[TAIL];    /* the end of what it said on its standard error */
    size_t tail_size;
    double heard; /* when it last answered */
} listener;

/* False when there is nothing to read now; closes the pipe at its end. */
static bool take(int *pipe, char *bytes, size_t room, size_t *count) {
    ssize_t n = read(*pipe, bytes, room);
    *count = n > 0 ? (size_t)n : 0;
    if (n > 0) return true;
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(*pipe);
        *pipe = -1;
    }
    return false;
}

static void take_errors(listener *from) {
    char bytes[1024];
    size_t count;
    while (from->errors >= 0 && take(&from->errors, bytes, sizeof bytes, &count)) {
        size_t over = from->tail_size + count > TAIL ? from->tail_size + count - TAIL : 0;
        memmove(from->tail, from->tail + over, from->tail_size - over);
        from->tail_size -= over;
        memcpy(from->tail + from->tail_size, bytes, count);
        from->tail_size += count;
        /* a child that writes without a pause must not keep us from checking the time */
        if (count < sizeof bytes) break;
    }
}

/* False when the answer is longer than any can be, or memory is short. */
static bool take_answer(listener *from, child_result *result) {
    size_t count = 1;
    while (from->answer >= 0 && count > 0) {
        if (from->size + 1 >= from->room) {
            size_t room = from->room ? from->room * 2 : 4096;
            char *grown = room <= LONGEST_ANSWER ? realloc(result->answer, room) : NULL;
            if (!grown) return false;
            result->answer = grown;
            from->room = room;
        }
        if (!take(&from->answer, result->answer + from->size, from->room - from->size - 1, &count))
            break;
        from->size += count;
        from->heard = child_now();
    }
    return true;
}

static bool has_ended(pid_t child) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
}

/* Listens until the child has ended or is to be killed; CHILD_EXITED then stands for any end. */
static child_end listen_to(listener *from, child_result *result) {
    for (;;) {
        bool ended = has_ended(from->child);
        struct pollfd ready[2] = {{from->answer, POLLIN, 0}, {from->errors, POLLIN, 0}};
        double left = from->heard + result->seconds - child_now();
        /* Pipes that something else keeps open say nothing of the child, so it is looked at again
         * and again; soon, once both are closed. */
        double pause = from->answer < 0 && from->errors < 0 ? 0.001 : 0.05;
        if (!ended && wait_for(ready, 2, left < pause ? (left > 0.0 ? left : 0.0) : pause) < 0 &&
            errno != EINTR)
            return CHILD_TIMED_OUT;
        take_errors(from);
        if (!take_answer(from, result)) return CHILD_OVERFLOWED;
        if (ended) return CHILD_EXITED;
        if (caught) return CHILD_INTERRUPTED;
        if (from->heard + result->seconds < child_now()) return CHILD_TIMED_OUT;
    }
}

/* The last line that is not blank. A driver's words may hold anything: printable ASCII is left. */
static void keep_last_words(const listener *from, child_result *result) {
    size_t end = from->tail_size, length = 0;
    while (end > 0 && strchr(" \t\r\n", from->tail[end - 1]))
        end--;
    while (length < end && length < sizeof result->last_words - 1 &&
           from->tail[end - length - 1] != '\n')
        length++;
    /* of a long line the beginning is shown, as far as it is known */
    size_t start = end - length;
    while (start > 0 && from->tail[start - 1] != '\n')
        start--;
    for (size_t i = 0; i < length; i++) {
        char c = from->tail[start + i];
        result->last_words[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    result->last_words[length] = '\0';
}

static void bury(listener *from, child_end end, child_result *result) {
    int status = 0;
    /* Before the child is waited for: until then its number, which is the group's, is no other's.
     */
    kill(-from->child, SIGKILL);
    kill(from->child, SIGKILL);
    while (waitpid(from->child, &status, 0) < 0 && errno == EINTR)
        continue;
    result->end = end;
    if (end != CHILD_EXITED) return;
    if (WIFSIGNALED(status)) result->end = CHILD_SIGNALLED;
    result->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

void child_run(const char *const *arguments, const char *const *changes, double seconds,
               child_result *result) {
    listener from = {.child = -1, .answer = -1, .errors = -1};
    int answer[2], errors[2] = {-1, -1};
    *result = (child_result){.end = CHILD_NOT_STARTED, .code = EMFILE, .seconds = seconds};
    if (child_pipe(answer)) {
        if (child_pipe(errors)) {
            fcntl(answer[0], F_SETFL, O_NONBLOCK);
            fcntl(errors[0], F_SETFL, O_NONBLOCK);
            result->code = start_apart(arguments, changes, answer[1], errors[1], &from.child);
            close(errors[1]);
        }
        close(answer[1]);
        from.answer = answer[0];
        from.errors = errors[0];
    }
    if (from.child > 0) {
        from.heard = child_now();
        bury(&from, listen_to(&from, result), result);
        keep_last_words(&from, result);
    }
    if (from.answer >= 0) close(from.answer);
    if (from.errors >= 0) close(from.errors);
    if (!result->answer) result->answer = calloc(1, 1);
    if (result->answer) result->answer[from.size] = '\0';
}
