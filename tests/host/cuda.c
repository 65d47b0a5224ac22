/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA's own traps, on machines that are made up: drivers, CUDA_VISIBLE_DEVICES, libraries of other
 * versions, NVRTC without its builtins, processes that fork or end. What a user reads says what is
 * wrong and what to do. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(cuda, .init = random_start);

static run_result r;

#define FOLDER TEST_SCRATCH "/cuda"

/* A probe on such a machine; `libraries` come before the stand-ins, `extra` is one more change. */
static void probe_with(const char *machine, const char *libraries, const char *extra,
                       const char *command, const char *name) {
    char sim[256], path[2048], visible[] = "CUDA_VISIBLE_DEVICES";
    const char *argv[] = {TEST_PROBE, command, name, NULL};
    snprintf(sim, sizeof sim, "TDM_CUDA_SIM=%s", machine);
    snprintf(path, sizeof path, "TANDEM_LIBRARY_PATH=%s%s" TEST_CUDA_SIM, libraries,
             *libraries ? ":" : "");
    /* Nothing is kept: NVIDIA's NVRTC and the stand-in would take one another's kernels for theirs.
     */
    const char *changes[] = {ICD_NONE, "TANDEM_CACHE_DIR=/dev/null/none", sim,
                             path,     extra ? extra : visible,           NULL};
    check_case("probe %s %s, %s, %s %s", command, name ? name : "", machine, libraries,
               extra ? extra : "");
    run_program(changes, argv, 60, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    CHECK(!contains_words(r.output, "cuda_sim:"), "%s", r.output);
}

static void says(const char *words) {
    CHECK(contains_words(r.output, words), "lacks one of '%s': %s", words, r.output);
}

static void says_not(const char *word) {
    CHECK(!contains_words(r.output, word), "has '%s': %s", word, r.output);
}

/* --- drivers ------------------------------------------------------------------------------------
 */

/* Each is told by the device that is asked for and by the diagnosis, whose advice suits it; cpu
 * works all the same. */
Test(cuda, drivers) {
    static const struct {
        const char *machine, *words, *advice;
    } drivers[] = {
        {"driver=0", "there is no NVIDIA driver|libcuda.so.1 was not found|install one",
         "|install or update the NVIDIA driver"},
        {"driver=11040",
         "the NVIDIA driver supports CUDA 11.4, the runtime is of|update the driver",
         "|install or update the NVIDIA driver"},
        {"driver=stub", "stub library|take the toolkit's stubs directory out of LD_LIBRARY_PATH",
         "|the libcuda.so.1 that was found is the toolkit's stub"},
        {"devices=0", "no CUDA device|nvidia-smi|/dev/nvidia", "|check CUDA_VISIBLE_DEVICES"},
        {"fail=cudaGetDeviceCount:1+:803", "no CUDA device|restart the machine",
         "|the driver's libraries and its kernel module"}};
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        const char *machine = drivers[i].machine;
        probe_with(machine, "", NULL, "find", "cuda:0");
        says("TDM_ERROR_UNAVAILABLE|device \"cuda:0\" does not exist");
        says(drivers[i].words);
        probe_with(machine, "", NULL, "diagnose", NULL);
        says("|no|NVIDIA driver|");
        says(drivers[i].words);
        const char *item = strstr(r.output, "|no|NVIDIA driver|"), *end = item;
        if (item) end = strchr(item, '\n');
        const char *advice = item ? strstr(item, drivers[i].advice) : NULL;
        CHECK(advice && end && advice < end, "no advice '%s': %s", drivers[i].advice, r.output);
        probe_with(machine, "", NULL, "work", "-");
        says("TDM_OK|cpu:0");
    }
}

/* --- CUDA_VISIBLE_DEVICES -----------------------------------------------------------------------
 */

#define FIRST "uuid=GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0 pci=0000:10:00.0;"
#define SECOND "uuid=GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1 pci=0000:11:00.0;"

