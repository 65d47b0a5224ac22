/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Quotas of control groups, as containers have them: cpu.max in version 2, cpu.cfs_quota_us in version 1. Threads
 * beyond a quota only use it up sooner, and then all of them stand still until the next period. */
#include "quota.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };

/* Where the process's group is, of one version. */
typedef struct group {
    bool is_second;
    char path[PATH];  /* as /proc/self/cgroup has it */
    char root[PATH];  /* the part of the hierarchy that is mounted … */
    char mount[PATH]; /* … and where */
    char folder[2 * PATH], line[PATH], file[3 * PATH];
} group;

/* Whether a list with commas has the word cpu. */
static bool has_cpu(const char *list) {
    for (const char *at = strstr(list, "cpu"); at; at = strstr(at + 1, "cpu"))
        if ((at == list || at[-1] == ',') && (at[3] == '\0' || at[3] == ',')) return true;
    return false;
}

/* Calls `take` with each line of a file below root, until it returns true. */
static bool find_line(group *of, const char *root, const char *name, bool (*take)(group *of)) {
    bool found = false;
    snprintf(of->file, sizeof of->file, "%s%s", root, name);
    FILE *file = fopen(of->file, "re");
    while (file && !found && fgets(of->line, sizeof of->line, file)) {
        of->line[strcspn(of->line, "\n")] = '\0';
        found = take(of);
    }
    if (file) fclose(file);
    return found;
}

/* "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1. */
static bool take_group(group *of) {
    char *controllers = strchr(of->line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return false;
    *controllers++ = *path++ = '\0';
    if (of->is_second ? *controllers != '\0' : !has_cpu(controllers)) return false;
    memcpy(of->path, path, strlen(path) + 1);
    return true;
}

/* "36 35 98:0 /root /mount options … - type source options" */
static bool take_mount(group *of) {
    char type[32], options[256];
    const char *rest = strstr(of->line, " - ");
    if (!rest || sscanf(rest, " - %31s %*s %255s", type, options) != 2) return false;
    if (strcmp(type, of->is_second ? "cgroup2" : "cgroup") != 0) return false;
    if (!of->is_second && !has_cpu(options)) return false;
    return sscanf(of->line, "%*s %*s %*s %4095s %4095s", of->root, of->mount) == 2;
}

static bool read_numbers(group *of, const char *name, int count, long long numbers[2]) {
    snprintf(of->file, sizeof of->file, "%s/%s", of->folder, name);
    FILE *file = fopen(of->file, "re");
    if (!file) return false;
    const int got = fscanf(file, "%lld %lld", &numbers[0], &numbers[1]);
    fclose(file);
    return got >= count;
}

/* Of the group in of->folder; 0 without a quota, which version 2 calls "max" and version 1 -1. */
static int cores_of(group *of) {
    long long quota[2], period[2];
    if (of->is_second) {
        if (!read_numbers(of, "cpu.max", 2, quota)) return 0;
        period[0] = quota[1];
    } else if (!read_numbers(of, "cpu.cfs_quota_us", 1, quota) ||
               !read_numbers(of, "cpu.cfs_period_us", 1, period)) {
        return 0;
    }
    if (quota[0] <= 0 || period[0] <= 0) return 0;
    const long long cores = (quota[0] - 1) / period[0] + 1;
    return cores < INT_MAX ? (int)cores : INT_MAX;
}

/* The group's folder below the mount: in a container the hierarchy may be mounted from the group on, and a group that
 * is not below what is mounted is looked for there itself. */
static const char *path_below(const group *of) {
    const size_t length = strcmp(of->root, "/") == 0 ? 0 : strlen(of->root);
    if (strncmp(of->path, of->root, length) != 0 || strstr(of->path, "/..")) return "";
    return of->path[length] == '/' || of->path[length] == '\0' ? of->path + length : "";
}

static int lesser(int a, int b) { return b > 0 && (a == 0 || b < a) ? b : a; }

/* The least of the group and those that it is in. */
static int least_cores(group *of, const char *root) {
    int least = 0;
    snprintf(of->folder, sizeof of->folder, "%s%s", root, of->mount);
    char *below = of->folder + strlen(of->folder);
    snprintf(below, sizeof of->folder - (size_t)(below - of->folder), "%s", path_below(of));
    for (;;) {
        least = lesser(least, cores_of(of));
        char *last = strrchr(below, '/');
        if (!last) return least;
        *last = '\0';
    }
}

int tdmi_quota_cores(const char *root) {
    static group of; /* too large for a thread's stack */
    int least = 0;
    for (int version = 1; version <= 2; version++) {
        of.is_second = version == 2;
        if (find_line(&of, root, "/proc/self/cgroup", take_group) &&
            find_line(&of, root, "/proc/self/mountinfo", take_mount))
            least = lesser(least, least_cores(&of, root));
    }
    return least;
}
