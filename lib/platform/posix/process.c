/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* This process and its environment. */
#define _GNU_SOURCE
#include "platform/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

uint64_t tdmi_process_id(void) { return (uint64_t)getpid(); }

uint64_t tdmi_process_user(void) { return geteuid(); }

void tdmi_process_on_fork(void (*child)(void)) { (void)pthread_atfork(NULL, NULL, child); }

bool tdmi_process_answers(uint64_t id) { return kill((pid_t)id, 0) == 0; }

const char *tdmi_environment_get(const char *name) {
    return tdmi_process_is_privileged() ? NULL : getenv(name);
}

void tdmi_environment_visit(const char *prefix,
                            void (*visit)(const char *name, const char *value)) {
    for (char **entry = environ; entry && *entry; entry++) {
        char name[64];
        if (strncmp(*entry, prefix, strlen(prefix)) != 0) continue;
        const size_t length = strcspn(*entry, "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), *entry);
        visit(name, (*entry)[length] ? *entry + length + 1 : "");
    }
}
