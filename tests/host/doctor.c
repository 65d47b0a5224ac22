/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Drivers that crash, hang, exit or talk nonsense, which the real ICD loader opens: `tdm doctor`
 * and `tdm devices` name them, and the library survives all that do not end the process. */
#ifdef TEST_ICD_SIM
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shell.h"

#define SIM TEST_ICD_SIM "/lib"
/* for drivers that go on after a time limit: long enough for a busy machine, short enough for a
 * test */
#define LIMIT "--timeout 2"

/* Each test is a separate process, and others run at the same time: $D is the folder of this one. */
static char vendors[340], temporary[340];
static const char *changed; /* one more variable, or NULL */

static void start(void) {
    shell_start("doctor");
    snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=%s/icd", folder + 2);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s/tmp", folder + 2);
    shell("mkdir $D/icd $D/tmp");
}

TestSuite(doctor, .init = start, .fini = shell_stop);

/* The only driver is the one that misbehaves so. */
static void install_sim(const char *behaviour) {
    trying = behaviour;
    shell(formatted("rm -rf $D/icd/*; echo " SIM "%s.so > $D/icd/sim.icd", behaviour));
}

/* Runs the program with these drivers, without CUDA, and with a folder for temporary files that it
 * has to leave empty. */
static void tdm(const char *arguments, int status, const char *words) {
    const char *changes[] = {vendors, "TANDEM_BACKEND=opencl,cpu", temporary, cache, changed, NULL};
    const char *look[] = {folder, NULL};
    static run_result left;
    gives_with(changes, formatted(TEST_PROGRAM " %s", arguments), status, words);
    run_shell(look, "ls -A $D/tmp", 30, &left);
    CHECK(!left.output[0], "tdm %s left %s", arguments, left.output);
}

/* The doctor with that driver, which is at fault. In the short time that it has, no compiler is started for cpu. */
static void examine(const char *behaviour, bool judges) {
    install_sim(behaviour);
    changed = "TANDEM_CPU_COMPILER=none";
    tdm(judges ? "doctor " LIMIT : "doctor --quick " LIMIT, 1, NULL);
    changed = NULL;
}

/* Does one line, with those that are indented below it, hold all the words? */
static bool has_item(const char *mark, const char *words) {
    static char item[sizeof r.output];
    for (const char *at = r.output; (at = strstr(at, mark)); at++) {
        const char *end = strchr(at, '\n');
        while (end && strncmp(end, "\n       ", 8) == 0)
            end = strchr(end + 1, '\n');
        snprintf(item, sizeof item, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
        if (contains_words(item, words)) return true;
    }
    return false;
}

static void has_no_control_bytes(void) {
    for (const char *c = r.output; *c; c++)
        CHECK(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f), "byte %d: %s",
              (unsigned char)*c, r.output);
    CHECK(!strstr(r.output, "\xc2\x9b") && !strchr(r.output, '\xff'), "%s", r.output);
}

/* The doctor reports a driver that ends or holds up the process with the file, the library, what it
 * did and when. */
