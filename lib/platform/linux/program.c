/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams, terminals and signals of a program. */
#define _GNU_SOURCE
#include "platform/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "interrupts.h"
#include "posix.h"

/* Arguments and streams are as the header has them. */
void tdmi_program_begin(int *count, char ***arguments) { (void)count, (void)arguments; }

void tdmi_program_slashes(char *path) { (void)path; }

void tdmi_program_path(char *path, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length < 0 ? 0 : length] = '\0';
}

void tdmi_program_become(const char *path, char **arguments) { (void)execv(path, arguments); }

/* ---- streams ---- */

FILE *tdmi_stream_open(const char *path, const char *mode) {
    const char own[] = {mode[0], 'e', '\0'};
    return fopen(path, own);
}

FILE *tdmi_stream_of(tdmi_file file) {
    FILE *stream = fdopen((int)file, "w");
    if (!stream) (void)tdmi_posix_refuse((int)file);
    return stream;
}

bool tdmi_stream_is_terminal(FILE *stream) { return isatty(fileno(stream)); }

bool tdmi_terminal_has_colours(void) {
    const char *name = getenv("TERM");
    return name && *name && strcmp(name, "dumb") != 0;
}

int tdmi_stream_columns(FILE *stream) {
    struct winsize size;
    const int descriptor = fileno(stream);
    return isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* ---- interrupts ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct sigaction actions_before[SIGNALS];
static sigset_t mask_before;
static int caught_signals; /* how many of them are caught, the first ones; 0: none */
static volatile sig_atomic_t caught;

static void on_signal(int number) { caught = number; }

static void catch_signals(int count, bool ignored_too) {
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask;
    sigemptyset(&mask);
    for (int i = 0; i < count; i++) {
        sigaction(signals[i], NULL, &actions_before[i]);
        if (actions_before[i].sa_handler == SIG_IGN && !ignored_too) continue;
        sigaction(signals[i], &action, NULL);
        sigaddset(&mask, signals[i]);
    }
    caught = 0;
    sigprocmask(SIG_BLOCK, &mask, &mask_before);
    caught_signals = count;
}

/* A signal that nohup or a shell ignored stays ignored. */
void tdmi_interrupt_catch(void) { catch_signals(SIGNALS, false); }

void tdmi_interrupt_catch_key(void) { catch_signals(1, true); }

void tdmi_interrupt_release(void) {
    /* first the mask: what is waiting is noted still, and ends no process */
    if (caught_signals > 0) sigprocmask(SIG_SETMASK, &mask_before, NULL);
    for (int i = 0; i < caught_signals; i++)
        sigaction(signals[i], &actions_before[i], NULL);
    caught_signals = 0;
}

int tdmi_interrupt_caught(void) { return caught; }

void tdmi_interrupt_mask(sigset_t *mask) {
    if (caught_signals > 0)
        *mask = mask_before;
    else
        sigprocmask(SIG_BLOCK, NULL, mask);
}

int tdmi_interrupt_poll(struct pollfd *ready, nfds_t count, double seconds) {
    struct timespec limit = {(time_t)seconds, 0};
    limit.tv_nsec = (long)((seconds - (double)limit.tv_sec) * 1e9);
    return ppoll(ready, count, &limit, caught_signals > 0 ? &mask_before : NULL);
}

void tdmi_interrupt_rest(double seconds) {
    if (!caught) (void)tdmi_interrupt_poll(NULL, 0, seconds);
}

void tdmi_interrupt_end(int interrupt) {
    tdmi_interrupt_release();
    signal(interrupt, SIG_DFL);
    raise(interrupt);
}

/* Two texts, so that the one that a signal finds is whole. */
static char last_words[2][256];
static volatile sig_atomic_t current;

static void say(int number) {
    const char *text = last_words[current];
    if (write(STDERR_FILENO, text, strlen(text)) >= 0) raise(number); /* which ends it now */
}

void tdmi_interrupt_say(const char *text) {
    static const int numbers[] = {SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = say, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    const bool is_first = !last_words[current][0];
    snprintf(last_words[!current], sizeof last_words[0], "%s", text);
    current = !current;
    for (size_t i = 0; is_first && i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

/* ---- the system ---- */

/* PRETTY_NAME="..." */
static void read_name(char *name, size_t size) {
    static const char key[] = "PRETTY_NAME=";
    FILE *file = fopen("/etc/os-release", "re");
    char line[512];
    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, sizeof key - 1) != 0) continue;
        const char *text = line + sizeof key - 1;
        text += strspn(text, " \t:=\"");
        snprintf(name, size, "%.*s", (int)strcspn(text, "\"\n"), text);
        break;
    }
    if (file) fclose(file);
}

void tdmi_system_describe(char *name, size_t name_size, char *kernel, size_t kernel_size,
                          char *architecture, size_t architecture_size) {
    struct utsname names;
    const bool known = uname(&names) == 0;
    read_name(name, name_size);
    snprintf(kernel, kernel_size, "%s", known ? names.release : "unknown");
    snprintf(architecture, architecture_size, "%s", known ? names.machine : "unknown");
}
