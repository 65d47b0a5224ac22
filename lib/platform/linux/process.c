/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Processes, by /proc. */
#define _GNU_SOURCE
#include "platform/process.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/threads.h"
#include "posix.h"
#include "quota.h"

uint64_t tdmi_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

bool tdmi_process_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

int tdmi_process_cores(void) {
    cpu_set_t sets[8]; /* of 1024 each */
    const int count = sched_getaffinity(0, sizeof sets, sets) == 0
                          ? CPU_COUNT_S(sizeof sets, sets)
                          : (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int quota = tdmi_quota_cores("");
    if (quota > 0 && quota < count) return quota;
    return count > 0 ? count : 1;
}

void tdmi_system_give_stack(int child) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    (void)prlimit(child, RLIMIT_STACK, &limit, NULL);
}

bool tdmi_system_is_stand_in(const char *path) {
    (void)path;
    return false;
}

/* ---- other processes ---- */

static size_t read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    return length;
}

/* From /proc/<pid>/stat: fields 3, the state, 22, the start in clock ticks since boot, and 28, the stack. The second, a
 * name in parentheses, may hold anything. */
tdmi_process_life tdmi_process_look_up(uint64_t id) {
    char path[64], text[1024];
    tdmi_process_life found = {0};
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)id);
    if (read_text(path, text, sizeof text) == 0) return found;
    const char *at = strrchr(text, ')');
    if (at && at[1]) found.has_ended = at[2] == 'Z' || at[2] == 'X';
    for (int field = 3; at && field <= 28; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 22) found.start = strtoull(at, NULL, 10);
        if (at && field == 28) found.stack = strtoull(at, NULL, 10);
    }
    return found;
}

void tdmi_process_space(char *text, size_t size) {
    char boot[64], space[32];
    read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = '\0';
    snprintf(text, size, "%s %s", boot, space);
}

void tdmi_process_name(uint64_t id, char *name, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/comm", (unsigned long long)id);
    read_text(path, name, size);
    name[strcspn(name, "\n")] = '\0';
}
