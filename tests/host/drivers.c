/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Drivers that are missing or broken, processes that fork or end, caches. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(drivers, .init = random_start);

static run_result r;

static void probe(const char *const *changes, const char *command, const char *name) {
    const char *argv[] = {TEST_PROBE, command, name, NULL};
    check_case("probe %s %s, %s", command, name ? name : "", changes[0]);
    run_program(changes, argv, 120, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
}

/* No ICD at all: cpu is there, nothing fails, and the diagnosis says what is missing and what to
 * install instead of a raw -1001. */
Test(drivers, no_icd) {
    static const char *const folders[] = {"OCL_ICD_VENDORS=/nonexistent", ICD_NONE};
    for (int i = 0; i < 2; i++) {
        const char *changes[] = {folders[i], CACHE, NULL};
        probe(changes, "list", NULL);
        CHECK(contains_words(r.output, "TDM_OK|cpu:0|default: cpu:0"), "%s", r.output);
        CHECK(!contains_words(r.output, "opencl:"), "a device without a driver: %s", r.output);
        probe(changes, "work", "-");
        CHECK(contains_words(r.output, "TDM_OK|cpu:0"), "%s", r.output);
        probe(changes, "diagnose", NULL);
        CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
#if TEST_HAS_OPENCL
        CHECK(contains_words(r.output, "opencl|icd|install"), "%s", r.output);
#endif
        probe(changes, "find", "opencl:0");
        CHECK(strncmp(r.output, "TDM_ERROR_", 10) == 0, "%s", r.output);
#if TEST_HAS_OPENCL
        /* Words, and what to install; the driver's number alone is of no help. */
        CHECK(contains_words(r.output, "opencl|no OpenCL ICD is installed|pocl-opencl-icd"), "%s",
              r.output);
#endif
    }
}

#if TEST_HAS_OPENCL
/* A broken .icd before, and an empty one after, a good one hide nothing and are reported. */
Test(drivers, broken_icd) {
    const char *changes[] = {ICD_BROKEN, CACHE, NULL};
    probe(changes, "list", NULL);
    CHECK(contains_words(r.output, "TDM_OK|opencl:0|cpu:0"), "%s", r.output);
    probe(changes, "work", "opencl:0");
    CHECK(contains_words(r.output, "TDM_OK|opencl:0"), "%s", r.output);
    probe(changes, "diagnose", NULL);
    CHECK(contains_words(r.output, "aaa.icd|libbroken-icd.so"), "%s", r.output);
}

/* The order of the list is the same in every run (it came from a map keyed by pointers once). */
Test(drivers, order_is_deterministic) {
    const char *changes[] = {ICD_POCL, CACHE, "POCL_DEVICES=pthread basic pthread",
                             "TANDEM_CPU_DEVICES=3", NULL};
    char first[sizeof r.output] = "";
    for (int i = 0; i < 6; i++) {
        probe(changes, "list", NULL);
        if (i == 0) memcpy(first, r.output, sizeof first);
        CHECK(contains_words(r.output, "opencl:2|cpu:2"), "%s", r.output);
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
        probe(changes, "fork", devices[i]);
        int forked = 0;
        for (const char *at = r.output; (at = strstr(at, "TDM_ERROR_FORKED\n")); at++)
            forked++;
        CHECK(forked == 11, "%d of 11 calls said so: %s", forked, r.output);
        CHECK(contains_words(r.output, "child ends|parent:"), "%s", r.output);
        const char *parent = strstr(r.output, "parent:\nTDM_OK");
        CHECK(parent, "the parent was harmed: %s", r.output);
    }
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    probe(changes, "fork-first", NULL);
    const char *once = strstr(r.output, "TDM_OK\ncpu:0\n");
    CHECK(once && strstr(once + 1, "TDM_OK\ncpu:0\n"), "%s", r.output);
}

/* Ending without giving anything back, and while another thread works, does not crash or hang. */
Test(drivers, ending) {
    static const char *const devices[] = {"cpu", "opencl:0"};
    for (int i = 0; i < 1 + TEST_HAS_OPENCL; i++) {
        const char *changes[] = {ICD_POCL, CACHE, NULL};
        probe(changes, "exit", devices[i]);
        CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
        /* whether the end comes in the middle of a product is chance */
        for (int turn = 0; turn < (i == 0 ? 20 : 1); turn++) {
            probe(changes, "thread", devices[i]);
            CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
        }
        /* a program that joins its threads at its end is not kept from that */
        probe(changes, "join", devices[i]);
        CHECK(contains_words(r.output, "TDM_OK") && !strstr(r.output, "wrong"), "%s", r.output);
    }
}

#if TEST_HAS_OPENCL
static int count_lines_of_opencl(void) {
    int count = 0;
    for (const char *at = r.output; (at = strstr(at, "\nopencl:")); at++)
        count++;
    return count;
}

/* A driver that two .icd files name has each device once. */
Test(drivers, one_driver_in_two_files) {
    static const char *const changes[] = {"OCL_ICD_VENDORS=" TEST_SCRATCH "/twice", CACHE, NULL};
    probe((const char *[]){ICD_POCL, CACHE, NULL}, "list", NULL);
    const int wanted = count_lines_of_opencl();
    run_shell(changes,
              "rm -rf $OCL_ICD_VENDORS && mkdir $OCL_ICD_VENDORS && for i in 1 2 3; do "
              "cp " TEST_ICD_POCL "/*.icd $OCL_ICD_VENDORS/$i.icd; done",
              10, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    probe(changes, "list", NULL);
    CHECK(wanted > 0 && count_lines_of_opencl() == wanted, "not %d: %s", wanted, r.output);
    probe(changes, "diagnose", NULL);
    CHECK(contains_words(r.output, "listed before"), "%s", r.output);
}

#define FOLDER TEST_SCRATCH "/kernels"

static const char *cache_folder = FOLDER;

/* Calls f for every entry of the kernel cache; the number of entries. */
static int each_entry(void (*f)(const char *path)) {
    int count = 0;
    DIR *folder = opendir(cache_folder);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[1024];
        if (!strstr(e->d_name, ".bin")) continue; /* the folder of the files on processes' memory */
        snprintf(path, sizeof path, "%s/%s", cache_folder, e->d_name);
        count++;
        if (f) f(path);
    }
    if (folder) closedir(folder);
    return count;
}

static void make_garbage(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fputs("this is no kernel", file);
    fclose(file);
}

static void make_empty(const char *path) {
    FILE *file = fopen(path, "wb");
    if (file) fclose(file);
}

static void cut_in_half(const char *path) {
    struct stat s;
    if (stat(path, &s) == 0 && truncate(path, s.st_size / 2) != 0) perror(path);
}

/* One byte in the middle: the length is right, the content is not. */
static void flip_a_byte(const char *path) {
    struct stat s;
    unsigned char byte = 0;
    int file = open(path, O_RDWR);
    if (file < 0) return;
    if (fstat(file, &s) == 0 && pread(file, &byte, 1, s.st_size * 2 / 3) == 1) {
        byte ^= 0x40;
        if (pwrite(file, &byte, 1, s.st_size * 2 / 3) != 1) perror(path);
    }
    close(file);
}

/* The kernel cache: mode 0700, filled, used again; corrupt entries are rebuilt, whatever is wrong
 * with them; nothing is left half-written. */
Test(drivers, kernel_cache) {
    const char *changes[] = {ICD_POCL, "TANDEM_CACHE_DIR=" FOLDER, NULL};
    run_shell(changes, "rm -rf " FOLDER, 30, &r);
    probe(changes, "work", "opencl:0");
    CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
    struct stat s;
    CHECK(stat(FOLDER, &s) == 0 && (s.st_mode & 0777) == 0700, "mode %o, not 0700",
          s.st_mode & 0777);
    int entries = each_entry(NULL);
    CHECK(entries > 0, "nothing was kept");
    probe(changes, "work", "opencl:0");
    CHECK(each_entry(NULL) == entries, "the second run kept other entries");
    static void (*const damages[])(const char *) = {make_garbage, make_empty, cut_in_half,
                                                    flip_a_byte};
    for (int i = 0; i < 4; i++) {
        check_case("damage %d", i);
        each_entry(damages[i]);
        probe(changes, "work", "opencl:0");
        CHECK(contains_words(r.output, "TDM_OK|opencl:0"), "damage %d: %s", i, r.output);
        CHECK(each_entry(NULL) == entries, "damage %d: other entries than before", i);
    }
    check_case("rebuilt entries are good");
    probe(changes, "work", "opencl:0");
    CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
}

static void make_pipe(const char *path) {
    if (unlink(path) != 0 || mkfifo(path, 0600) != 0) perror(path);
}

static void let_others_write(const char *path) {
    if (chmod(path, 0666) != 0) perror(path);
}

/* To the good entry under another name. */
static void make_link(const char *path) {
    static int count;
    char other[1100];
    snprintf(other, sizeof other, "%s/elsewhere-%d", cache_folder, count++);
    if (rename(path, other) != 0 || symlink(other, path) != 0) perror(path);
}

/* Only root can do so; for others the entry stays good, and the test holds all the same. */
static void give_away(const char *path) {
    if (chown(path, 65534, (gid_t)-1) != 0 && geteuid() == 0) perror(path);
}

static int untrusted;

static void count_untrusted(const char *path) {
    struct stat s;
    untrusted += lstat(path, &s) != 0 || !S_ISREG(s.st_mode) || (s.st_mode & 0777) != 0600 ||
                 s.st_uid != geteuid();
}

/* An entry that another user may have written is not trusted, whatever it holds, and the
 * library does not wait for one that is no plain file: a good one takes its place. */
Test(drivers, kernel_cache_that_others_wrote) {
    const char *changes[] = {ICD_POCL, "TANDEM_CACHE_DIR=" FOLDER "3", NULL};
    cache_folder = FOLDER "3";
    static void (*const damages[])(const char *) = {make_pipe, let_others_write, give_away,
                                                    make_link};
    static const char *const names[] = {"pipes", "mode 666", "another owner", "links"};
    for (int i = 0; i < 4; i++) {
        check_case("%s", names[i]);
        run_shell(changes, "rm -rf " FOLDER "3", 30, &r);
        probe(changes, "work", "opencl:0");
        CHECK(each_entry(damages[i]) > 0, "nothing was kept: %s", r.output);
        probe(changes, "work", "opencl:0");
        CHECK(contains_words(r.output, "TDM_OK|opencl:0"), "%s", r.output);
        untrusted = 0;
        CHECK(each_entry(count_untrusted) > 0 && untrusted == 0, "%d entries were believed",
              untrusted);
    }
}

/* Two processes that fill one cache at once. */
Test(drivers, two_processes_one_cache) {
    const char *changes[] = {ICD_POCL, "TANDEM_CACHE_DIR=" FOLDER "2", NULL};
    for (int i = 0; i < 2; i++) {
        run_shell(changes,
                  "rm -rf " FOLDER "2; for i in 1 2 3; do " TEST_PROBE
                  " work opencl:0 & p=\"$p $!\"; done; for i in $p; do wait $i || exit 1; done",
                  240, &r);
        int right = 0;
        for (const char *at = r.output; (at = strstr(at, "TDM_OK\n")); at++)
            right++;
        CHECK(r.exit_status == 0 && right == 3, "%d of 3: %s", right, r.output);
    }
    run_shell(changes, "ls " FOLDER "2 | grep -vE '\\.bin$|^holders$'", 30, &r);
    CHECK(!r.output[0], "left there: %s", r.output);
}

/* A kernel was compiled, and the log has one warning that none is kept. */
static void is_not_kept(const char *words) {
    const char *warning = strstr(r.output, "nothing is kept");
    CHECK(contains_words(r.output, "TDM_OK"), "%s: %s", words, r.output);
    CHECK(contains_words(r.output, words), "no \"%s\" in: %s", words, r.output);
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
        probe(changes, "work", "opencl:0");
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
        probe(changes, "diagnose", NULL);
        CHECK(contains_words(r.output, words[i]), "%s: %s", bad[i], r.output);
    }
    const char *xdg[] = {ICD_POCL, "XDG_CACHE_HOME=" TEST_SCRATCH "/xdg", NULL};
    run_shell(xdg,
              "rm -rf " TEST_SCRATCH "/xdg " TEST_SCRATCH "/home; mkdir -p " TEST_SCRATCH
              "/xdg " TEST_SCRATCH "/home",
              30, &r);
    probe(xdg, "work", "opencl:0");
    run_shell(xdg, "ls " TEST_SCRATCH "/xdg/tandem/*.bin", 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    const char *home[] = {ICD_POCL, "XDG_CACHE_HOME", "HOME=" TEST_SCRATCH "/home", NULL};
    probe(home, "work", "opencl:0");
    run_shell(home, "ls $HOME/.cache/tandem/*.bin", 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    /* A relative path is ignored, and nothing is kept in the working directory. */
    const char *relative[] = {ICD_POCL, "XDG_CACHE_HOME=here", "HOME", NULL};
    run_shell(relative,
              "rm -rf " TEST_SCRATCH "/cwd && mkdir " TEST_SCRATCH "/cwd && cd " TEST_SCRATCH
              "/cwd && " TEST_PROBE " work opencl:0 && " TEST_PROBE " diagnose && ls -A",
              120, &r);
    CHECK(contains_words(r.output, "TDM_OK|no|XDG_CACHE_HOME|\"here\" is not an absolute path|"
                                   "cache directory|none: neither"),
          "%s", r.output);
    run_shell(NULL, "ls -A " TEST_SCRATCH "/cwd", 30, &r);
    CHECK(!r.output[0], "kept in the working directory: %s", r.output);
    const char *nowhere[] = {ICD_POCL, "TANDEM_LOG=warn", "XDG_CACHE_HOME", "HOME", NULL};
    probe(nowhere, "work", "opencl:0");
    is_not_kept("warning: nothing is kept: `tdm doctor` says why");
}
#endif
