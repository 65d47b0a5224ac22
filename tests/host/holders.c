/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes hold, which each writes to a file that the others read (lib/machine/holders.h). */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

TestSuite(holders, .init = random_start);

/* The offsets are those of lib/machine/holders.c. */
enum { HOLD = 64 << 20, PID_OFFSET = 16, MACHINE_OFFSET = 32 };

/* Each test has its own cache directory: they run at once. */
static char cache[512], cache_variable[600];
static const char *const holder_changes[] = {ICD_NONE, cache_variable, "TANDEM_CPU_DEVICES=2",
                                             NULL};

static void use_cache(const char *name) {
    umask(077); /* the library has to trust the test's files, whatever the user's umask */
    snprintf(cache, sizeof cache, "%s/holders-%s", TEST_SCRATCH, name);
    snprintf(cache_variable, sizeof cache_variable, "TANDEM_CACHE_DIR=%s", cache);
    run_shell(NULL, formatted("rm -rf '%s'", cache), 30, &r);
}

/* A shell command in the folder of the files. */
static void in_holders(const char *command) {
    run_shell(NULL, formatted("cd '%s/holders' && { %s; }", cache, command), 30, &r);
}

/* Starts a process that holds HOLD bytes on cpu:1 until it is killed, at most a minute; its pid. */
static long start_holder(const char *how) {
    run_shell(holder_changes,
              formatted("f=$TANDEM_CACHE_DIR.out; : > $f; '%s' %s cpu:1 %d > $f 2>&1 & p=$!; "
                        "for i in $(seq 900); do grep -q TDM_ $f && break; sleep 0.05; done; "
                        "grep -q TDM_OK $f && echo $p",
                        TEST_PROBE, how, HOLD),
              60, &r);
    long pid = strtol(r.output, NULL, 10);
    CHECK(pid > 1, "the holder did not start: %s", r.output);
    return pid;
}

static void stop_holder(long pid, const char *signal) {
    run_shell(
        NULL,
        formatted(
            "kill -%s %ld; while [ -d /proc/%ld ] && ! grep -q '^State:.Z' /proc/%ld/status; do "
            "sleep 0.02; done; true",
            signal, pid, pid, pid),
        30, &r);
}

/* Reads a device's usage in the holder's environment: `probe usage` prints it. */
static void ask(const char *device, const char *words) {
    probe_gives(holder_changes, "usage", device, "TDM_OK");
    if (words) SAYS(words);
}

static bool exists(const char *name) {
    char path[700];
    struct stat status;
    snprintf(path, sizeof path, "%s/holders/%s", cache, name);
    return lstat(path, &status) == 0;
}

/* A process that holds memory is seen by others, on its device alone; when it is killed nothing of
 * it is left after the next look. */
Test(holders, by_another_process) {
    char file[32];
    use_cache("another");
    long pid = start_holder("hold");
    snprintf(file, sizeof file, "%ld", pid);
    ask("cpu:1", formatted("tandem_reserved=%d;|process %ld memory=? tandem=%d name=probe;", HOLD,
                           pid, HOLD));
    CHECK(exists(file), "no file for %ld", pid);
    ask("cpu:0", "tandem_reserved=0;|process_count=0;");
    in_holders("stat -c %a .");
    CHECK(strcmp(r.output, "700\n") == 0, "mode %s", r.output);
#ifdef TEST_PROGRAM
    run_shell(holder_changes, "'" TEST_PROGRAM "' devices", 60, &r);
    SAYS(formatted("%ld | probe |64.0 MiB", pid));
#endif
    stop_holder(pid, "KILL");
    ask("cpu:1", "tandem_reserved=0;|process_count=0;");
    CHECK(!exists(file), "the file of a dead process was left");
}

/* A child of a fork does not touch its parent's file, nor does its end. */
Test(holders, after_fork) {
    use_cache("forked");
    long pid = start_holder("hold-fork");
    ask("cpu:1", NULL);
    SAYS(formatted("process_count=1;|process %ld memory=? tandem=%d", pid, HOLD));
    stop_holder(pid, "TERM");
}

/* The file goes with the last device, not before. */
Test(holders, until_released) {
    use_cache("released");
    const char *argv[] = {TEST_PROBE, "work", "cpu:0", NULL};
    run_program(holder_changes, argv, 60, &r);
    SAYS("TDM_OK");
    in_holders("ls -A");
    CHECK(r.exit_status == 0 && !r.output[0], "left there: %s", r.output);
}

/* The file of a process with other bytes at an offset, under the name of another pid. */
static void forge(long from, long to, size_t offset, const void *bytes, size_t size) {
    static char content[1 << 16];
    char path[700];
    snprintf(path, sizeof path, "%s/holders/%ld", cache, from);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(content, 1, sizeof content, file) : 0;
    if (file) fclose(file);
    CHECK(length > offset + size, "%s has %zu bytes", path, length);
    uint64_t pid = (uint64_t)to;
    memcpy(content + PID_OFFSET, &pid, sizeof pid);
    if (size > 0) memcpy(content + offset, bytes, size);
    snprintf(path, sizeof path, "%s/holders/%ld", cache, to);
    file = fopen(path, "wb");
    CHECK(file && fwrite(content, 1, length, file) == length, "cannot write %s", path);
    if (file) fclose(file);
}

