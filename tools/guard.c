/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The watch over a command in a child, and the naming of the driver that ended it. */
#include "guard.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers.h"
#include "platform/program.h"
#include "tools.h"

enum { MOST_WORDS = 250 };

static bool is_child;
static struct {
    int count;
    char **word; /* the first is the command's name */
} arguments;

void guard_begin(int argc, char **argv) {
    arguments.count = argc;
    arguments.word = argv;
}

bool guard_is_child(void) { return is_child; }

void guard_enter(void) { is_child = true; }

static void tell(char word) {
    /* where the parent has ended, so that nothing is written, this process is ended with it */
    if (is_child) (void)tdmi_file_write(tdmi_child_answer(), &word, 1);
}

void guard_listed(void) { tell('l'); }

int guard_end(int status) {
    tell('e');
    return status;
}

void guard_at_interrupt(const char *format, ...) {
    char text[256];
    const int start =
        snprintf(text, sizeof text, "%stdm ", tdmi_stream_is_terminal(stderr) ? "\r\033[K" : "");
    va_list values;
    va_start(values, format);
    vsnprintf(text + start, sizeof text - (size_t)start - 1, format, values);
    va_end(values);
    strcat(text, "\n");
    tdmi_interrupt_say(text);
}

/* --- the parent ------------------------------------------------------------------------------- */

typedef struct watched {
    tdmi_child child;
    bool listed, ended; /* as reported */
    bool hung;          /* killed, because it took too long to list */
    tdmi_child_end end;
} watched;

static void take_words(watched *w) {
    char words[16];
    const size_t count = tdmi_child_read(&w->child.answer, words, sizeof words);
    for (size_t i = 0; i < count; i++) {
        w->listed = w->listed || words[i] == 'l';
        w->ended = w->ended || words[i] == 'e';
    }
}

/* Until the child is gone. Wishes that the program ends are the child's to obey. */
static void watch(watched *w, double seconds) {
    const double start = child_now(), a_day = 86400.0;
    int passed_on = 0;
    while (!w->hung && !tdmi_child_has_ended(&w->child)) {
        const double left = w->listed ? a_day : start + seconds - child_now();
        tdmi_child_wait(&w->child, left);
        take_words(w);
        w->hung = !w->listed && left <= 0.0;
        const int caught = tdmi_interrupt_caught();
        if (caught && caught != passed_on) tdmi_child_interrupt(&w->child, passed_on = caught);
    }
    take_words(w);
    w->end = tdmi_child_finish(&w->child);
}

static bool start(watched *w, const char *const *changes) {
    const char *words[MOST_WORDS] = {".child"};
    *w = (watched){.hung = false};
    errno = E2BIG;
    if (arguments.count > MOST_WORDS - 2) return false;
    for (int i = 0; i < arguments.count; i++)
        words[i + 1] = arguments.word[i];
    return tdmi_child_start(words, changes, false, &w->child);
}

/* --- naming ----------------------------------------------------------------------------------- */

static void print_culprits(const findings *list) {
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        const finding *item = &list->items[i];
        if (item->state != FINDING_BROKEN) continue;
        fprintf(stderr, "tdm %s: %s %s\n  advice: %s\n", arguments.word[0], item->subject,
                item->detail, item->advice);
        any = true;
    }
    if (!any)
        fprintf(stderr,
                "tdm %s: every driver lists its devices when it is alone; 'tdm doctor' tries each "
                "device\n",
                arguments.word[0]);
}

static void print_end(const watched *w, double seconds) {
    char name[64];
    fprintf(stderr, "tdm %s: ", arguments.word[0]);
    if (w->hung)
        fprintf(stderr, "the devices were not listed within %g seconds", seconds);
    else if (w->end.death)
        fprintf(stderr, "ended by %s while %s", tdmi_death_name(w->end.death, name, sizeof name),
                w->ended    ? "the process ended"
                : w->listed ? "devices were used"
                            : "the devices were listed");
    else
        fprintf(stderr, "a driver ended the process by exit(%d)", w->end.status);
    fputs("; trying each driver alone\n", stderr);
}

/* Names the culprit and, where that is wanted, runs the command without it. */
static int explain(const watched *w, double seconds, bool again) {
    drivers all;
    findings list = {0};
    driver_changes without;
    watched second;
    print_end(w, seconds);
    bool tried = drivers_try(&all, seconds, &list);
    if (tried) print_culprits(&list);
    if (tried && again && !w->listed && !drivers_are_good(&all) && !tdmi_interrupt_caught() &&
        drivers_leave_out(&all, &without)) {
        fprintf(stderr, "tdm %s: without what is broken:\n", arguments.word[0]);
        if (start(&second, without.changes)) watch(&second, seconds);
    }
    drivers_free(&all);
    findings_free(&list);
    return EXIT_FAILED;
}

int guard_run(const char *const *changes, double seconds, bool again) {
    watched w;
    fflush(stdout);
    tdmi_interrupt_catch();
    if (!start(&w, changes)) {
        tdmi_interrupt_release();
        fprintf(stderr, "tdm %s: cannot start a process: %s\n", arguments.word[0], strerror(errno));
        return EXIT_FAILED;
    }
    watch(&w, seconds);
    int status = EXIT_FAILED;
    if (!w.hung && tdmi_death_is_interrupt(w.end.death)) { /* no driver's fault */
        tdmi_interrupt_end(w.end.death);
    } else if (w.ended && !w.end.death) {
        status = w.end.status;
    } else {
        status = explain(&w, seconds, again);
        if (tdmi_interrupt_caught()) status = 128 + tdmi_interrupt_caught();
    }
    tdmi_interrupt_release();
    return status;
}
