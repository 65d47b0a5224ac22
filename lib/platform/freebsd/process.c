/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Processes, by FreeBSD's kernel. */
#include "platform/process.h"

#include <pthread.h>
#include <pthread_np.h>
#include <stdio.h>
#include <string.h>
#include <sys/cpuset.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/user.h>
#include <unistd.h>

#include "platform/threads.h"
#include "posix.h"

uint64_t tdmi_thread_id(void) { return (uint64_t)pthread_getthreadid_np(); }

bool tdmi_process_is_privileged(void) { return issetugid() != 0; }

int tdmi_process_cores(void) {
    cpuset_t set;
    if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof set, &set) != 0) return 1;
    const int count = (int)CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

void tdmi_system_give_stack(int child) { (void)child; /* it has what ours has */ }

bool tdmi_system_is_stand_in(const char *path) {
    (void)path;
    return false;
}

static bool ask(uint64_t id, struct kinfo_proc *found) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)id};
    size_t size = sizeof *found;
    return sysctl(name, 4, found, &size, NULL, 0) == 0 && size == sizeof *found;
}

tdmi_process_life tdmi_process_look_up(uint64_t id) {
    struct kinfo_proc found;
    if (!ask(id, &found)) return (tdmi_process_life){0};
    return (tdmi_process_life){.has_ended = found.ki_stat == SZOMB,
                               .start = (uint64_t)found.ki_start.tv_sec * 1000000 +
                                        (uint64_t)found.ki_start.tv_usec};
}

void tdmi_process_space(char *text, size_t size) {
    struct timeval boot = {0};
    int jail = 0;
    size_t length = sizeof boot;
    (void)sysctlbyname("kern.boottime", &boot, &length, NULL, 0);
    length = sizeof jail;
    (void)sysctlbyname("security.jail.jailed", &jail, &length, NULL, 0);
    char host[64] = "";
    length = sizeof host - 1;
    (void)sysctlbyname("kern.hostuuid", host, &length, NULL, 0);
    snprintf(text, size, "%s %lld %d", host, (long long)boot.tv_sec, jail);
}

void tdmi_process_name(uint64_t id, char *name, size_t size) {
    struct kinfo_proc found;
    snprintf(name, size, "%s", ask(id, &found) ? found.ki_comm : "");
}
