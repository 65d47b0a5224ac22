/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA's own traps, on machines that are made up: drivers, CUDA_VISIBLE_DEVICES, libraries of other
 * versions, NVRTC without its builtins, processes that fork or end. The messages say what is wrong
 * and what to do. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

TestSuite(cuda, .init = random_start);

#define FOLDER TEST_SCRATCH "/cuda"
#define MISSING                                                                                    \
    FOLDER                                                                                         \
    "/missing/a-name-of-the-length-that-folders-of-toolkits-have"

/* A probe on such a machine; `libraries` come before the stand-ins, `extra` is one more change. */
static void probe_with(const char *machine, const char *libraries, const char *extra,
                       const char *command, const char *name, const char *words) {
    /* Nothing is kept: NVIDIA's NVRTC and the stand-in would take one another's kernels for theirs. */
    const char *changes[] = {
        formatted("TDM_CUDA_SIM=%s", machine),
        extra ? extra : "CUDA_VISIBLE_DEVICES",
        formatted("TANDEM_LIBRARY_PATH=%s%s" TEST_CUDA_SIM, libraries, *libraries ? ":" : ""),
        ICD_NONE,
        "TANDEM_CACHE_DIR=/dev/null/none",
        NULL};
    probe_gives(changes, command, name, words);
    CHECK(!contains_words(r.output, "cuda_sim:"), "%s", r.output);
}

static void says_not(const char *word) {
    CHECK(!contains_words(r.output, word), "has '%s': %s", word, r.output);
}

/* --- drivers ------------------------------------------------------------------------------------
 */

/* Opening the device and the diagnosis report each, with advice that suits it; cpu works all the
 * same. */
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
        probe_with(machine, "", NULL, "find", "cuda:0",
                   "TDM_ERROR_UNAVAILABLE|device \"cuda:0\" does not exist");
        SAYS(drivers[i].words);
        probe_with(machine, "", NULL, "diagnose", NULL, "|no|NVIDIA driver|");
        SAYS(drivers[i].words);
        const char *item = strstr(r.output, "|no|NVIDIA driver|"), *end = item;
        if (item) end = strchr(item, '\n');
        const char *advice = item ? strstr(item, drivers[i].advice) : NULL;
        CHECK(advice && end && advice < end, "no advice '%s': %s", drivers[i].advice, r.output);
        probe_with(machine, "", NULL, "work", "-", "TDM_OK|cpu:0");
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
        probe_with("devices=2", "", extra, "find", "cuda:0",
                   "TDM_ERROR_UNAVAILABLE|no CUDA device|check CUDA_VISIBLE_DEVICES");
        SAYS(shown);
        probe_with("devices=2", "", extra, "cards", NULL, "TDM_OK|gpus:;");
        probe_with("devices=2", "", extra, "diagnose", NULL, "|no|NVIDIA driver|");
        SAYS(shown);
        probe_with("devices=2", "", extra, "work", "-", "TDM_OK|cpu:0");
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
        char extra[128];
        snprintf(extra, sizeof extra, "CUDA_VISIBLE_DEVICES=%s", cases[i].value);
        probe_with("devices=2", "", extra, "cards", NULL, NULL);
        SAYS(formatted("\ncuda:0 name=Simulated GPU %d %s", strcmp(cases[i].first, SECOND) == 0,
                       cases[i].first));
        if (cases[i].second) {
            SAYS(cases[i].second);
            SAYS("gpus: cuda:0 cuda:1;");
        } else {
            SAYS("gpus: cuda:0;");
            probe_with("devices=2", "", extra, "find", "cuda:1",
                       "TDM_ERROR_NOT_FOUND|(listed: cuda:0, cpu:0; `tdm doctor` says why)");
        }
        probe_with("devices=2", "", extra, "work", "cuda:0", "TDM_OK|cuda:0");
        /* and where the doctor is asked, the variable is what may be wrong */
        probe_with("devices=2", "", extra, "diagnose", NULL, NULL);
        SAYS(formatted("|ok|NVIDIA driver|CUDA_VISIBLE_DEVICES is \"%s\"", cases[i].value));
    }
}

/* --- libraries ----------------------------------------------------------------------------------
 */

static void shell(const char *command) {
    run_shell(NULL, command, 30, &r);
    CHECK(r.exit_status == 0, "%s: %s", command, r.output);
}

