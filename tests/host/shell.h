/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shell commands with a folder of the test, $D, and a cache in it. */
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

#include <unistd.h>

#include "command.h"

static char folder[300], cache[340];
enum { DRIVERS = 3, MORE };
static const char *shell_changes[] = {folder, cache, "LC_ALL=C", ICD_NONE, NULL, NULL};

static inline void shell(const char *command) { run_shell(shell_changes, command, 200, &r); }

static inline void shell_start(const char *name) {
    random_start();
    seconds = 200;
    snprintf(folder, sizeof folder, "D=" TEST_SCRATCH "/%s-%d", name, (int)getpid());
    snprintf(cache, sizeof cache, "TANDEM_CACHE_DIR=%s/cache", folder + 2);
    shell("rm -rf $D; mkdir -p $D");
}

static inline void shell_stop(void) { shell("rm -rf $D"); }

/* Runs the command; its output must have these words. */
static inline void gives(const char *command, int status, const char *words) {
    gives_with(shell_changes, command, status, words);
}

#endif
