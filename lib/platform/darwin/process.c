/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Processes, by macOS's kernel. */
#include "platform/process.h"

#include <libproc.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "posix.h"

bool tdmi_process_is_privileged(void) { return issetugid() != 0; }

int tdmi_process_cores(void) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}

void tdmi_system_give_stack(int child) { (void)child; /* it has what ours has */ }

/* The programs in /usr/bin that are compilers by name offer to install Apple's tools where these are not there yet. The
 * folders are what `xcode-select -p` looks for. */
bool tdmi_system_is_stand_in(const char *path) {
    static const char *const tools[] = {"/Library/Developer/CommandLineTools/usr/bin/clang",
                                        "/Applications/Xcode.app/Contents/Developer",
                                        "/var/db/xcode_select_link"};
    if (strncmp(path, "/usr/bin/", strlen("/usr/bin/")) != 0) return false;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (access(tools[i], F_OK) == 0) return false;
    return true;
}

tdmi_process_life tdmi_process_look_up(uint64_t id) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)id};
    struct kinfo_proc found;
    size_t size = sizeof found;
    if (sysctl(name, 4, &found, &size, NULL, 0) != 0 || size == 0) return (tdmi_process_life){0};
    const struct timeval start = found.kp_proc.p_starttime;
    return (tdmi_process_life){.has_ended = found.kp_proc.p_stat == SZOMB,
                               .start = (uint64_t)start.tv_sec * 1000000 + (uint64_t)start.tv_usec};
}

void tdmi_process_space(char *text, size_t size) {
    char boot[64] = "";
    size_t length = sizeof boot - 1;
    (void)sysctlbyname("kern.bootsessionuuid", boot, &length, NULL, 0);
    snprintf(text, size, "%s", boot);
}

void tdmi_process_name(uint64_t id, char *name, size_t size) {
    if (proc_name((int)id, name, (uint32_t)size) <= 0) snprintf(name, size, "%s", "");
}
