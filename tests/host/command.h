/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Commands of the shell, and of the probe, and what they must say. */
#ifndef TEST_COMMAND_H
#define TEST_COMMAND_H

#include <stdio.h>
#include <string.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

static run_result r;            /* of the last command */
static const char *trying = ""; /* the case of a test, printed with each command */
static int seconds = 120;       /* that a command of the shell may take */

/* Its output has every one of `words`, which are separated by '|'. */
#define SAYS(words) CHECK(contains_words(r.output, words), "no \"%s\" in: %s", words, r.output)

/* Failures name the command and its changes of the environment. */
static inline void describe(const char *const *changes, const char *command) {
    char text[512];
    int used = snprintf(text, sizeof text, "%s%s%s", trying, trying[0] ? ": " : "", command);
    for (; changes && *changes && used < (int)sizeof text; changes++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s", *changes);
    check_case("%s", text);
}

static inline void ended(int status, const char *words) {
    CHECK(r.exit_status == status, "exit status %d, not %d: %s", r.exit_status, status, r.output);
    if (words) SAYS(words);
}

/* Runs a command of the shell with these changes. It ends with this status, and says `words`, unless NULL. */
static inline void gives_with(const char *const *changes, const char *command, int status,
                              const char *words) {
    describe(changes, command);
    run_shell(changes, command, seconds, &r);
    ended(status, words);
}

/* The same with one command of the probe and its argument, or NULL: the status is 0. */
static inline void probe_gives(const char *const *changes, const char *command, const char *name,
                               const char *words) {
    const char *argv[] = {TEST_PROBE, command, name, NULL};
    describe(changes, formatted("probe %s %s", command, name ? name : ""));
    run_program(changes, argv, 120, &r);
    ended(0, words);
}

/* How often the output has this text. */
static inline int times(const char *text) {
    int count = 0;
    for (const char *at = r.output; (at = strstr(at, text)); at++)
        count++;
    return count;
}

#endif
