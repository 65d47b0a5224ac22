/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A file that another program holds for a moment, which on Windows keeps it from being renamed and removed, as the C
 * library's streams do there. */
#include <stdio.h>

#include "platform/clock.h"
#include "platform/file.h"
#include "platform/threads.h"

int held_files_are_waited_for(const char *folder);

static void *hold(void *stream) {
    tdmi_sleep(200000000);
    fclose(stream);
    return NULL;
}

/* Whether `from` is renamed to `to`, or removed where that is NULL, while a new file is held, which is one of them. */
static bool lets_go(const char *held, const char *from, const char *to) {
    tdmi_thread thread;
    const unsigned how = TDMI_OPEN_WRITE | TDMI_OPEN_NEW;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, held, how, NULL);
    bool made = file != TDMI_NO_FILE && tdmi_file_close(file);
    if (from != held) {
        const tdmi_file second = tdmi_file_open(TDMI_HERE, from, how, NULL);
        made = made && second != TDMI_NO_FILE && tdmi_file_close(second);
    }
    FILE *stream = made ? fopen(held, "rb") : NULL;
    if (!stream || !tdmi_thread_start(&thread, hold, stream)) return false;
    const bool done =
        to ? tdmi_file_rename(TDMI_HERE, from, to) : tdmi_file_remove(TDMI_HERE, from);
    tdmi_thread_join(thread);
    return (!to || tdmi_file_remove(TDMI_HERE, to)) && done;
}

int held_files_are_waited_for(const char *folder) {
    char held[1200], other[1200];
    snprintf(held, sizeof held, "%s/held", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    const bool renamed = lets_go(held, held, other), replaced = lets_go(held, other, held),
               removed = lets_go(held, held, NULL);
    if (!renamed || !replaced || !removed)
        fprintf(stderr, "held.c: a held file: renamed %d, replaced %d, removed %d\n", renamed,
                replaced, removed);
    return !renamed + !replaced + !removed;
}