/* Files that are not of a living process of ours are ignored, and only those of a process that ended
 * are removed. */
Test(holders, files_that_are_not_good) {
    use_cache("damaged");
    long pid = start_holder("hold");
    char own[32];
    snprintf(own, sizeof own, "%ld", (long)getpid());

    check_case("damaged and foreign files");
    /* Named after processes that cannot be: numbers past the largest pid (2^22). */
    in_holders(formatted(
        "s=$(stat -c %%s %ld) && f() { echo 20000000$1; } && : > $(f 11) && "
        "echo x > $(f 12) && head -c $s /dev/urandom > $(f 13) && "
        "head -c $s %ld > $(f 14) && head -c 40 %ld > $(f 15) && ln -s %ld $(f 16) && "
        "mkfifo $(f 17) && mkdir $(f 18) && cp %ld notes && cp %ld 019 && "
        "cp %ld $(f 19).0 && cp %ld $(f 20).99 && cp %ld $(f 21).1 && chmod 666 $(f 21).1",
        pid, pid, pid, pid, pid, pid, pid, pid, pid));
    CHECK(r.exit_status == 0, "%s", r.output);
    ask("cpu:1", "tandem_reserved=67108864;|process_count=1;");
    static const char *const left[] = {"11", "12", "13",   "14",    "15",  "16",
                                       "17", "18", "19.0", "20.99", "21.1"};
    for (int i = 0; i < 11; i++) {
        char name[32];
        snprintf(name, sizeof name, "20000000%s", left[i]);
        CHECK(exists(name), "%s was removed", name);
    }
    CHECK(exists("notes") && exists("019"), "what is named otherwise was removed");

    check_case("one that no process can judge goes after a month");
    in_holders("touch -d '32 days ago' 2000000011 2000000013; touch -d '25 days ago' 2000000012");
    ask("cpu:1", NULL);
    CHECK(!exists("2000000011") && !exists("2000000013"), "an old damaged file was left");
    CHECK(exists("2000000012"), "a damaged file of last week was removed");

    check_case("a pid that was given to another process");
    forge(pid, (long)getpid(), 0, NULL, 0);
    ask("cpu:1", "tandem_reserved=67108864;|process_count=1;");
    CHECK(!exists(own), "the file of a dead process was left");

    check_case("another machine, or another container, with the same cache directory");
    forge(pid, (long)getpid(), MACHINE_OFFSET, "elsewhere", 10);
    ask("cpu:1", "tandem_reserved=67108864;|process_count=1;");
    CHECK(exists(own), "the file of another machine was removed");
    stop_holder(pid, "KILL");
}

/* Without a place for the file, everything else works, and a process still knows its own. */
Test(holders, without_a_directory) {
    static const char *const bad[] = {"TANDEM_CACHE_DIR=/proc/nothing/here",
                                      "TANDEM_CACHE_DIR=/dev/null",
                                      "TANDEM_CACHE_DIR=" TEST_SCRATCH "/holders-open",
                                      "TANDEM_CACHE_DIR=" TEST_SCRATCH "/holders-file"};
    run_shell(NULL,
              "cd " TEST_SCRATCH " && mkdir -p holders-open && chmod 777 holders-open && "
              "mkdir -p holders-file && chmod 700 holders-file && : > holders-file/holders",
              30, &r);
    for (int i = 0; i < 4; i++) {
        const char *changes[] = {ICD_NONE, bad[i], NULL};
        const char *argv[] = {TEST_PROBE, "hold-and-ask", "cpu", "1048576", NULL};
        run_program(changes, argv, 60, &r);
        check_case("%s", bad[i]);
        CHECK(r.exit_status == 0 && contains_words(r.output, "TDM_OK|tandem_reserved=1048576;"),
              "%s", r.output);
#ifdef TEST_PROGRAM
        run_shell(changes, "'" TEST_PROGRAM "' devices", 60, &r);
        CHECK(r.exit_status == 0 && contains_words(r.output, "cpu:0"), "%s", r.output);
#endif
    }
    run_shell(NULL, "ls -A " TEST_SCRATCH "/holders-open", 30, &r);
    CHECK(!r.output[0], "kept in a folder that others may write: %s", r.output);
}

/* A file that is cut short under its process, or removed, does that process no harm: mapped, the
 * next allocation would be a signal. */
