/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Quotas of control groups, in made-up files of both versions. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/platform/linux/quota.h"
#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/run.h"

static char root[256]; /* of the made-up files */

static void remove_root(void) {
    if (system(formatted("rm -rf '%s'", root)) != 0) abort();
}

static void start(void) {
    random_start();
    snprintf(root, sizeof root, TEST_SCRATCH "/quota.%ld", (long)getpid());
}

TestSuite(quota, .init = start, .fini = remove_root);

/* Makes the folders of a file below the root, and the file. */
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    file_write(path, text, strlen(text));
}

/* The process's group, and the mounts. */
static void begin(const char *groups, const char *mounts) {
    remove_root();
    put("/proc/self/cgroup", groups);
    put("/proc/self/mountinfo", mounts);
}

static void check_cores(int wanted) {
    const int found = tdmi_quota_cores(root);
    CHECK(found == wanted, "%d cores, not %d", found, wanted);
}

#define SECOND "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define DISK "23 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"

Test(quota, second_version) {
    static const struct {
        const char *max;
        int cores;
    } cases[] = {{"max 100000\n", 0},    {"100000 100000\n", 1},
                 {"150000 100000\n", 2}, {"200000 100000\n", 2},
                 {"1000 100000\n", 1},   {"6400000 100000\n", 64},
                 {"max\n", 0},           {"0 100000\n", 0},
                 {"100000 0\n", 0},      {"", 0},
                 {"nonsense\n", 0}};
    begin("0::/\n", DISK SECOND);
    check_cores(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case("%s", cases[i].max);
        put("/sys/fs/cgroup/cpu.max", cases[i].max);
        check_cores(cases[i].cores);
    }
}

/* The least of the group's and of those that it is in. */
Test(quota, nested) {
    begin("0::/system.slice/one.service\n", DISK SECOND);
    put("/sys/fs/cgroup/system.slice/one.service/cpu.max", "max 100000\n");
    check_cores(0);
    put("/sys/fs/cgroup/system.slice/cpu.max", "300000 100000\n");
    check_cores(3);
    put("/sys/fs/cgroup/system.slice/one.service/cpu.max", "800000 100000\n");
    check_cores(3);
    put("/sys/fs/cgroup/system.slice/one.service/cpu.max", "120000 100000\n");
    check_cores(2);
    put("/sys/fs/cgroup/system.slice/other.service/cpu.max", "1000 100000\n");
    check_cores(2);
}

#define FIRST_AT(of)                                                                               \
    "31 30 0:27 " of " /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"

Test(quota, first_version) {
    static const char groups[] = "12:cpuset:/x\n4:cpu,cpuacct:/docker/ab\n0::/\n";
    begin(groups,
          DISK "32 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n" FIRST_AT("/"));
    check_cores(0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
    check_cores(0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "250000\n");
    check_cores(3);
    /* in the container the hierarchy is mounted from the group on */
    begin(groups, DISK FIRST_AT("/docker/ab"));
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    check_cores(1);
    /* outside of what is mounted */
    begin("4:cpu,cpuacct:/../../other\n", DISK FIRST_AT("/docker/ab"));
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    check_cores(2);
}

/* Of a machine with both, that which has the quota. */
Test(quota, both_versions) {
    begin("1:cpu:/a\n0::/a\n", DISK SECOND FIRST_AT("/"));
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    check_cores(4);
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    check_cores(2);
}

Test(quota, no_files) { check_cores(0); }

#ifdef TEST_PROGRAM
/* The default number of threads, where files may be mounted over the system's: as large as the quota; and a number that
 * is set goes before it. */
Test(quota, threads) {
    static const char listed[] = "env -u TANDEM_CPU_THREADS TANDEM_BACKEND=cpu %s " TEST_PROGRAM
                                 " devices --json | grep -q '\"compute_units\": %d,'";
    put("/fs/cpu.max", "70000 100000\n");
    put("/fs/cpu/cpu.cfs_quota_us", "70000\n");
    put("/fs/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(symlink("cpu", formatted("%s/fs/cpu,cpuacct", root)) == 0, "no link");
    if (system(formatted(
            "grep -Eq ' /sys/fs/cgroup(/cpu|/cpu,cpuacct)? .* - cgroup2? ' /proc/self/mountinfo && "
            "unshare -rm mount --bind '%s/fs' /sys/fs/cgroup 2>/dev/null",
            root)) != 0) {
        check_before_skip(remove_root);
        check_skip("no files can be mounted over those of /sys/fs/cgroup");
    }
    setenv("ONE", formatted(listed, "", 1), 1);
    setenv("THREE", formatted(listed, "TANDEM_CPU_THREADS=3", 3), 1);
    static const char mounted[] =
        "unshare -rm sh -c 'mount --bind %s/fs /sys/fs/cgroup && eval \"$%s\"'";
    CHECK(system(formatted(mounted, root, "ONE")) == 0, "the quota does not bound the threads");
    CHECK(system(formatted(mounted, root, "THREE")) == 0,
          "TANDEM_CPU_THREADS does not go before the quota");
}
#endif
