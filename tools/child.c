/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Child processes: listened to, and killed with all that they started. */
#include "child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/clock.h"
#include "platform/program.h"

enum { LONGEST_ANSWER = 1 << 20, TAIL = 4096 };

double child_now(void) { return 1e-9 * (double)tdmi_nanoseconds(); }

void child_describe(const child_result *result, char *text, size_t size) {
    char name[64];
    switch (result->end) {
    case CHILD_EXITED:
        snprintf(text, size, "ended the process by exit(%d)", result->code);
        return;
    case CHILD_SIGNALLED:
        snprintf(text, size, "was ended by %s", tdmi_death_name(result->code, name, sizeof name));
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

/* --- listening -------------------------------------------------------------------------------- */

typedef struct listener {
    tdmi_child child;
    size_t size, room; /* of the answer */
    char tail[TAIL];   /* the end of what it said on its standard error */
    size_t tail_size;
    double heard; /* when it last answered */
} listener;

static void take_errors(listener *from) {
    char bytes[1024];
    size_t count;
    while ((count = tdmi_child_read(&from->child.errors, bytes, sizeof bytes)) > 0) {
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
    for (size_t count = 1; count > 0;) {
        if (from->size + 1 >= from->room) {
            size_t room = from->room ? from->room * 2 : 4096;
            char *grown = room <= LONGEST_ANSWER ? realloc(result->answer, room) : NULL;
            if (!grown) return false;
            result->answer = grown;
            from->room = room;
        }
        count = tdmi_child_read(&from->child.answer, result->answer + from->size,
                                from->room - from->size - 1);
        from->size += count;
        if (count > 0) from->heard = child_now();
    }
    return true;
}

/* Listens until the child has ended or is to be killed; CHILD_EXITED then stands for any end. */
static child_end listen_to(listener *from, child_result *result) {
    for (;;) {
        const bool ended = tdmi_child_has_ended(&from->child);
        if (!ended) tdmi_child_wait(&from->child, from->heard + result->seconds - child_now());
        take_errors(from);
        if (!take_answer(from, result)) return CHILD_OVERFLOWED;
        if (ended) return CHILD_EXITED;
        if (tdmi_interrupt_caught()) return CHILD_INTERRUPTED;
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

void child_run(const char *const *arguments, const char *const *changes, double seconds,
               child_result *result) {
    listener from = {.size = 0};
    *result = (child_result){.end = CHILD_NOT_STARTED, .seconds = seconds};
    if (tdmi_child_start(arguments, changes, true, &from.child)) {
        from.heard = child_now();
        result->end = listen_to(&from, result);
        const tdmi_child_end end = tdmi_child_finish(&from.child);
        if (result->end == CHILD_EXITED) {
            if (end.death) result->end = CHILD_SIGNALLED;
            result->code = end.death ? end.death : end.status;
        }
        keep_last_words(&from, result);
    } else
        result->code = errno;
    if (!result->answer) result->answer = calloc(1, 1);
    if (result->answer) result->answer[from.size] = '\0';
}
