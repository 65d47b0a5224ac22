/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Drivers that are missing or broken, processes that fork or end, caches. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

TestSuite(drivers, .init = random_start);

/* No ICD at all: cpu is there, nothing fails, and the diagnosis says what is missing and what to
 * install instead of a raw -1001. */
Test(drivers, no_icd) {
    static const char *const folders[] = {"OCL_ICD_VENDORS=/nonexistent", ICD_NONE};
    for (int i = 0; i < 2; i++) {
        const char *changes[] = {folders[i], CACHE, NULL};
        probe_gives(changes, "list", NULL, "TDM_OK|cpu:0|default: cpu:0");
        CHECK(!contains_words(r.output, "opencl:"), "a device without a driver: %s", r.output);
        probe_gives(changes, "work", "-", "TDM_OK|cpu:0");
        probe_gives(changes, "diagnose", NULL, "TDM_OK");
#if TEST_HAS_OPENCL
        SAYS("opencl|icd|install");
#endif
        probe_gives(changes, "find", "opencl:0", NULL);
        CHECK(strncmp(r.output, "TDM_ERROR_", 10) == 0, "%s", r.output);
#if TEST_HAS_OPENCL
        /* Words, and what to install; the driver's number alone is of no help. */
        SAYS("opencl|no OpenCL ICD is installed|pocl-opencl-icd");
#endif
    }
}

#if TEST_HAS_OPENCL
/* A broken .icd before, and an empty one after, a good one hide nothing and are reported. */
Test(drivers, broken_icd) {
    const char *changes[] = {ICD_BROKEN, CACHE, NULL};
    probe_gives(changes, "list", NULL, "TDM_OK|opencl:0|cpu:0");
    probe_gives(changes, "work", "opencl:0", "TDM_OK|opencl:0");
    probe_gives(changes, "diagnose", NULL, "aaa.icd|libbroken-icd.so");
}

/* The order of the list is the same in every run (it came from a map keyed by pointers once). */
Test(drivers, order_is_deterministic) {
    const char *changes[] = {ICD_POCL, CACHE, "POCL_DEVICES=pthread basic pthread",
                             "TANDEM_CPU_DEVICES=3", NULL};
    char first[sizeof r.output] = "";
    for (int i = 0; i < 6; i++) {
        probe_gives(changes, "list", NULL, NULL);
        if (i == 0) memcpy(first, r.output, sizeof first);
        SAYS("opencl:2|cpu:2");
        CHECK(strcmp(first, r.output) == 0, "run %d differs:\n%s\nfrom\n%s", i, r.output, first);
    }
}
#endif

/* In a forked child every call returns TDM_ERROR_FORKED instead of hanging, giving back is
 * harmless, and the parent goes on; a fork before the first use is no fork. */
Test(drivers, fork_after_use) {
    static const char *const devices[] = {"cpu", "opencl:0"};
    for (int i = 0; i < 1 + TEST_HAS_OPENCL; i++) {
        const char *changes[] = {ICD_POCL, CACHE, NULL};
        probe_gives(changes, "fork", devices[i], NULL);
        const int forked = times("TDM_ERROR_FORKED\n");
        CHECK(forked == 11, "%d of 11 calls said so: %s", forked, r.output);
        SAYS("child ends|parent:");
        const char *parent = strstr(r.output, "parent:\nTDM_OK");
        CHECK(parent, "the parent was harmed: %s", r.output);
    }
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    probe_gives(changes, "fork-first", NULL, NULL);
    const char *once = strstr(r.output, "TDM_OK\ncpu:0\n");
    CHECK(once && strstr(once + 1, "TDM_OK\ncpu:0\n"), "%s", r.output);
}

/* Ending without giving anything back, and while another thread works, does not crash or hang. */
Test(drivers, ending) {
    static const char *const devices[] = {"cpu", "opencl:0"};
    for (int i = 0; i < 1 + TEST_HAS_OPENCL; i++) {
        const char *changes[] = {ICD_POCL, CACHE, NULL};
        probe_gives(changes, "exit", devices[i], "TDM_OK");
        /* whether the end comes in the middle of a product is chance */
        for (int turn = 0; turn < (i == 0 ? 20 : 1); turn++)
            probe_gives(changes, "thread", devices[i], "TDM_OK");
        /* a program that joins its threads at its end is not kept from that */
        probe_gives(changes, "join", devices[i], NULL);
        CHECK(contains_words(r.output, "TDM_OK") && !strstr(r.output, "wrong"), "%s", r.output);
    }
}