/* Files of CUDA's names that are no libraries, or others, or of a version that is none. */
Test(cuda, files) {
    shell("rm -rf " FOLDER "/text " FOLDER "/foreign && mkdir -p " FOLDER "/text " FOLDER
          "/foreign && cd " FOLDER " && for l in cudart nvrtc cublas cublasLt; do "
          "echo text >text/lib$l.so.13 || exit 1; done && "
          "ln -s libtandem.so foreign/libcudart.so.13 && cp " TEST_LIBRARY " foreign/libtandem.so");
    probe_with("devices=2", FOLDER "/text", NULL, "work", "cuda:0", "TDM_OK|cuda:0");
    probe_with("devices=2", FOLDER "/text", NULL, "diagnose", NULL,
               "|ok|libcudart.so.13 (the CUDA runtime)|" TEST_CUDA_SIM);
    probe_with("devices=2", FOLDER "/foreign", NULL, "find", "cuda:0",
               "TDM_ERROR_UNAVAILABLE|" FOLDER "/foreign/libcudart.so.13 has no function cuda|"
               "install the run-time libraries of CUDA 11.8, 12 or 13|TANDEM_LIBRARY_PATH");
    /* which is reported however many others are missing */
    probe_with("devices=2", MISSING "/1:" MISSING "/2:" MISSING "/3:" FOLDER "/foreign", NULL,
               "find", "cuda:0",
               "TDM_ERROR_UNAVAILABLE|" FOLDER "/foreign/libcudart.so.13 has no function cuda|; ");
    probe_with("runtime=11040", "", NULL, "find", "cuda:0",
               "TDM_ERROR_UNAVAILABLE|" TEST_CUDA_SIM "/libcudart.so.13 is of CUDA 11.4|"
               "Tandem needs CUDA 11.8, 12 or 13|TANDEM_LIBRARY_PATH");
    probe_with("runtime=11040", "", NULL, "diagnose", NULL, "|no|libcudart.so.13|is of CUDA 11.4");
    SAYS("NVIDIA's cuBLASLt|not looked for, because the CUDA runtime cannot be used");
    probe_with("cublas=12", "", NULL, "work", "cuda:0", "TDM_OK|cuda:0");
    probe_with("cublas=12", "", NULL, "diagnose", NULL,
               "|no|libcublasLt.so.13|is of major version 12|needs 13");
}

