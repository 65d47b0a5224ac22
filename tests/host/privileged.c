/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs with more rights than their caller (setuid): they neither open nor make files that the
 * caller's environment names. As root the test runs a real one; as another user, one that believes
 * to be one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

TestSuite(privileged, .init = random_start);

enum { CUDA = 13 };

static char folder[512];

/* A caller's folder: libraries under the names that Tandem and OpenCL's loader look for, which say
 * when they are opened, and places for caches. */
static void make_trap(const char *name) {
    char command[8192];
    snprintf(folder, sizeof folder, "%s/privileged-%s", TEST_SCRATCH, name);
    snprintf(
        command, sizeof command,
        "rm -rf '%s' && mkdir -p '%s/home' '%s/lib' && cd '%s' && chmod -R 777 . && "
        "for i in libOpenCL.so.1 libcudart.so.%d libopenblas.so.0 libdnnl.so.2 libclblast.so.1 "
        "libnvidia-ml.so.1; do cp '%s' lib/$i; done && echo '%s/lib/libOpenCL.so.1' > evil.icd",
        folder, folder, folder, folder, CUDA, TEST_EVIL, folder);
    run_shell(NULL, command, 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
}

/* Runs a program as a malicious caller would. */
static void run_trapped(const char *program, const char *arguments, const char *words) {
    gives_with(
        NULL,
        formatted("cd %s/home && TANDEM_LIBRARY_PATH=%s/lib TANDEM_CACHE_DIR=%s/made/cache "
                  "TANDEM_TRACE=%s/home/trace TANDEM_NCCL_LIBRARY=/trap/nccl "
                  "TANDEM_LOG=debug:%s/home/log TANDEM_PROFILE=%s/home/profile TANDEM_VERIFY=1 "
                  "TANDEM_CPU_COMPILER=%s/home/cc XDG_CACHE_HOME=%s/xdg "
                  "HOME=%s/home "
                  "OCL_ICD_VENDORS=%s/evil.icd %s %s",
                  folder, folder, folder, folder, folder, folder, folder, folder, folder, folder,
                  program, arguments),
        0, words);
}

static void expect_no_trap(const char *program) {
    static const char *const arguments[] = {"work -",        "work cpu:0", "list",
                                            "find opencl:0", "diagnose",   "hold-and-ask cpu 4096"};
    for (int i = 0; i < 6; i++) {
        run_trapped(program, arguments[i], NULL);
        CHECK(!contains_words(r.output, "EVIL"), "opened what its caller named: %s", r.output);
        static const char *const words[] = {
            "TDM_OK|cpu:0",
            "TDM_OK|cpu:0",
            "TDM_OK|default: cpu:0",
            TEST_HAS_OPENCL ? "TDM_ERROR_UNAVAILABLE|more rights than its caller" : "TDM_ERROR_",
            "TANDEM_CACHE_DIR|TANDEM_CPU_COMPILER|TANDEM_LIBRARY_PATH|TANDEM_NCCL_LIBRARY|TANDEM_"
            "TRACE|TANDEM_LOG|TANDEM_PROFILE|TANDEM_VERIFY|ignored: this "
            "program has more rights than its caller|cache "
            "directory|none, because|opens no libraries",
            "TDM_OK|tandem_reserved=4096;"};
        SAYS(words[i]);
    }
    run_shell(NULL, formatted("cd '%s' && ls -A home; ls -d made xdg 2>/dev/null; true", folder),
              30, &r);
    CHECK(!r.output[0], "made in its caller's folders: %s", r.output);
}

/* The trap works: an ordinary program opens and makes the files that the environment names. */
Test(privileged, an_ordinary_program_is_trapped) {
    make_trap("ordinary");
    run_trapped(TEST_PROBE, "work cpu:0", "EVIL");
    run_shell(NULL,
              formatted("cd '%s' && ls -d made/cache home/trace home/log home/profile", folder), 30,
              &r);
    CHECK(r.exit_status == 0, "not made: %s", r.output);
}

/* The library asks the C library whether the program is one; this program answers for it. */
Test(privileged, one_that_believes_to_be_privileged) {
    make_trap("believing");
    run_trapped(TEST_PROBE_PRIVILEGED, "secure", "secure: 1");
    expect_no_trap(TEST_PROBE_PRIVILEGED);
}

/* The kernel's own answer: another user runs a setuid copy of the probe. Making one needs root. */
Test(privileged, setuid) {
    if (geteuid() != 0) check_skip("only root can make a setuid program");
    static char program[1024], copy[512];
    make_trap("setuid");
    run_shell(NULL,
              "d=$(mktemp -d) && chmod 755 $d && cp '" TEST_PROBE "' $d/probe && "
              "chmod 4755 $d/probe && printf %s $d",
              30, &r);
    snprintf(copy, sizeof copy, "%.500s", r.output);
    snprintf(program, sizeof program, "setpriv --reuid 65534 --regid 65534 --clear-groups %s/probe",
             copy);
    run_trapped(program, "secure", NULL);
    const bool has_effect = !contains_words(r.output, "secure: 0");
    if (has_effect) expect_no_trap(program);
    run_shell(NULL, formatted("rm -rf '%s'", copy), 30, &r);
    if (!has_effect) check_skip("setuid has no effect here");
}