Test(holders, cut_short) {
    static const char *const harms[] = {": > %ld", "truncate -s 10 %ld", "rm %ld",
                                        "rm %ld && mkfifo %ld"};
    use_cache("cut");
    for (int i = 0; i < 4; i++) {
        char harm[64], command[512];
        long pid = start_holder("hold-again");
        snprintf(harm, sizeof harm, harms[i], pid, pid);
        check_case("%s", harm);
        /* It allocates every 10 ms and says so: three more times afterwards. */
        snprintf(
            command, sizeof command,
            "%s; o=../../holders-cut.out; n=$(grep -c again $o); "
            "for i in $(seq 500); do [ $(grep -c again $o) -ge $((n + 3)) ] && break; "
            "sleep 0.02; done; [ $(grep -c again $o) -ge $((n + 3)) ] && echo lives; rm -f %ld",
            harm, pid);
        in_holders(command);
        SAYS("lives");
        stop_holder(pid, "KILL");
    }
}

/* Files of ended processes go when a device is opened, too; those of other machines stay. However
 * many there are, few are looked at each time, so some openings later all are gone. */
Test(holders, old_files_go_when_a_device_is_opened) {
    enum { ENDED = 100, ELSEWHERE = 100, FIRST = 2000000000 };
    const char *argv[] = {TEST_PROBE, "work", "cpu:0", NULL};
    use_cache("ended");
    long pid = start_holder("hold");
    for (int i = 0; i < ELSEWHERE; i++)
        forge(pid, FIRST + i, MACHINE_OFFSET, "elsewhere", 10);
    for (int i = 0; i < ENDED; i++)
        forge(pid, FIRST + ELSEWHERE + i, 0, NULL, 0);
    int left = ENDED + ELSEWHERE, openings = 0;
    while (left > ELSEWHERE && openings < 100) {
        int before = left;
        run_program(holder_changes, argv, 60, &r);
        SAYS("TDM_OK");
        in_holders("ls | grep -c '^20000'");
        left = (int)strtol(r.output, NULL, 10);
        openings++;
        CHECK(before - left <= 32, "%d files were read when a device was opened", before - left);
    }
    CHECK(left == ELSEWHERE, "%d of %d are left after %d openings", left, ELSEWHERE, openings);
    CHECK(exists(formatted("%ld", pid)), "the file of a living process was removed");
    stop_holder(pid, "KILL");
}

/* Two copies of the library in one process: each has a file, and they are one process. */
Test(holders, two_copies_in_one_process) {
    use_cache("copies");
    run_shell(holder_changes,
              formatted("mkdir -p $TANDEM_CACHE_DIR && cp '%s' $TANDEM_CACHE_DIR/copy.so && "
                        "'%s' '%s' $TANDEM_CACHE_DIR/copy.so cpu:1",
                        TEST_LIBRARY, TEST_TWO_COPIES, TEST_LIBRARY),
              60, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    SAYS("both: first 96 second 96 processes 1;|"
         "the second closed: first 64 second 64 processes 1;|"
         "opened again: first 65 second 65 processes 1;|"
         "the first closed: first 1 second 1 processes 1;|"
         "all closed: first 0 second 0 processes 0;");
    in_holders("ls -A");
    CHECK(!r.output[0], "left there: %s", r.output);
}

/* A program that replaces itself holds none of its memory any more. */
Test(holders, after_exec) {
    use_cache("exec");
    long pid = start_holder("hold-exec");
    ask("cpu:1", NULL);
    SAYS(formatted("tandem_reserved=%d;|process_count=1;", HOLD));
    stop_holder(pid, "KILL");
    ask("cpu:1", NULL);
    in_holders("ls -A");
    CHECK(!r.output[0], "left there: %s", r.output);
}

/* A program that closes every descriptor and opens a file finds nothing of ours in it, and its memory
 * is reported all the same. */
Test(holders, after_descriptors_were_closed) {
    use_cache("closed");
    long pid = start_holder("hold-closed");
    ask("cpu:1", NULL);
    SAYS(formatted("tandem_reserved=%d;|process_count=1;", 2 * HOLD));
    in_holders("cat ../../holders-closed.out; find ../foreign -size +0");
    SAYS("foreign: 0 bytes");
    stop_holder(pid, "KILL");
}

/* A file that has our name but is of no process here stays; ours gets another name. */
Test(holders, a_name_that_is_taken) {
    use_cache("taken");
    run_shell(
        holder_changes,
        "mkdir -p -m 700 $TANDEM_CACHE_DIR/holders && echo x > $TANDEM_CACHE_DIR/holders/$$ && "
        "cat $TANDEM_CACHE_DIR/holders/$$ && exec '" TEST_PROBE "' hold-and-ask cpu:1 1048576",
        60, &r);
    SAYS("TDM_OK|tandem_reserved=1048576;|process_count=1;");
    in_holders("cat *");
    CHECK(strncmp(r.output, "x\n", 2) == 0, "%s", r.output);
}

/* A limit on the size of files is no reason to be ended by a signal. (Where executed lines are
 * counted the counts are not to be written, which would be one.) */
Test(holders, without_room_for_a_file) {
    use_cache("limit");
    run_shell(holder_changes,
              "ulimit -f 0; GCOV_PREFIX=/dev/null exec '" TEST_PROBE "' hold-and-ask cpu:1 1048576",
              60, &r);
    CHECK(r.exit_status == 0 && contains_words(r.output, "TDM_OK|tandem_reserved=1048576;"), "%s",
          r.output);
}