/* The libraries of each version of CUDA that Tandem loads, by their own names. */
Test(cuda, versions) {
    static const struct {
        const char *before, *folder, *files[4];
    } rows[] = {
        {TEST_CUDA_SIM "/11",
         "/11",
         {"libcudart.so.11.0", "libnvrtc.so.11.2", "libcublasLt.so.11", "libcublas.so.11"}},
        {TEST_CUDA_SIM "/12",
         "/12",
         {"libcudart.so.12", "libnvrtc.so.12", "libcublasLt.so.12", "libcublas.so.12"}},
        {"", "", {"libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13"}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        probe_with("devices=2", rows[i].before, NULL, "work", "cuda:0", "TDM_OK|cuda:0");
        probe_with("devices=2", rows[i].before, "TANDEM_BLAS=cublas", "work", "cuda:0",
                   "TDM_OK|cuda:0");
        probe_with("devices=2", rows[i].before, NULL, "diagnose", NULL, NULL);
        for (int file = 0; file < 4; file++) {
            SAYS(formatted("|ok|%s (|" TEST_CUDA_SIM "%s/%s", rows[i].files[file], rows[i].folder,
                           rows[i].files[file]));
        }
    }
}

/* The runtime that is found first decides, and nothing of another version is used with it. */
Test(cuda, versions_are_not_mixed) {
    shell("rm -rf " FOLDER "/alone12 && mkdir -p " FOLDER "/alone12 && ln -s " TEST_CUDA_SIM
          "/12/libcudart.so.12 " FOLDER "/alone12");
    probe_with(
        "devices=2", FOLDER "/alone12", NULL, "work", "cuda:0",
        "TDM_ERROR_UNAVAILABLE|NVRTC was not found|libnvrtc.so.12|install the CUDA 12 toolkit");
    says_not("libnvrtc.so.13");
    /* older libraries of the toolkit after newer ones, and before */
    probe_with("devices=2", TEST_CUDA_SIM "/12:" TEST_CUDA_SIM "/11", NULL, "diagnose", NULL,
               "|ok|libcudart.so.12 (|ok|libnvrtc.so.12 (|ok|libcublasLt.so.12 (");
    probe_with("devices=2", TEST_CUDA_SIM "/11:" TEST_CUDA_SIM "/12", NULL, "diagnose", NULL,
               "|ok|libcudart.so.11.0 (|ok|libnvrtc.so.11.2 (|ok|libcublasLt.so.11 (");
}

/* A driver that is too old to report a device's UUID or a kernel's arguments is good enough; one
 * that lacks a required function is not. The stand-in runtime finds its driver as the real one
 * does. */
Test(cuda, old_drivers) {
    static const char old[] = "LD_LIBRARY_PATH=" TEST_CUDA_SIM "/old_driver";
    static const char lame[] = "LD_LIBRARY_PATH=" TEST_CUDA_SIM "/lame_driver";
    probe_with("devices=2 driver=11030 skew=8", TEST_CUDA_SIM "/11", old, "work", "cuda:0",
               "TDM_OK|cuda:0");
    probe_with("devices=2 driver=11030", TEST_CUDA_SIM "/11", old, "cards", NULL,
               "\ncuda:0 name=Simulated GPU 0 uuid= pci=0000:10:00.0;");
    probe_with("devices=2", "", lame, "find", "cuda:0",
               "TDM_ERROR_UNAVAILABLE|" TEST_CUDA_SIM "/lame_driver/libcuda.so.1 has no function "
               "cuFuncGetAttribute|update the NVIDIA driver");
    probe_with("devices=2", "", lame, "diagnose", NULL,
               "|no|NVIDIA driver|has no function cuFuncGetAttribute");
}

Test(cuda, nvrtc_without_builtins) {
    probe_with("builtins=0", "", NULL, "work", "cuda:0",
               "TDM_ERROR_UNAVAILABLE|libnvrtc-builtins.so|install it|LD_LIBRARY_PATH");
}

#ifdef TEST_NVRTC
/* NVIDIA's own NVRTC, which looks for its builtins by name alone: an empty file of that name in
 * LD_LIBRARY_PATH stands for a system that has none. The simulated device refuses its code with
 * error 200, which shows that it was compiled. */
Test(cuda, nvidias_nvrtc) {
    static const char hidden[] = "LD_LIBRARY_PATH=" FOLDER "/hidden";
    shell("rm -rf " FOLDER "/alone " FOLDER "/hidden " FOLDER "/both && mkdir -p " FOLDER
          "/alone " FOLDER "/hidden " FOLDER "/both && cd " FOLDER " && ln -s " TEST_NVRTC
          " alone && ln -s " TEST_NVRTC " " TEST_NVRTC_BUILTINS
          " both && : >hidden/" TEST_NVRTC_BUILTINS_NAME);
    const char *machine = TEST_NVRTC_MAJOR == 13   ? "devices=1"
                          : TEST_NVRTC_MAJOR == 12 ? "devices=1 runtime=12040"
                                                   : "devices=1 runtime=11080";
    probe_with(
        machine, FOLDER "/alone", hidden, "work", "cuda:0",
        "TDM_ERROR_UNAVAILABLE|cuda:0|libnvrtc-builtins.so|install it next to|LD_LIBRARY_PATH|"
        "failed to open " TEST_NVRTC_BUILTINS_NAME);
    /* next to NVRTC is good enough, wherever that was found */
    probe_with(machine, FOLDER "/both", hidden, "work", "cuda:0", "TDM_ERROR_COMPILE|error 200");
    says_not("builtins");
}
#endif

/* --- processes ----------------------------------------------------------------------------------
 */

/* In a forked child every call says so and none reaches CUDA, which the simulator would report; the
 * parent goes on. */
Test(cuda, fork_after_use) {
    probe_with("delay=500", "", NULL, "fork", "cuda:0", NULL);
    const int forked = times("TDM_ERROR_FORKED\n");
    CHECK(forked == 11, "%d of 11 calls said so: %s", forked, r.output);
    CHECK(strstr(r.output, "child ends\nparent:\nTDM_OK"), "%s", r.output);
}

/* The process ends with everything still open, and while another thread has work in flight. */
Test(cuda, ending) {
    probe_with("delay=500", "", NULL, "exit", "cuda:0", "TDM_OK|cuda:0");
    for (int i = 0; i < 5; i++)
        probe_with("delay=2000", "", NULL, "thread", "cuda:0", "TDM_OK|cuda:0");
}
