/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Commands that list devices run in a child, so that a driver that crashes, hangs or exits does not
 * end the program without a word: it is looked for and named. Streams, signals and the exit status
 * are those of the child. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

/* The program's arguments, for guard_run. */
void guard_begin(int argc, char **argv);

/* Is this the child, because guard_enter was called? Then the command does its work; else it
 * returns guard_run. */
bool guard_is_child(void);
void guard_enter(void);

/* Runs the command again in a child; returns the exit status. `changes`: to its environment (child.h), or NULL.
 * `seconds`: how long listing may take. `again`: after a driver brought it down, once more without that one. */
int guard_run(const char *const *changes, double seconds, bool again);

/* The text that the child prints to stderr, as "tdm ...", when Ctrl-C or SIGTERM ends it; sent again when it has
 * changed. */
void guard_at_interrupt(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The child's side: the devices have been listed, nothing is timed from here on; and the command
 * has come to its end with this status, which is returned. */
void guard_listed(void);
int guard_end(int status);

#endif
