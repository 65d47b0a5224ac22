/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The watch over a command in a child, and the naming of the driver that ended it. */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers.h"
#include "tools.h"

enum { MOST_WORDS = 250 };

static bool is_child;

bool guard_is_child(void) { return is_child; }

void guard_enter(void) { is_child = true; }

static void tell(char word) {
    /* the parent closed the pipe, so it has ended, and this process is ended with it */
    if (is_child && write(CHILD_ANSWER, &word, 1) != 1) return;
}

void guard_listed(void) { tell('l'); }

int guard_end(int status) {
    tell('e');
    return status;
}

/* Two texts, so that the one that a signal finds is whole. */
static char last_words[2][256];
static volatile sig_atomic_t current;

static void on_interrupt(int number) {
    const char *text = last_words[current];
    if (write(STDERR_FILENO, text, strlen(text)) >= 0) raise(number); /* which ends it now */
}

void guard_at_interrupt(const char *format, ...) {
    static const int numbers[] = {SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    char *text = last_words[!current];
    const int start =
        snprintf(text, sizeof last_words[0], "%stdm ", isatty(STDERR_FILENO) ? "\r\033[K" : "");
    va_list values;
    va_start(values, format);
    vsnprintf(text + start, sizeof last_words[0] - (size_t)start - 1, format, values);
    va_end(values);
    strcat(text, "\n");
    const bool is_first = !last_words[current][0];
    current = !current;
    for (size_t i = 0; is_first && i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

/* --- the parent ------------------------------------------------------------------------------- */

typedef struct watched {
    pid_t child;
    int answer;
    bool listed, ended; /* what it reported */
    bool hung;          /* killed, because it took too long to list */
    int status;         /* of waitpid */
} watched;

static void take_words(watched *w) {
    char words[16];
    ssize_t n = read(w->answer, words, sizeof words);
    for (ssize_t i = 0; i < n; i++) {
        w->listed = w->listed || words[i] == 'l';
        w->ended = w->ended || words[i] == 'e';
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return;
    close(w->answer);
    w->answer = -1;
}

/* Until the child is gone. Signals that ask the program to end are the child's to obey. */
static void watch(watched *w, double seconds) {
    double start = child_now();
    int passed_on = 0;
    while (waitpid(w->child, &w->status, WNOHANG) == 0) {
        double left = w->listed ? -1.0 : start + seconds - child_now();
        if (!w->listed && left <= 0.0) {
            w->hung = true;
            kill(w->child, SIGKILL);
            while (waitpid(w->child, &w->status, 0) < 0 && errno == EINTR)
                continue;
            return;
        }
        /* Looks now and then though nothing is reported: a process of the child's may keep the pipe
         * open after it. */
        double pause = w->answer < 0 ? 0.002 : 0.5;
        if (child_poll(w->answer, left < 0.0 || left > pause ? pause : left)) take_words(w);
        int caught = child_caught_signal();
        if (caught && caught != passed_on) kill(w->child, passed_on = caught);
    }
    if (w->answer >= 0) take_words(w);
    if (w->answer >= 0) close(w->answer);
}

static bool start(watched *w, int argc, char **argv, const char *const *changes) {
    const char *words[MOST_WORDS] = {".child"};
    int ends[2];
    *w = (watched){.child = -1};
    errno = E2BIG;
    if (argc > MOST_WORDS - 2 || !child_pipe(ends)) return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    w->child = child_start(words, changes, ends[1]);
    w->answer = ends[0];
    close(ends[1]);
    if (w->child > 0) return true;
    close(ends[0]);
    return false;
}

/* Ended from outside, by a reader that went away, or by Ctrl-C: no driver's fault. */
static bool is_from_outside(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
           number == SIGPIPE;
}

/* --- naming ----------------------------------------------------------------------------------- */

static void print_culprits(const char *command, const findings *list) {
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        const finding *item = &list->items[i];
        if (item->state != FINDING_BROKEN) continue;
        fprintf(stderr, "tdm %s: %s %s\n  advice: %s\n", command, item->subject, item->detail,
                item->advice);
        any = true;
    }
    if (!any)
        fprintf(stderr,
                "tdm %s: every driver lists its devices when it is alone; 'tdm "
                "doctor' tries each device\n",
                command);
}

static void print_end(const char *command, const watched *w, double seconds) {
    char name[32];
    fprintf(stderr, "tdm %s: ", command);
    if (w->hung)
        fprintf(stderr, "the devices were not listed within %g seconds", seconds);
    else if (WIFSIGNALED(w->status))
        fprintf(stderr, "ended by %s while %s",
                child_signal_name(WTERMSIG(w->status), name, sizeof name),
                w->ended    ? "the process ended"
                : w->listed ? "devices were used"
                            : "the devices were listed");
    else
        fprintf(stderr, "a driver ended the process by exit(%d)", WEXITSTATUS(w->status));
    fputs("; trying each driver alone\n", stderr);
}

/* Names the culprit and, where that is wanted, runs the command without it. */
static int explain(const watched *w, int argc, char **argv, double seconds, bool again) {
    drivers all;
    findings list = {0};
    driver_changes without;
    watched second;
    print_end(argv[0], w, seconds);
    bool tried = drivers_try(&all, seconds, &list);
    if (tried) print_culprits(argv[0], &list);
    if (tried && again && !w->listed && !drivers_are_good(&all) && !child_caught_signal() &&
        drivers_leave_out(&all, &without)) {
        fprintf(stderr, "tdm %s: without what is broken:\n", argv[0]);
        if (start(&second, argc, argv, without.changes)) watch(&second, seconds);
    }
    drivers_free(&all);
    findings_free(&list);
    return EXIT_FAILED;
}

static int run(int argc, char **argv, const char *const *changes, double seconds, bool again) {
    watched w;
    fflush(stdout);
    child_catch_signals();
    if (!start(&w, argc, argv, changes)) {
        child_release_signals();
        fprintf(stderr, "tdm %s: cannot start a process: %s\n", argv[0], strerror(errno));
        return EXIT_FAILED;
    }
    watch(&w, seconds);
    int number = WIFSIGNALED(w.status) && !w.hung ? WTERMSIG(w.status) : 0;
    int status = EXIT_FAILED;
    if (is_from_outside(number)) {
        child_release_signals();
        signal(number, SIG_DFL);
        raise(number);
    } else if (w.ended && WIFEXITED(w.status)) {
        status = WEXITSTATUS(w.status);
    } else {
        status = explain(&w, argc, argv, seconds, again);
        if (child_caught_signal()) status = 128 + child_caught_signal();
    }
    child_release_signals();
    return status;
}

int guard_run(int argc, char **argv, double seconds, bool again) {
    return run(argc, argv, NULL, seconds, again);
}

int guard_run_with(int argc, char **argv, const char *const *changes, double seconds) {
    return run(argc, argv, changes, seconds, false);
}
