/* What devices are doing: the figures of NVIDIA's library, from a stand-in, and what the processes
 * hold, from each other. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(usage, .init = random_start);

static run_result r;

#if TEST_HAS_CUDA
#define CARD_0 "000102030405060708090a0b0c0d0e0f"
#define CARD_1 "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define SLICE "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
#define NOBODY "0123456789abcdef0123456789abcdef"
#define NOTHING "utilization=?;|temperature=?;|power=?;|power_limit=?;"

/* Lists a card (the arguments of usage_probe) beside a stand-in; the output must have `words`. */
static void card(const char *sim, const char *mode, const char *arguments, const char *words) {
    char folder[512], variable[64], command[1024];
    snprintf(folder, sizeof folder, "TANDEM_LIBRARY_PATH=%s/%s", TEST_NVML_SIM, sim);
    snprintf(variable, sizeof variable, "NVML_SIM=%s", mode);
    snprintf(command, sizeof command, "'%s' %s", TEST_USAGE_PROBE, arguments);
    const char *changes[] = {ICD_NONE, CACHE, folder, variable, NULL};
    check_case("%s (%s): %s", sim, mode, arguments);
    run_shell(changes, command, 60, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    CHECK(contains_words(r.output, words), "'%s' lacks one of '%s'", r.output, words);
}

/* Every figure of a card, found by its UUID, else by its address, by nothing else; what it does not
 * tell is unknown, whatever the library left in the output. */
Test(usage, nvml_figures) {
    static const char all[] = "known: 1|memory_used=21474836480;|memory_total=85899345920;|"
                              "utilization=73;|temperature=64;|power=312500;|power_limit=700000;|"
                              "process_count=2;";
    card("full", "", "GPU " CARD_0 " -", all);
    card("full", "", "GPU " CARD_0 " 0000:3b:00.0", all);
    card("full", "", "GPU - 0000:3b:00.0", all);
    card("full", "", "GPU " NOBODY " 0000:3b:00.0", all);
    check_case("the card that has the UUID, not the one that has the address");
    card("full", "", "GPU " CARD_1 " 0000:3b:00.0",
         "known: 1|memory_used=1073741824;|memory_total=25769803776;|process_count=0;|" NOTHING);
    card("full", "", "GPU " NOBODY " 0000:00:00.0",
         "known: 0|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    card("full", "", "GPU - -", "known: 0|memory_used=?;|" NOTHING);
}

/* A slice has memory and processes of its own, and never the figures of its card. */
Test(usage, nvml_slices) {
    static const char own[] = "known: 1|memory_used=2147483648;|memory_total=10737418240;|"
                              "process_count=1;|" NOTHING;
    card("full", "", "MIG " SLICE " 0000:3b:00.0", own);
    /* OpenCL does not say that it lists a slice. */
    card("full", "", "GPU " SLICE " 0000:3b:00.0", own);
    card("full", "", "MIG " NOBODY " 0000:3b:00.0", "memory_used=?;|memory_total=1000;|" NOTHING);
}

/* The driver's processes and those that hold memory through Tandem are one list, by pid. */
Test(usage, nvml_processes) {
    card("full", "", "GPU " CARD_0 " -",
         "memory=3221225472 tandem=? name=usage_probe;|"
         "process 900001 memory=? tandem=? name=;");
    card("full", "", "GPU " CARD_0 " - 4096",
         "tandem_reserved=4096;|process_count=2;|process self |memory=3221225472 tandem=4096|"
         "process 900001 memory=? tandem=? name=;");
    card("full", "many", "GPU " CARD_0 " -", "process_count=32;|process 900031 ");
    check_case("one of Tandem's is told before others");
    card("full", "many", "GPU " CARD_0 " - 4096",
         "process_count=32;|process self |memory=? tandem=4096 name=usage_probe;");
    CHECK(!contains_words(r.output, "process 900031 "), "%s", r.output);
}

/* Functions that are missing, a library that does not start or is none, a card that is lost:
 * numbers that are unknown, never a failure. */
Test(usage, nvml_failures) {
    card("old", "", "GPU " CARD_0 " -",
         "known: 1|memory_used=21474836480;|utilization=73;|temperature=?;|power=312500;|"
         "power_limit=?;|process_count=2;");
    card("full", "lost", "GPU " CARD_0 " -",
         "known: 1|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    card("full", "init", "GPU " CARD_0 " 0000:3b:00.0",
         "known: 0|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    card("foreign", "", "GPU " CARD_0 " -", "known: 0|memory_used=?;|" NOTHING);
    card("full", "init", "GPU " CARD_0 " - 4096", "tandem_reserved=4096;|process self ");
}

/* The diagnosis has the library, where it was found, and why it is of no use. */
Test(usage, nvml_diagnosis) {
    static const struct {
        const char *sim, *mode, *words;
    } cases[] = {{"full", "", "|ok|libnvidia-ml.so.1"},
                 {"full", "init", "|no|libnvidia-ml.so.1|Driver Not Loaded|install"},
                 {"foreign", "", "|no|libnvidia-ml.so.1|nvmlInit_v2"}};
    for (int i = 0; i < 3; i++) {
        char folder[512], variable[64];
        const char *argv[] = {TEST_PROBE, "diagnose", NULL};
        const char *changes[] = {ICD_NONE, CACHE, folder, variable, "TANDEM_BACKEND=cpu", NULL};
        snprintf(folder, sizeof folder, "TANDEM_LIBRARY_PATH=%s/%s", TEST_NVML_SIM, cases[i].sim);
        snprintf(variable, sizeof variable, "NVML_SIM=%s", cases[i].mode);
        run_program(changes, argv, 60, &r);
        check_case("%s (%s)", cases[i].sim, cases[i].mode);
        const char *line = strstr(r.output, "libnvidia-ml.so.1 (");
        CHECK(line != NULL, "not told: %s", r.output);
        CHECK(line && strncmp(line - 3, i == 0 ? "ok|" : "no|", 3) == 0, "%s", r.output);
        CHECK(contains_words(r.output, cases[i].words), "%s", r.output);
    }
}
#endif

/* --- what processes hold ------------------------------------------------------------------------
 */

enum { HOLD = 64 << 20, PID_OFFSET = 16, MACHINE_OFFSET = 32 }; /* in the file: lib/held.c */

/* Each test has a cache directory of its own: they run at once. */
static char cache[512], cache_variable[600];
static const char *const held_changes[] = {ICD_NONE, cache_variable, "TANDEM_CPU_DEVICES=2", NULL};

static void use_cache(const char *name) {
    char command[600];
    snprintf(cache, sizeof cache, "%s/held-%s", TEST_SCRATCH, name);
    snprintf(cache_variable, sizeof cache_variable, "TANDEM_CACHE_DIR=%s", cache);
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    run_shell(NULL, command, 30, &r);
}

/* A shell command in the folder of the files. */
static void in_held(const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "cd '%s/held' && { %s; }", cache, command);
    run_shell(NULL, line, 30, &r);
}

/* Starts a process that holds HOLD bytes on cpu:1 until it is killed, at most a minute; its pid. */
static long start_holder(const char *how) {
    char command[1024];
    snprintf(command, sizeof command,
             "f=$TANDEM_CACHE_DIR.out; rm -f $f; '%s' %s cpu:1 %d > $f 2>&1 & p=$!; "
             "for i in $(seq 200); do grep -q TDM_ $f && break; sleep 0.05; done; "
             "grep -q TDM_OK $f && echo $p",
             TEST_PROBE, how, HOLD);
    run_shell(held_changes, command, 60, &r);
    long pid = strtol(r.output, NULL, 10);
    CHECK(pid > 1, "the holder did not start: %s", r.output);
    return pid;
}

static void stop_holder(long pid, const char *signal) {
    char command[128];
    snprintf(command, sizeof command,
             "kill -%s %ld; while [ -d /proc/%ld ] && ! grep -q '^State:.Z' /proc/%ld/status; do "
             "sleep 0.02; done; true",
             signal, pid, pid, pid);
    run_shell(NULL, command, 30, &r);
}

/* What this process hears of cpu:1 in another's environment: `probe usage` prints it. */
static void ask(const char *device) {
    const char *argv[] = {TEST_PROBE, "usage", device, NULL};
    run_program(held_changes, argv, 60, &r);
    CHECK(r.exit_status == 0 && contains_words(r.output, "TDM_OK"), "%s", r.output);
}

static bool exists(const char *name) {
    char path[700];
    struct stat status;
    snprintf(path, sizeof path, "%s/held/%s", cache, name);
    return lstat(path, &status) == 0;
}

/* A process that holds memory is seen by others, on its device alone; when it is killed nothing of
 * it is left after the next look. */
Test(usage, held_by_another_process) {
    char line[128], file[32];
    use_cache("another");
    long pid = start_holder("hold");
    snprintf(file, sizeof file, "%ld", pid);
    snprintf(line, sizeof line, "tandem_reserved=%d;|process %ld memory=? tandem=%d name=probe;",
             HOLD, pid, HOLD);
    ask("cpu:1");
    CHECK(contains_words(r.output, line), "'%s' lacks one of '%s'", r.output, line);
    CHECK(exists(file), "no file for %ld", pid);
    ask("cpu:0");
    CHECK(contains_words(r.output, "tandem_reserved=0;|process_count=0;"), "%s", r.output);
    in_held("stat -c %a .");
    CHECK(strcmp(r.output, "700\n") == 0, "mode %s", r.output);
#ifdef TEST_PROGRAM
    run_shell(held_changes, "'" TEST_PROGRAM "' devices", 60, &r);
    snprintf(line, sizeof line, "%ld | probe |64.0 MiB", pid);
    CHECK(contains_words(r.output, line), "%s", r.output);
#endif
    stop_holder(pid, "KILL");
    ask("cpu:1");
    CHECK(contains_words(r.output, "tandem_reserved=0;|process_count=0;"), "%s", r.output);
    CHECK(!exists(file), "the file of a dead process was left");
}

/* A child of a fork does not touch its parent's file, nor does its end. */
Test(usage, held_after_fork) {
    char line[128];
    use_cache("forked");
    long pid = start_holder("hold-fork");
    ask("cpu:1");
    snprintf(line, sizeof line, "process_count=1;|process %ld memory=? tandem=%d", pid, HOLD);
    CHECK(contains_words(r.output, line), "'%s' lacks one of '%s'", r.output, line);
    stop_holder(pid, "TERM");
}

/* The file goes with the last device, not before. */
Test(usage, held_until_released) {
    use_cache("released");
    const char *argv[] = {TEST_PROBE, "work", "cpu:0", NULL};
    run_program(held_changes, argv, 60, &r);
    CHECK(contains_words(r.output, "TDM_OK"), "%s", r.output);
    in_held("ls -A");
    CHECK(r.exit_status == 0 && !r.output[0], "left behind: %s", r.output);
}

/* The file of a process with other bytes at an offset, under the name of another pid. */
static void forge(long from, long to, size_t offset, const void *bytes, size_t size) {
    static char content[1 << 16];
    char path[700];
    snprintf(path, sizeof path, "%s/held/%ld", cache, from);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(content, 1, sizeof content, file) : 0;
    if (file) fclose(file);
    CHECK(length > offset + size, "%s has %zu bytes", path, length);
    uint64_t pid = (uint64_t)to;
    memcpy(content + PID_OFFSET, &pid, sizeof pid);
    if (size > 0) memcpy(content + offset, bytes, size);
    snprintf(path, sizeof path, "%s/held/%ld", cache, to);
    file = fopen(path, "wb");
    CHECK(file && fwrite(content, 1, length, file) == length, "cannot write %s", path);
    if (file) fclose(file);
}

/* What is no file of a living process of ours is ignored, and only what was left by a process that
 * ended is removed. */
Test(usage, held_files_that_are_not_good) {
    use_cache("damaged");
    long pid = start_holder("hold");
    char own[32], command[1024];
    snprintf(own, sizeof own, "%ld", (long)getpid());

    check_case("damaged and foreign files");
    snprintf(command, sizeof command,
             "s=$(stat -c %%s %ld) && : > 11 && echo x > 12 && "
             "head -c $s /dev/urandom > 13 && head -c $s %ld > 14 && head -c 40 %ld > 15 && "
             "ln -s %ld 16 && mkfifo 17 && mkdir 18 && cp %ld notes && cp %ld 019",
             pid, pid, pid, pid, pid, pid);
    in_held(command);
    CHECK(r.exit_status == 0, "%s", r.output);
    ask("cpu:1");
    CHECK(contains_words(r.output, "tandem_reserved=67108864;|process_count=1;"), "%s", r.output);
    static const char *const left[] = {"11", "12", "13", "14", "15", "16", "17", "18", "notes"};
    for (int i = 0; i < 9; i++)
        CHECK(exists(left[i]), "%s was removed", left[i]);

    check_case("a pid that was given to another process");
    forge(pid, (long)getpid(), 0, NULL, 0);
    ask("cpu:1");
    CHECK(contains_words(r.output, "tandem_reserved=67108864;|process_count=1;"), "%s", r.output);
    CHECK(!exists(own), "the file of a dead process was left");

    check_case("another machine, or another container, with the same cache directory");
    forge(pid, (long)getpid(), MACHINE_OFFSET, "elsewhere", 10);
    ask("cpu:1");
    CHECK(contains_words(r.output, "tandem_reserved=67108864;|process_count=1;"), "%s", r.output);
    CHECK(exists(own), "the file of another machine was removed");
    stop_holder(pid, "KILL");
}

/* Without a place for the file, everything else works, and a process still knows its own. */
Test(usage, held_without_a_directory) {
    static const char *const bad[] = {"TANDEM_CACHE_DIR=/proc/nothing/here",
                                      "TANDEM_CACHE_DIR=/dev/null",
                                      "TANDEM_CACHE_DIR=" TEST_SCRATCH "/held-open",
                                      "TANDEM_CACHE_DIR=" TEST_SCRATCH "/held-file"};
    run_shell(NULL,
              "cd " TEST_SCRATCH " && mkdir -p held-open && chmod 777 held-open && "
              "mkdir -p held-file && chmod 700 held-file && : > held-file/held",
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
    run_shell(NULL, "ls -A " TEST_SCRATCH "/held-open", 30, &r);
    CHECK(!r.output[0], "kept in a folder that others may write: %s", r.output);
}