#if TEST_HAS_OPENCL
/* A driver that two .icd files name has each device once. */
Test(drivers, one_driver_in_two_files) {
    static const char *const changes[] = {"OCL_ICD_VENDORS=" TEST_SCRATCH "/twice", CACHE, NULL};
    probe_gives((const char *[]){ICD_POCL, CACHE, NULL}, "list", NULL, NULL);
    const int wanted = times("\nopencl:");
    run_shell(changes,
              "rm -rf $OCL_ICD_VENDORS && mkdir $OCL_ICD_VENDORS && for i in 1 2 3; do "
              "cp " TEST_ICD_POCL "/*.icd $OCL_ICD_VENDORS/$i.icd; done",
              10, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    probe_gives(changes, "list", NULL, NULL);
    CHECK(wanted > 0 && times("\nopencl:") == wanted, "not %d: %s", wanted, r.output);
    probe_gives(changes, "diagnose", NULL, "listed before");
}

/* The kernel cache: mode 0700, filled, used again. Entries that are damaged, or that others may have written, are not
 * believed, and the library does not wait for one that is no plain file: good ones take their places. */
Test(drivers, kernel_cache) {
    static const char *const damages[] = {
        "echo this is no kernel >$F", ": >$F", "truncate -s $(($(stat -c %s $F) / 2)) $F",
        /* the length is right, the content is not */
        "printf 'other bytes' | dd of=$F bs=1 seek=$(($(stat -c %s $F) * 2 / 3)) conv=notrunc "
        "2>/dev/null",
        "rm $F; mkfifo -m 600 $F", "chmod 666 $F",
        "chown 65534 $F 2>/dev/null", /* by root alone; else the entry stays good */
        "mv $F ${F%.bin}; ln -s ${F%.bin} $F"};
    static const char *const changes[] = {ICD_POCL, "TANDEM_CACHE_DIR=" TEST_SCRATCH "/kernels",
                                          NULL};
    static char entries[sizeof r.output];
    run_shell(changes, "rm -rf $TANDEM_CACHE_DIR", 30, &r);
    probe_gives(changes, "work", "opencl:0", "TDM_OK|opencl:0");
    gives_with(changes, "stat -c %a $TANDEM_CACHE_DIR", 0, "700\n");
    gives_with(changes, "ls $TANDEM_CACHE_DIR/*.bin", 0, NULL);
    memcpy(entries, r.output, sizeof entries);
    for (size_t i = 0; i <= sizeof damages / sizeof *damages; i++) {
        trying = i > 0 ? damages[i - 1] : "a second run";
        probe_gives(changes, "work", "opencl:0", "TDM_OK|opencl:0");
        gives_with(changes,
                   "find $TANDEM_CACHE_DIR -name '*.bin' -type f -perm 600 -user $(id -u) | sort",
                   0, NULL);
        CHECK(strcmp(r.output, entries) == 0, "%s\nnot\n%s", r.output, entries);
        if (i < sizeof damages / sizeof *damages)
            run_shell(changes,
                      formatted("for F in $TANDEM_CACHE_DIR/*.bin; do %s; done", damages[i]), 30,
                      &r);
    }
}

/* Two processes that fill one cache at once. */
Test(drivers, two_processes_one_cache) {
    const char *changes[] = {ICD_POCL, "TANDEM_CACHE_DIR=" TEST_SCRATCH "/kernels2", NULL};
    for (int i = 0; i < 2; i++) {
        run_shell(changes,
                  "rm -rf $TANDEM_CACHE_DIR; for i in 1 2 3; do " TEST_PROBE
                  " work opencl:0 & p=\"$p $!\"; done; for i in $p; do wait $i || exit 1; done",
                  240, &r);
        const int right = times("TDM_OK\n");
        CHECK(r.exit_status == 0 && right == 3, "%d of 3: %s", right, r.output);
    }
    run_shell(changes, "ls $TANDEM_CACHE_DIR | grep -vE '\\.bin$|^holders$'", 30, &r);
    CHECK(!r.output[0], "left there: %s", r.output);
}

/* A kernel was compiled, and the log has one warning that none is kept. */
static void is_not_kept(const char *words) {
    const char *warning = strstr(r.output, "nothing is kept");
    SAYS("TDM_OK");
    SAYS(words);
    CHECK(warning && !strstr(warning + 1, "nothing is kept"), "not once: %s", r.output);
}

/* A cache that cannot be written, or that others can write, costs time and not correctness; the
 * default place is $XDG_CACHE_HOME, then ~/.cache, and no shared temporary directory. */
Test(drivers, cache_places) {
    static char too_long[1200] = "TANDEM_CACHE_DIR=/tmp";
    for (size_t i = strlen(too_long); i < sizeof too_long - 1; i++)
        too_long[i] = i % 100 == 50 ? '/' : 'x';
    const char *const bad[] = {"TANDEM_CACHE_DIR=/proc/nothing/here", "TANDEM_CACHE_DIR=/dev/null",
                               "TANDEM_CACHE_DIR=" TEST_SCRATCH "/open", too_long};
    run_shell(NULL, "mkdir -p " TEST_SCRATCH "/open && chmod 777 " TEST_SCRATCH "/open", 30, &r);
    for (int i = 0; i < 4; i++) {
        const char *changes[] = {ICD_POCL, "TANDEM_LOG=warn", bad[i], NULL};
        probe_gives(changes, "work", "opencl:0", NULL);
        is_not_kept("warning: nothing is kept in /|: `tdm doctor` says why");
    }
    run_shell(NULL, "ls " TEST_SCRATCH "/open", 30, &r);
    CHECK(!r.output[0], "kept in a folder that others may write: %s", r.output);
    static const char *const words[] = {"no|cache directory|cannot be made",
                                        "no|cache directory|is not a directory",
                                        "no|cache directory|others may write there (mode 777)",
                                        "no|cache directory|cannot be made: File name too long"};
    for (int i = 0; i < 4; i++) {
        const char *changes[] = {ICD_NONE, bad[i], NULL};
        probe_gives(changes, "diagnose", NULL, words[i]);
    }
    const char *xdg[] = {ICD_POCL, "XDG_CACHE_HOME=" TEST_SCRATCH "/xdg", NULL};
    run_shell(xdg,
              "rm -rf " TEST_SCRATCH "/xdg " TEST_SCRATCH "/home; mkdir -p " TEST_SCRATCH
              "/xdg " TEST_SCRATCH "/home",
              30, &r);
    probe_gives(xdg, "work", "opencl:0", NULL);
    run_shell(xdg, "ls " TEST_SCRATCH "/xdg/tandem/*.bin", 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    const char *home[] = {ICD_POCL, "XDG_CACHE_HOME", "HOME=" TEST_SCRATCH "/home", NULL};
    probe_gives(home, "work", "opencl:0", NULL);
    run_shell(home, "ls $HOME/.cache/tandem/*.bin", 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    /* A relative path is ignored, and nothing is kept in the working directory. */
    const char *relative[] = {ICD_POCL, "XDG_CACHE_HOME=here", "HOME", NULL};
    run_shell(relative,
              "rm -rf " TEST_SCRATCH "/cwd && mkdir " TEST_SCRATCH "/cwd && cd " TEST_SCRATCH
              "/cwd && " TEST_PROBE " work opencl:0 && " TEST_PROBE " diagnose && ls -A",
              120, &r);
    SAYS("TDM_OK|no|XDG_CACHE_HOME|\"here\" is not an absolute path|"
         "cache directory|none: neither");
    run_shell(NULL, "ls -A " TEST_SCRATCH "/cwd", 30, &r);
    CHECK(!r.output[0], "kept in the working directory: %s", r.output);
    const char *nowhere[] = {ICD_POCL, "TANDEM_LOG=warn", "XDG_CACHE_HOME", "HOME", NULL};
    probe_gives(nowhere, "work", "opencl:0", NULL);
    is_not_kept("warning: nothing is kept: `tdm doctor` says why");
}
#endif