Test(doctor, drivers_that_end_the_process) {
    static const struct {
        const char *behaviour, *words;
    } cases[] = {
        {"list_abort",
         "SIGABRT|listing the devices|last words: \"?[31mcannot open the topology?\""},
        {"list_segv", "SIGSEGV|listing the devices"},
        {"list_hang", "no answer for 2 seconds|listing the devices"},
        {"list_exit", "exit(0)|listing the devices"},
        {"list_answer", "not understood|listing the devices"},
        {"list_flood", "no answer for 2 seconds|garbage"},
        {"platforms_1e9", "listing the devices"},
        {"end_segv", "SIGSEGV|its process ended"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *behaviour = cases[i].behaviour;
        examine(behaviour, false);
        CHECK(has_item("[!!]", formatted("/sim.icd|lib%s.so|advice|%s", behaviour, cases[i].words)),
              "not named: %s", r.output);
        CHECK(has_item("[ok] cpu:0", "results are right; products by"), "cpu:0 suffered: %s",
              r.output);
        SAYS("Default device: cpu:0");
        has_no_control_bytes();
    }
}

/* The same for faults of a device that is opened, compiled for, run or read. */
Test(doctor, drivers_that_fail_at_work) {
    static const struct {
        const char *behaviour, *words;
    } cases[] = {
        {"build_abort", "SIGABRT|compiling a kernel|LLVM ERROR: inline asm"},
        {"build_segv", "SIGSEGV|compiling a kernel"},
        {"build_hang", "no answer for 2 seconds|compiling a kernel"},
        {"build_exit", "exit(3)|compiling a kernel"},
        {"finish_hang", "no answer for 2 seconds|running a kernel"},
        {"silent", "results are wrong|row 0, column 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *behaviour = cases[i].behaviour;
        char words[512];
        examine(behaviour, true);
        snprintf(words, sizeof words,
                 "opencl:0|simulated device|simulated platform|7.1|/sim.icd|lib%s.so|advice|%s",
                 behaviour, cases[i].words);
        CHECK(has_item("[!!]", words), "not named: %s", r.output);
        CHECK(has_item("[ok]", "/sim.icd|simulated platform|OpenCL 1.2 simulated 7.1|1 device"),
              "the version is not reported: %s", r.output);
        CHECK(has_item("[ok] cpu:0", "results are right"), "cpu:0 suffered: %s", r.output);
    }
}

/* Drivers that list nothing that can be used. */
Test(doctor, drivers_without_devices) {
    static const struct {
        const char *behaviour, *words;
    } cases[] = {
        {"no_platform", "which gives no device"},
        {"no_device", "simulated platform|has no devices"},
        {"devices_1e9", "simulated platform|1000000000 devices"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *behaviour = cases[i].behaviour;
        examine(behaviour, false);
        CHECK(has_item("[!!]", formatted("/sim.icd|lib%s.so|advice|%s", behaviour, cases[i].words)),
              "not named: %s", r.output);
        /* and no harm to the library, which lists the rest */
        tdm("devices", 0, "opencl 0, cpu 1|cpu:0 *");
    }
}

/* Texts of drivers end up in terminals and in JSON, so that their bytes matter. */
Test(doctor, control_bytes) {
    static const char *const commands[] = {"doctor", "devices", "devices --json", "doctor --json"};
    install_sim("control");
    for (int i = 0; i < 4; i++) {
        tdm(commands[i], strncmp(commands[i], "doctor", 6) == 0 ? 1 : 0, "simulated device?[31m");
        has_no_control_bytes();
        if (!strstr(commands[i], "json")) continue;
        json_error_t error;
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
        CHECK(root, "no JSON: %s in %s", error.text, r.output);
        json_decref(root);
    }
    const char *changes[] = {vendors, cache, NULL};
    const char *probe[] = {TEST_PROBE, "list", NULL};
    run_program(changes, probe, 60, &r);
    SAYS("opencl:0");
    has_no_control_bytes();
    /* a variable that is refused is reported with its value */
    const char *odd[] = {vendors, "TANDEM_DEVICE=\033[31m\xff", NULL};
    const char *program[] = {TEST_PROGRAM, "doctor", NULL};
    run_program(odd, program, 60, &r);
    CHECK(r.exit_status == 1 && contains_words(r.output, "TANDEM_DEVICE|?[31m?"), "%s", r.output);
    has_no_control_bytes();
    /* a name of 1e18 bytes is none */
    install_sim("name_1e18");
    tdm("doctor", 1, NULL);
    CHECK(has_item("[!!] opencl:0", "a device without a name"), "%s", r.output);
}

/* Files named .icd that are no such file, or name no driver. */
Test(doctor, files_that_are_no_drivers) {
    static const struct {
        const char *make, *words;
        bool is_harmless; /* to the ICD loader */
    } cases[] = {
        {"mkfifo x.icd", "FIFO", false},
        {"mkfifo y; ln -s y x.icd", "FIFO", false},
        {"mkdir x.icd", "folder", true},
        {": > x.icd", "is empty", true},
        {"echo > x.icd", "is empty", true},
        {"ln -s nowhere x.icd", "cannot be read", true},
        {"ln -s x.icd x.icd", "cannot be read", true},
        {"printf '%s\\r\\n' libm.so.6 > x.icd", "names libm.so.6|CR LF|LF alone", true},
        {"echo /nonexistent/libx.so > x.icd", "/nonexistent/libx.so|does not open", true},
        {"echo libm.so.6 > x.icd",
         "libm.so.6|is not an OpenCL driver|clGetExtensionFunctionAddress", true},
        {"echo /etc/passwd > x.icd", "/etc/passwd|does not open", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        trying = cases[i].make;
        shell(formatted("rm -rf $D/icd/*; cd $D/icd && %s", trying));
        tdm("doctor --quick " LIMIT, 1, NULL);
        CHECK(has_item("[!!]", "x.icd|advice") && has_item("[!!]", cases[i].words), "not named: %s",
              r.output);
        /* No program hangs, even without a child process that tries the driver. */
        tdm("devices", 0, NULL);
        CHECK(contains_words(r.output, "cpu:0 *") && !contains_words(r.output, "trying each"), "%s",
              r.output);
        const char *changes[] = {vendors, cache, NULL};
        const char *probe[] = {TEST_PROBE, "find", "opencl:0", NULL};
        run_program(changes, probe, 60, &r);
        SAYS(cases[i].is_harmless ? "TDM_ERROR_" : "FIFO|/x.icd|remove");
    }
    /* One that cannot be read, unless root runs the test, which can read everything. */
    shell("cd $D/icd && rm -rf * && : > x.icd && chmod 0 x.icd && cat x.icd && echo readable");
    bool readable = strstr(r.output, "readable");
    tdm("doctor", 1, NULL);
    CHECK(has_item("[!!]", readable ? "x.icd|is empty" : "x.icd|cannot be read|denied"), "%s",
          r.output);
}

/* A broken driver next to a good one, which is tried, and listed, without it. */
Test(doctor, good_next_to_bad) {
    static const char *const bad[] = {"list_segv", "list_hang", "build_abort"};
    for (int i = 0; i < 3; i++) {
        bool lists = strncmp(bad[i], "build", 5) == 0;
        install_sim(bad[i]);
        shell("cp " TEST_ICD_POCL "/pocl.icd $D/icd/zzz.icd");
        tdm("doctor --timeout 20", 1, NULL);
        CHECK(has_item("[ok]", "/zzz.icd|1 device"), "%s", r.output);
        CHECK(has_item("[ok] opencl:", "Portable Computing Language|results are right"), "%s",
              r.output);
        CHECK(has_item("[!!]", lists ? "opencl:0|sim.icd" : "/sim.icd"), "%s", r.output);
        tdm("devices " LIMIT, lists ? 0 : 1, "opencl:0|cpu:0");
        CHECK(lists || contains_words(r.output, "sim.icd|opencl 1, cpu 1|advice"), "%s", r.output);
    }
}

/* `tdm devices` and `tdm bench` end with a name, not with a signal. */
Test(doctor, other_commands_name_the_culprit) {
    static const struct {
        const char *behaviour, *words;
    } cases[] = {{"list_abort", "SIGABRT"},
                 {"list_segv", "SIGSEGV"},
                 {"list_hang", "2 seconds"},
                 {"list_exit", "exit(0)"},
                 {"end_segv", "SIGSEGV"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        install_sim(cases[i].behaviour);
        tdm("devices " LIMIT, 1,
            formatted("cpu:0|/sim.icd|lib%s.so|advice|%s", cases[i].behaviour, cases[i].words));
        tdm("devices --json " LIMIT " 2>/dev/null", 1, NULL);
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, NULL);
        CHECK(root, "no JSON: %s", r.output);
        json_decref(root);
    }
    install_sim("list_segv");
    tdm("bench --op fill --dtype f32 --device cpu", 1,
        "tdm bench|SIGSEGV|/sim.icd|liblist_segv.so");
    tdm("cache warm cpu", 1, "tdm cache|SIGSEGV|/sim.icd|liblist_segv.so");
    install_sim("build_abort");
    /* AddressSanitizer would make an exit status of the signal */
    const char *set = getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", formatted("%s:handle_segv=0", set ? set : ""), 1);
    tdm("bench --op layer_norm --dtype f32 --device opencl:0", 1,
        "tdm bench: ended by SIG|devices were used|tdm doctor");
}

/* All that is installed works: 0, and a kernel was compiled, whatever caches hold. */
Test(doctor, all_good) {
    shell("cp " TEST_ICD_POCL "/pocl.icd $D/icd/");
    for (int i = 0; i < 2; i++) {
        tdm("doctor --json 2>/dev/null", 0, NULL);
        json_error_t error;
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
        CHECK(root, "no JSON: %s in %s", error.text, r.output);
        CHECK(json_is_true(json_object_get(root, "ok")), "%s", r.output);
        json_t *item = NULL;
        size_t index = 0;
        bool found = false;
        json_array_foreach(json_object_get(root, "diagnostics"), index, item) {
            const char *subject = json_string_value(json_object_get(item, "subject"));
            const char *detail = json_string_value(json_object_get(item, "detail"));
            if (!subject || strcmp(subject, "opencl:0") != 0) continue;
            found = true;
            const char *ready = detail ? strstr(detail, "a kernel was ready in ") : NULL;
            CHECK(ready && strtod(ready + 22, NULL) > 0.05, "nothing was compiled: %s", detail);
        }
        CHECK(found, "opencl:0 was not tried: %s", r.output);
        json_decref(root);
    }
    /* Nothing installed is no failure. */
    shell("rm -rf $D/icd/*");
    tdm("doctor", 0, NULL);
    CHECK(has_item("[--]", "/icd|no .icd file|install"), "%s", r.output);
}

/* A cache folder of this user's where nothing can be written: the finding says why, and so does the log. Only /proc
 * refuses root; in a container it is read-only, which is no fault: what a folder has is used. */
Test(doctor, cache_that_cannot_be_written) {
    const bool root = geteuid() == 0;
    struct stat kernels;
    if (root && (stat("/proc/sys", &kernels) != 0 || kernels.st_uid != 0))
        check_skip("root of a container, whose folders all can be written");
    const bool read_only = root && access("/proc/sys", W_OK) != 0 && errno == EROFS;
    shell("cp " TEST_ICD_POCL "/pocl.icd $D/icd/; mkdir -m 500 $D/cache");
    if (root) snprintf(cache, sizeof cache, "TANDEM_CACHE_DIR=/proc/sys");
    tdm("doctor --quick", read_only ? 0 : 1, NULL);
    CHECK(read_only ? has_item("[ok]", "cache directory|read-only, so that nothing more is kept")
                    : has_item("[!!]", "cache directory|cannot be written: |nothing is kept"),
          "%s", r.output);
    const char *changes[] = {vendors, cache, "TANDEM_LOG=warn", NULL};
    run_shell(changes, TEST_PROBE " work opencl:0", 120, &r);
    SAYS("TDM_OK|warning: an entry is not kept in /");
    /* nothing is left of the trial */
    snprintf(cache, sizeof cache, "TANDEM_CACHE_DIR=%s/other", folder + 2);
    tdm("doctor --quick", 0, NULL);
    CHECK(has_item("[ok]", "cache directory"), "%s", r.output);
    shell("ls -A $D/other | grep -v '^holders$'");
    CHECK(!r.output[0], "left: %s", r.output);
    /* a limit on the size of files, which ends a process that goes past it by a signal */
    shell("ulimit -f 0; " TEST_PROGRAM " doctor --quick 2>&1 | cat");
    SAYS("/other|cannot be written: File too large");
}

/* The C compiler of the cpu backend, and what follows where there is none: a wish, or nothing that is installed, is no
 * failure; a name of nothing is. */
Test(doctor, c_compiler) {
    static const struct {
        const char *changed, *mark, *words, *advice; /* "" where there is none */
        int status;
    } cases[] = {
        {"TANDEM_CPU_COMPILER=/bin/true", "[ok]", "/bin/true", "", 0},
        {"TANDEM_CPU_COMPILER=none", "[--]", "TANDEM_CPU_COMPILER is none|in blocks|dialect", "",
         0},
        {"TANDEM_CPU_COMPILER=/nonexistent/cc", "[!!]", "names no program|in blocks|dialect",
         "correct or unset TANDEM_CPU_COMPILER", 1},
        {"PATH=/nonexistent", "[--]", "cc|gcc|clang|PATH|in blocks|dialect", "install gcc or clang",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char item[128];
        changed = cases[i].changed;
        tdm("doctor --quick", cases[i].status, NULL); /* which runs no kernel that would need it */
        snprintf(item, sizeof item, "%s C compiler", cases[i].mark);
        CHECK(has_item(item, cases[i].words) && has_item(item, cases[i].advice), "%s", r.output);
        CHECK(has_item(item, "advice") == (cases[i].advice[0] != 0), "%s", r.output);
        tdm("doctor --quick --json 2>/dev/null", cases[i].status, NULL);
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, NULL), *one = NULL;
        size_t index = 0, count = 0;
        json_array_foreach(json_object_get(root, "diagnostics"), index, one) {
            const char *subject = json_string_value(json_object_get(one, "subject"));
            if (!subject || strncmp(subject, "C compiler", 10) != 0) continue;
            count++;
            CHECK(json_is_true(json_object_get(one, "ok")) == (strcmp(cases[i].mark, "[ok]") == 0),
                  "%s", r.output);
            CHECK(contains_words(json_string_value(json_object_get(one, "detail")), cases[i].words),
                  "%s", r.output);
        }
        CHECK(count == 1, "the compiler is reported %zu times: %s", count, r.output);
        json_decref(root);
    }
    changed = NULL;
}

/* A library that a variable names, as ocl-icd allows, is a driver like one of a file. An empty value
 * counts as none. */
Test(doctor, library_in_a_variable) {
    snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=" SIM "list_segv.so");
    tdm("doctor", 1, NULL);
    CHECK(has_item("[!!] OCL_ICD_VENDORS", "liblist_segv.so|SIGSEGV"), "%s", r.output);
    snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=" SIM "silent.so");
    tdm("doctor", 1, NULL);
    CHECK(has_item("[ok] OCL_ICD_VENDORS", "libsilent.so|1 device"), "%s", r.output);
    CHECK(has_item("[!!] opencl:0", "results are wrong|libsilent.so"), "%s", r.output);
    tdm("devices", 0, "opencl:0 *");
    shell("TANDEM_BACKEND=opencl OCL_ICD_VENDORS= " TEST_PROGRAM " doctor --quick --json");
    CHECK(contains_words(r.output, "\"diagnostics\"") &&
              !contains_words(r.output, "OCL_ICD_VENDORS"),
          "%s", r.output);
}

/* A command that is interrupted leaves no process and no folder, and ends by the signal. */
Test(doctor, interrupted) {
    install_sim("list_hang");
    static const char *const commands[] = {"doctor", "devices"};
    for (int i = 0; i < 2; i++) {
        /* no shell between timeout and the program, whose status is wanted */
        tdm(formatted("--version >/dev/null; timeout -s TERM 1 '%s' %s", TEST_PROGRAM, commands[i]),
            124, NULL);
        tdm(formatted(
                "--version >/dev/null; timeout --preserve-status -s TERM 1 '%s' %s; test $? = 143",
                TEST_PROGRAM, commands[i]),
            0, NULL);
        shell("sleep 0.2; grep -las tdm..child $(grep -ls $D/tmp /proc/[0-9]*/environ | "
              "sed s/environ/cmdline/) /dev/null");
        CHECK(!r.output[0], "still running: %s", r.output);
    }
}

/* The reader of the output ends, at once or after a line. The document on these drivers does not fit into a buffer. */
Test(doctor, reader_ends) {
    install_sim("list_segv");
    shell("for i in 1 2 3 4 5 6 7 8; do cp $D/icd/sim.icd $D/icd/$i.icd; done");
    tdm("doctor --quick --json | true", 0, NULL);
    tdm("devices 2>&1 | head -n 1", 0, NULL);
}

/* PoCL lists nothing where it cannot make the folder of its cache: both commands name the variable, and what to set. */
Test(doctor, driver_without_a_folder) {
    static const char *const cases[][2] = {
        {"POCL_CACHE_DIR=/dev/null/x", "/dev/null/x, which POCL_CACHE_DIR names"},
        {"XDG_CACHE_HOME=/dev/null", "/dev/null/pocl, which XDG_CACHE_HOME names"},
        {"HOME=/dev/null", "/dev/null/.cache/pocl, which HOME names"}};
    shell("cp " TEST_ICD_POCL "/pocl.icd $D/icd/");
    unsetenv("POCL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[256];
        changed = cases[i][0];
        snprintf(words, sizeof words, "has no devices|%s|set POCL_CACHE_DIR, or HOME", cases[i][1]);
        tdm("doctor --quick", 1, NULL);
        CHECK(has_item("[!!]", words) && !contains_words(r.output, "render and video"), "%s",
              r.output);
        tdm("devices", 0, NULL);
        CHECK(contains_words(r.output, words) && contains_words(r.output, "cpu:0 *"), "%s",
              r.output);
    }
    changed = "HOME=/";
    setenv("POCL_CACHE_DIR", folder + 2, 1);
    tdm("devices", 0, NULL);
    CHECK(contains_words(r.output, "opencl:0") && !strstr(r.output, "tdm devices:"), "%s",
          r.output);
    changed = NULL;
}

/* Where the loader cannot be opened, drivers are said to lack it, and CLBlast is not missed. */
Test(doctor, loader_that_cannot_be_opened) {
    shell("cp " TEST_ICD_POCL "/pocl.icd $D/icd/ && mkdir $D/lib && echo >$D/lib/libOpenCL.so.1");
    changed = formatted("LD_LIBRARY_PATH=%s/lib", folder + 2);
    tdm("doctor --quick", 1, NULL);
    CHECK(has_item("[!!] libOpenCL", "file too short|install the OpenCL ICD loader"), "%s",
          r.output);
    CHECK(has_item("[!!]", "pocl.icd|cannot be asked without|install the OpenCL ICD loader"), "%s",
          r.output);
    CHECK(!contains_words(r.output, "render and video") && !contains_words(r.output, "clblast"),
          "%s", r.output);
    changed = NULL;
}

/* The hidden command is for the program itself. */
Test(doctor, hidden_command) {
    tdm(".child list", 2, "for the program itself");
    tdm(".child devices 3</dev/null", 2, NULL);
    tdm("--help", 0, NULL);
    CHECK(!strstr(r.output, ".child"), "%s", r.output);
}

#endif
