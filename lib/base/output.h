/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The files that variables have the library write: lines of the log, and the profile, which is a trace in Chrome's
 * format. It calls no other file of the library. */
#ifndef TDMI_OUTPUT_H
#define TDMI_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/clock.h"
#include "platform/file.h"

/* An open file, and which one it is, as a program may close all descriptors and open others. */
typedef struct tdmi_output_file {
    tdmi_file file;
    uint64_t identity;
} tdmi_output_file;

/* A regular file or a character device, to be appended to or written from its start; or stderr (NULL). Never waits, in
 * case it is a pipe. False with errno. */
bool tdmi_output_open(tdmi_output_file *output, const char *path, bool append);

/* The whole text in one piece, unless the file would become too large; false with errno. */
bool tdmi_output_write(const tdmi_output_file *output, const char *text, size_t length);

/* Opens the file for one text, as processes may share it, and another program may take it away. False with errno. */
bool tdmi_output_append(const char *path, const char *text);

/* ---- TANDEM_PROFILE ---- */

extern atomic_bool tdmi_profiling;

static inline bool tdmi_profiles(void) {
    return __builtin_expect(atomic_load_explicit(&tdmi_profiling, memory_order_relaxed), 0);
}

/* Begins the profile in the file; "%p" in the path is the process's number. False with errno. */
bool tdmi_profile_start(const char *path);

/* A span of this thread begins, inside those that have begun; the innermost one has arguments, as members of a JSON
 * object; it ends. The first two give true. */
bool tdmi_profile_begin(const char *category, const char *name);
bool tdmi_profile_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tdmi_profile_end(void);

/* The end of a call of a public function that was going on when the profile began. */
void tdmi_profile_end_first(const char *function);

/* A span as it is written. `line` is the number of a thread, or of something else that does work. */
typedef struct tdmi_profile_span {
    const char *category, *name;
    const char *function; /* the public one that it is in */
    uint64_t began, ended;
    long line;
    char args[256];
} tdmi_profile_span;

/* The innermost span of this thread so far, if it has one; writing a span; naming a line. */
bool tdmi_profile_innermost(tdmi_profile_span *span);
void tdmi_profile_write(const tdmi_profile_span *span);
void tdmi_profile_line(long line, const char *name);

static inline void tdmi_end_span(const bool *is_open) {
    if (*is_open) tdmi_profile_end();
}

/* A span from here to the end of the block; without a profile no argument is evaluated. */
#define TDMI_SPAN(category, name, ...)                                                             \
    __attribute__((cleanup(tdmi_end_span), unused)) const bool tdmi_span_ =                        \
        tdmi_profiles() && tdmi_profile_begin(category, name) && tdmi_profile_note(__VA_ARGS__)

#endif
