/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that a user has the library write, and the profile. Its events are Chrome's trace event format as an array,
 * whose end may be missing: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include "base/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "platform/process.h"
#include "platform/threads.h"

bool tdmi_output_open(tdmi_output_file *output, const char *path, bool append) {
    tdmi_file_info info;
    const unsigned how = TDMI_OPEN_MAKE | (append ? TDMI_OPEN_APPEND : TDMI_OPEN_WRITE);
    const tdmi_file file = path ? tdmi_file_open(TDMI_HERE, path, how, &info) : tdmi_file_stderr();
    if (file == TDMI_NO_FILE || (!path && !tdmi_file_get_info(file, &info))) return false;
    const bool is_regular = info.kind == TDMI_FILE_REGULAR;
    errno = EINVAL;
    if ((!path || is_regular || info.kind == TDMI_FILE_DEVICE) &&
        (append || !is_regular || tdmi_file_empty(file))) {
        *output = (tdmi_output_file){file, info.identity};
        return true;
    }
    const int error = errno;
    if (path) (void)tdmi_file_close(file);
    errno = error;
    return false;
}

bool tdmi_output_write(const tdmi_output_file *output, const char *text, size_t length) {
    tdmi_file_info info;
    if (!tdmi_file_get_info(output->file, &info)) return false;
    errno = EBADF;
    if (info.identity != output->identity) return false;
    errno = EFBIG;
    if (info.kind == TDMI_FILE_REGULAR && info.size + length > tdmi_file_limit()) return false;
    return tdmi_file_write(output->file, text, length) == length;
}

bool tdmi_output_append(const char *path, const char *text) {
    tdmi_output_file output;
    if (!tdmi_output_open(&output, path, true)) return false;
    const bool written = tdmi_output_write(&output, text, strlen(text));
    const int error = errno;
    (void)tdmi_file_close(output.file);
    errno = error;
    return written;
}

/* ---- the profile ---- */

atomic_bool tdmi_profiling;

enum { MOST_OPEN = 8, LONGEST_EVENT = 1024, FLUSH_NANOSECONDS = 10000000 };

/* Those of this thread that have begun, the innermost last. Of more than there is room for none is written. */
static _Thread_local tdmi_profile_span spans[MOST_OPEN];
static _Thread_local int depth;

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static tdmi_output_file output;
static uint64_t process; /* that the profile is of, rather than its children */
static uint64_t started, flushed;
static char events[32 << 10];
static size_t used;

bool tdmi_profile_start(const char *path) {
    char name[2048];
    const char *at = strstr(path, "%p");
    const int before = (int)(at ? (size_t)(at - path) : strlen(path));
    process = tdmi_process_id();
    const int length = snprintf(name, sizeof name, at ? "%.*s%llu%s" : "%.*s", before, path,
                                (unsigned long long)process, at ? at + 2 : "");
    errno = ENAMETOOLONG;
    if (length < 0 || (size_t)length >= sizeof name || !tdmi_output_open(&output, name, false))
        return false;
    used = (size_t)snprintf(events, sizeof events,
                            "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%llu,\"args\":{"
                            "\"name\":\"tandem\"}}",
                            (unsigned long long)process);
    started = tdmi_nanoseconds();
    atomic_store(&tdmi_profiling, true);
    return true;
}

/* The profile ends where the file takes no more. */
static void flush(uint64_t now) {
    if (!tdmi_output_write(&output, events, used)) atomic_store(&tdmi_profiling, false);
    used = 0;
    flushed = now;
}

/* Not relaxed, as what follows reads what tdmi_profile_start wrote. */
static bool is_on(void) { return atomic_load(&tdmi_profiling) && tdmi_process_id() == process; }

/* A thread may end the process by a signal handler while it holds the lock. Others may go on. */
__attribute__((destructor)) static void end_profile(void) {
    if (!is_on()) return;
    for (int tries = 0; !tdmi_mutex_trylock(&lock); tries++) {
        if (tries == 1000 || !TDMI_EXIT_KEEPS_THREADS) return;
        tdmi_sleep(1000000);
    }
    flush(0);
    (void)!tdmi_output_write(&output, "\n]\n", 3);
    atomic_store(&tdmi_profiling, false);
    tdmi_mutex_unlock(&lock);
}

/* A process that is killed leaves all but the last moment. */
static void append(const char *event, int length) {
    const uint64_t now = tdmi_nanoseconds();
    tdmi_mutex_lock(&lock);
    if (tdmi_profiles() && length > 0 && length < LONGEST_EVENT) {
        if (used + (size_t)length > sizeof events) flush(now);
        memcpy(events + used, event, (size_t)length);
        used += (size_t)length;
        if (now - flushed > FLUSH_NANOSECONDS) flush(now);
    }
    tdmi_mutex_unlock(&lock);
}

void tdmi_profile_write(const tdmi_profile_span *s) {
    char event[LONGEST_EVENT];
    const int error = errno;
    if (!is_on()) return;
    const uint64_t length = s->ended - s->began;
    append(event,
           snprintf(event, sizeof event,
                    ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%llu.%03u,\"dur\":%llu."
                    "%03u,\"pid\":%ld,\"tid\":%ld,\"args\":{\"function\":\"%s\"%s%s}}",
                    s->name, s->category, (unsigned long long)(s->began / 1000),
                    (unsigned)(s->began % 1000), (unsigned long long)(length / 1000),
                    (unsigned)(length % 1000), (long)process, s->line, s->function,
                    s->args[0] ? "," : "", s->args));
    errno = error;
}

void tdmi_profile_line(long line, const char *name) {
    char event[LONGEST_EVENT];
    if (!is_on()) return;
    append(event, snprintf(event, sizeof event,
                           ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,"
                           "\"args\":{\"name\":\"%s\"}}",
                           (long)process, line, name));
}

/* Of this thread, which ends now. */
static void write_span(tdmi_profile_span *s) {
    static _Thread_local long thread;
    s->ended = tdmi_nanoseconds();
    if (thread == 0) thread = (long)tdmi_thread_id();
    s->line = thread;
    tdmi_profile_write(s);
}

bool tdmi_profile_begin(const char *category, const char *name) {
    if (depth++ >= MOST_OPEN) return true;
    tdmi_profile_span *s = &spans[depth - 1];
    s->category = category;
    s->name = name;
    s->function = strcmp(category, "call") == 0 ? name : depth > 1 ? s[-1].function : "";
    s->args[0] = '\0';
    s->began = tdmi_nanoseconds();
    return true;
}

/* Text that does not fit is left out, so that the event stays whole. */
bool tdmi_profile_note(const char *format, ...) {
    va_list list;
    if (depth == 0 || depth > MOST_OPEN) return true;
    char *args = spans[depth - 1].args;
    va_start(list, format);
    if (vsnprintf(args, sizeof spans->args, format, list) >= (int)sizeof spans->args)
        args[0] = '\0';
    va_end(list);
    return true;
}

bool tdmi_profile_innermost(tdmi_profile_span *span) {
    if (depth == 0 || depth > MOST_OPEN) return false;
    *span = spans[depth - 1];
    return true;
}

void tdmi_profile_end(void) {
    if (depth-- <= MOST_OPEN) write_span(&spans[depth]);
}

void tdmi_profile_end_first(const char *function) {
    if (!is_on()) return;
    write_span(&(tdmi_profile_span){"call", function, function, .began = started});
}