/* Values that leave no device: shown, with what to do. */
Test(cuda, no_visible_device) {
    static const char *const values[] = {"", "-1", "7,0", "0,0", "GPU-ff", "nonsense"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char extra[64], shown[64];
        snprintf(extra, sizeof extra, "CUDA_VISIBLE_DEVICES=%s", values[i]);
        snprintf(shown, sizeof shown, "CUDA_VISIBLE_DEVICES is \"%s\"", values[i]);
        probe_with("devices=2", "", extra, "find", "cuda:0");
        says("TDM_ERROR_UNAVAILABLE|no CUDA device|check CUDA_VISIBLE_DEVICES");
        says(shown);
        probe_with("devices=2", "", extra, "cards", NULL);
        says("TDM_OK|gpus:;");
        probe_with("devices=2", "", extra, "diagnose", NULL);
        says("|no|NVIDIA driver|");
        says(shown);
        probe_with("devices=2", "", extra, "work", "-");
        says("TDM_OK|cpu:0");
    }
}

/* Values that choose and order devices: they are numbered as listed, and known by what they are. */
Test(cuda, visible_devices) {
    static const struct {
        const char *value, *first, *second;
    } cases[] = {{"1,0", SECOND, FIRST},
                 {"1", SECOND, NULL},
                 {"GPU-a1a1", SECOND, NULL},
                 {"GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1,GPU-a0", SECOND, FIRST},
                 {"0,7", FIRST, NULL},
                 {"1,-1,0", SECOND, NULL},
                 {"1,GPU-ff,0", SECOND, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char extra[128], words[256];
        snprintf(extra, sizeof extra, "CUDA_VISIBLE_DEVICES=%s", cases[i].value);
        probe_with("devices=2", "", extra, "cards", NULL);
        snprintf(words, sizeof words, "\ncuda:0 name=Simulated GPU %d %s",
                 strcmp(cases[i].first, SECOND) == 0, cases[i].first);
        says(words);
        if (cases[i].second) {
            says(cases[i].second);
            says("gpus: cuda:0 cuda:1;");
        } else {
            says("gpus: cuda:0;");
            probe_with("devices=2", "", extra, "find", "cuda:1");
            says("TDM_ERROR_NOT_FOUND|1 cuda device is listed|tdm doctor");
        }
        probe_with("devices=2", "", extra, "work", "cuda:0");
        says("TDM_OK|cuda:0");
        /* and where the doctor is asked, the variable is what may be wrong */
        probe_with("devices=2", "", extra, "diagnose", NULL);
        snprintf(words, sizeof words, "|ok|NVIDIA driver|CUDA_VISIBLE_DEVICES is \"%s\"",
                 cases[i].value);
        says(words);
    }
}

/* --- libraries ----------------------------------------------------------------------------------
 */

static void shell(const char *command) {
    run_shell(NULL, command, 30, &r);
    CHECK(r.exit_status == 0, "%s: %s", command, r.output);
}

/* Several majors: only the one that this build is of is looked for, and a file that carries its
 * name and is another is told. */
Test(cuda, majors) {
    char command[1024], words[256], machine[64];
    const int major = TEST_CUDA_MAJOR;
    snprintf(command, sizeof command,
             "rm -rf " FOLDER "/older " FOLDER "/text " FOLDER "/foreign && mkdir -p " FOLDER
             "/older " FOLDER "/text " FOLDER "/foreign && cd " FOLDER
             " && for l in cudart nvrtc cublas cublasLt; do ln -s " TEST_CUDA_SIM
             "/lib$l.so.%d older/lib$l.so.%d && echo text >text/lib$l.so.%d || exit 1; done && "
             "ln -s libtandem.so foreign/libcudart.so.%d && cp " TEST_LIBRARY
             " foreign/libtandem.so",
             major, major - 1, major, major);
    shell(command);
    probe_with("devices=2", FOLDER "/older", NULL, "work", "cuda:0");
    says("TDM_OK|cuda:0");
    probe_with("devices=2", FOLDER "/older", NULL, "diagnose", NULL);
    snprintf(words, sizeof words, "|ok|libcudart.so.%d (the CUDA runtime)|" TEST_CUDA_SIM, major);
    says(words);
    probe_with("devices=2", FOLDER "/text:" FOLDER "/older", NULL, "work", "cuda:0");
    says("TDM_OK|cuda:0");
    probe_with("devices=2", FOLDER "/foreign", NULL, "find", "cuda:0");
    snprintf(words, sizeof words,
             "TDM_ERROR_UNAVAILABLE|" FOLDER
             "/foreign/libcudart.so.%d has no function cuda|install the CUDA %d|"
             "TANDEM_LIBRARY_PATH",
             major, major);
    says(words);
    snprintf(machine, sizeof machine, "runtime=%d", 1000 * (major - 1) + 80);
    probe_with(machine, "", NULL, "find", "cuda:0");
    snprintf(words, sizeof words,
             "TDM_ERROR_UNAVAILABLE|" TEST_CUDA_SIM "/libcudart.so.%d is of major version %d|"
             "this build needs %d|TANDEM_LIBRARY_PATH",
             major, major - 1, major);
    says(words);
    snprintf(machine, sizeof machine, "fail=cublasLtGetVersion:1+:%d", 10000 * (major - 1));
    probe_with(machine, "", NULL, "work", "cuda:0");
    says("TDM_OK|cuda:0");
    probe_with(machine, "", NULL, "diagnose", NULL);
    snprintf(words, sizeof words, "|no|libcublasLt|is of major version %d|needs %d", major - 1,
             major);
    says(words);
}

Test(cuda, nvrtc_without_builtins) {
    probe_with("builtins=0", "", NULL, "work", "cuda:0");
    says("TDM_ERROR_UNAVAILABLE|libnvrtc-builtins.so|install it|LD_LIBRARY_PATH");
}

#ifdef TEST_NVRTC
/* NVIDIA's own NVRTC, which looks for its builtins by name alone: an empty file of that name in
 * LD_LIBRARY_PATH stands for a system that has none. What it compiles is nothing to the simulated
 * device, whose error 200 tells that it came so far. */
Test(cuda, nvidias_nvrtc) {
    static const char hidden[] = "LD_LIBRARY_PATH=" FOLDER "/hidden";
    shell("rm -rf " FOLDER "/alone " FOLDER "/hidden " FOLDER "/both && mkdir -p " FOLDER
          "/alone " FOLDER "/hidden " FOLDER "/both && cd " FOLDER " && ln -s " TEST_NVRTC
          " alone && ln -s " TEST_NVRTC " " TEST_NVRTC_BUILTINS
          " both && : >hidden/" TEST_NVRTC_BUILTINS_NAME);
    probe_with("devices=1", FOLDER "/alone", hidden, "work", "cuda:0");
    says("TDM_ERROR_UNAVAILABLE|cuda:0|libnvrtc-builtins.so|install it beside|LD_LIBRARY_PATH|"
         "failed to open " TEST_NVRTC_BUILTINS_NAME);
    /* beside NVRTC is good enough, wherever that was found */
    probe_with("devices=1", FOLDER "/both", hidden, "work", "cuda:0");
    says("TDM_ERROR_COMPILE|error 200");
    says_not("builtins");
}
#endif

/* --- processes ----------------------------------------------------------------------------------
 */

/* In a forked child every call says so and none reaches CUDA, which the simulator would report; the
 * parent goes on. */
Test(cuda, fork_after_use) {
    probe_with("delay=500", "", NULL, "fork", "cuda:0");
    int forked = 0;
    for (const char *at = r.output; (at = strstr(at, "TDM_ERROR_FORKED\n")) != NULL; at++)
        forked++;
    CHECK(forked == 10, "%d of 10 calls said so: %s", forked, r.output);
    CHECK(strstr(r.output, "child ends\nparent:\nTDM_OK"), "%s", r.output);
}

/* The process ends with everything still open, and while another thread has work in flight. */
Test(cuda, ending) {
    probe_with("delay=500", "", NULL, "exit", "cuda:0");
    says("TDM_OK|cuda:0");
    for (int i = 0; i < 5; i++) {
        probe_with("delay=2000", "", NULL, "thread", "cuda:0");
        says("TDM_OK|cuda:0");
    }
}
