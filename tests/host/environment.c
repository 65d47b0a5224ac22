/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Selection and the environment: strict parsing, never a silent fall-back. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

TestSuite(environment, .init = random_start);

/* Runs the probe with one variable; the first line of its output must be `status`, and the rest
 * contain `words`. */
static void probe(const char *line, const char *const *arguments, const char *status,
                  const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, line, NULL};
    probe_gives(changes, arguments[0], arguments[1], words);
    size_t length = strcspn(r.output, "\n");
    CHECK(strlen(status) == length && strncmp(r.output, status, length) == 0, "not %s but %s",
          status, r.output);
}

#define LIST ((const char *const[]){"list", NULL})
#define FIND(name) ((const char *const[]){"find", name})
#define OPEN(name) ((const char *const[]){"work", name})

/* Words that are not allowed are refused, and the nearest valid one is offered. Guards against a
 * comparison whose every typo means "accelerator", and an unknown name with the code "no error". */
Test(environment, refused_values) {
    const char *bad = "TDM_ERROR_ENVIRONMENT";
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"TANDEM_BACKEND=opncl", "TANDEM_BACKEND|opncl|opencl"},
        {"TANDEM_BACKEND=CPU", "TANDEM_BACKEND|CPU|cpu"},
        {"TANDEM_BACKEND=ALL", "TANDEM_BACKEND|ALL"},
        {"TANDEM_BACKEND=cpu,", "TANDEM_BACKEND"},
        {"TANDEM_BACKEND=,cpu", "TANDEM_BACKEND"},
        {"TANDEM_BACKEND=cpu cuda", "TANDEM_BACKEND|cpu cuda"},
        {"TANDEM_BACKEND= cpu", "TANDEM_BACKEND"},
        {"TANDEM_BACKEND=cpu ", "TANDEM_BACKEND"},
        {"TANDEM_BACKEND=cpux", "cpux|cpu"},
        {"TANDEM_BACKEND=cpu,cpu", "TANDEM_BACKEND|cpu"},
        {"TANDEM_BACKEND=cpu,auto", "TANDEM_BACKEND"},
        {"TANDEM_BACKEND=0", "TANDEM_BACKEND|0"},
        {"TANDEM_BACKEND=1", "TANDEM_BACKEND|1"},
        {"TANDEM_BACKEND=cuda:0", "TANDEM_BACKEND|cuda"},
        {"TANDEM_BACKENDS=cpu", "TANDEM_BACKENDS|TANDEM_BACKEND"},
        {"TANDEM_BAKEND=cpu", "TANDEM_BAKEND|TANDEM_BACKEND"},
        {"TANDEM_BLASS=builtin", "TANDEM_BLASS|TANDEM_BLAS"},
        {"TANDEM_CPU_THREAD=1", "TANDEM_CPU_THREAD|TANDEM_CPU_THREADS"},
        {"TANDEM_LIBRARYPATH=/tmp", "TANDEM_LIBRARYPATH|TANDEM_LIBRARY_PATH"},
        {"TANDEM_CPU_DEVICES=0", "TANDEM_CPU_DEVICES|0|64"},
        {"TANDEM_CPU_DEVICES=65", "TANDEM_CPU_DEVICES|65|64"},
        {"TANDEM_CPU_DEVICES=-1", "TANDEM_CPU_DEVICES|-1"},
        {"TANDEM_CPU_DEVICES=2x", "TANDEM_CPU_DEVICES|2x"},
        {"TANDEM_CPU_DEVICES=2 ", "TANDEM_CPU_DEVICES"},
        {"TANDEM_CPU_DEVICES=0x2", "TANDEM_CPU_DEVICES"},
        {"TANDEM_CPU_DEVICES=two", "TANDEM_CPU_DEVICES|two"},
        {"TANDEM_CPU_DEVICES=99999999999999999999", "TANDEM_CPU_DEVICES"},
        {"TANDEM_CPU_THREADS=0", "TANDEM_CPU_THREADS|0"},
        {"TANDEM_CPU_THREADS=1.5", "TANDEM_CPU_THREADS|1.5"},
        {"TANDEM_CPU_COMPILER=cc", "TANDEM_CPU_COMPILER|cc|absolute path, or none"},
        {"TANDEM_CPU_COMPILER=bin/cc", "TANDEM_CPU_COMPILER|bin/cc|absolute path"},
        {"TANDEM_CPU_COMPILER=None", "TANDEM_CPU_COMPILER|None|absolute path, or none"},
        {"TANDEM_NCCL_LIBRARY=libnccl.so.2", "TANDEM_NCCL_LIBRARY|libnccl.so.2|absolute path"},
        {"TANDEM_CPU_COMPILERS=none", "TANDEM_CPU_COMPILERS|TANDEM_CPU_COMPILER"},
        {"TANDEM_BLAS=atlas",
         "TANDEM_BLAS|atlas|allowed: onednn, openblas, mkl, blis, cblas, panels, clblast"},
        {"TANDEM_BLAS=CBLAS", "TANDEM_BLAS|cblas"},
        {"TANDEM_BLAS=onednn,openbals", "\"openbals\"|did you mean \"openblas\"|a list of onednn"},
        {"TANDEM_BLAS=onednn,", "TANDEM_BLAS|\"\" is not a provider"},
        {"TANDEM_BLAS=,onednn", "TANDEM_BLAS|\"\" is not a provider"},
        {"TANDEM_BLAS=onednn, blis", "TANDEM_BLAS|\" blis\""},
        {"TANDEM_BLAS=0", "TANDEM_BLAS"},
        {"TANDEM_LOG=INFO", "TANDEM_LOG|INFO|allowed: error, warn, info, debug"},
        {"TANDEM_LOG=debgu:/dev/null", "TANDEM_LOG|debgu|did you mean \"debug\""},
        {"TANDEM_LOG=info:", "TANDEM_LOG|\"info:\"|after the colon must be a file"},
        {"TANDEM_LOG=info:/nonexistent/log", "TANDEM_LOG|/nonexistent/log: No such file"},
        {"TANDEM_LOG=info:/", "TANDEM_LOG|written to /: Is a directory"},
        {"TANDEM_LOGS=info", "TANDEM_LOGS|did you mean TANDEM_LOG?"},
        {"TANDEM_PROFILE=/nonexistent/p", "TANDEM_PROFILE|/nonexistent/p: No such file"},
        {"TANDEM_VERIFY=yes", "TANDEM_VERIFY|\"yes\"|a share of the calls from 0 to 1"},
        {"TANDEM_VERIFY=1.1", "TANDEM_VERIFY|1.1"},
        {"TANDEM_VERIFY=0,5", "TANDEM_VERIFY|0,5"},
        {"TANDEM_VERIFY=-0.1", "TANDEM_VERIFY|-0.1"},
        {"TANDEM_VERIFY=.", "TANDEM_VERIFY"},
        {"TANDEM_VERIFY=:/tmp", "TANDEM_VERIFY|:/tmp"},
        {"TANDEM_VERIFY=1:", "TANDEM_VERIFY|a colon and a folder"},
        {"TANDEM_VERYFY=1", "TANDEM_VERYFY|did you mean TANDEM_VERIFY?"},
        {"TANDEM_PROFIL=p.json", "TANDEM_PROFIL|did you mean TANDEM_PROFILE?"},
        {"TANDEM_MATH=tf23", "TANDEM_MATH|tf23|tf32"},
        {"TANDEM_MATH=1", "TANDEM_MATH"},
        {"TANDEM_MATH=0", "TANDEM_MATH"},
        {"TANDEM_CACHE_DIR=cache", "TANDEM_CACHE_DIR|cache|absolute path"},
        {"TANDEM_CACHE_DIR=./cache", "TANDEM_CACHE_DIR|./cache|absolute path"},
        {"TANDEM_LIBRARY_PATH=lib", "TANDEM_LIBRARY_PATH|\"lib\" is not an absolute path"},
        {"TANDEM_LIBRARY_PATH=.", "TANDEM_LIBRARY_PATH|\".\" is not an absolute path"},
        {"TANDEM_LIBRARY_PATH=/nonexistent:lib:/tmp", "TANDEM_LIBRARY_PATH|\"lib\" is no"},
        {"TANDEM_LIBRARY_PATH=:", "TANDEM_LIBRARY_PATH|entries is empty"},
        {"TANDEM_LIBRARY_PATH=:/nonexistent", "TANDEM_LIBRARY_PATH|entries is empty"},
        {"TANDEM_LIBRARY_PATH=/nonexistent:", "TANDEM_LIBRARY_PATH|entries is empty"},
        {"TANDEM_LIBRARY_PATH=/nonexistent::/tmp", "TANDEM_LIBRARY_PATH|entries is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        probe(cases[i].line, LIST, bad, cases[i].words);
        probe(cases[i].line, OPEN("cpu"), bad, cases[i].words);
    }
    /* The diagnosis works all the same, and shows the variable. */
    probe("TANDEM_BACKEND=opncl", ((const char *const[]){"diagnose", NULL}), "TDM_OK",
          "TANDEM_BACKEND|opncl");
}

/* Empty is unset. */
Test(environment, empty_values) {
    static const char *const lines[] = {
        "TANDEM_BACKEND=",      "TANDEM_DEVICE=",    "TANDEM_CPU_DEVICES=",  "TANDEM_CPU_THREADS=",
        "TANDEM_CPU_COMPILER=", "TANDEM_CACHE_DIR=", "TANDEM_LIBRARY_PATH=", "TANDEM_BLAS=",
        "TANDEM_MATH=",         "TANDEM_TRACE=",     "TANDEM_LOG=",          "TANDEM_PROFILE=",
        "TANDEM_VERIFY="};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        probe(lines[i], OPEN("cpu"), "TDM_OK", "cpu:0");
}

/* The texts have room for any path, but not for any length. */
Test(environment, long_values) {
    static char line[40 << 10] = "TANDEM_CACHE_DIR=/";
    size_t length = strlen(line);
    memset(line + length, 'x', sizeof line - length - 1);
    probe(line, LIST, "TDM_ERROR_ENVIRONMENT", "TANDEM_CACHE_DIR is too long|32768 bytes");
    line[30 << 10] = '\0';
    probe(line, LIST, "TDM_OK", "cpu:0");
    memcpy(line, "XDG_CACHE_HOME=/xx", 18);
    line[30 << 10] = 'x';
    const char *changes[] = {ICD_NONE, "TANDEM_CACHE_DIR", line, NULL};
    probe_gives(changes, "work", "cpu", "TDM_OK|cpu:0");
}

/* A provider that the device does not have is refused by the product, not replaced. */
Test(environment, blas_of_another_device) {
    probe("TANDEM_BLAS=cublas", OPEN("cpu"), "TDM_ERROR_UNSUPPORTED",
          "TANDEM_BLAS|cublas|cpu:0 does not have; it has onednn, openblas, mkl, blis, cblas, "
          "panels, "
          "builtin");
    probe("TANDEM_BLAS=clblast,cublas", OPEN("cpu"), "TDM_ERROR_UNSUPPORTED",
          "TANDEM_BLAS|clblast,cublas|cpu:0 does not have");
}

/* Values that are allowed. */
Test(environment, accepted_values) {
    probe(NULL, LIST, "TDM_OK", "cpu:0|default: cpu:0");
    probe("TANDEM_BACKEND=auto", LIST, "TDM_OK", "default: cpu:0");
    probe("TANDEM_BACKEND=cpu", LIST, "TDM_OK", "default: cpu:0");
    probe("TANDEM_CPU_DEVICES=3", LIST, "TDM_OK", "cpu:0|cpu:1|cpu:2|default: cpu:0");
    CHECK(!contains_words(r.output, "cpu:3"), "more devices than requested: %s", r.output);
    probe("TANDEM_CPU_DEVICES=64", FIND("cpu:63"), "TDM_OK", "cpu:63");
    probe("TANDEM_DEVICE=cpu", LIST, "TDM_OK", "default: cpu:0");
    probe("TANDEM_DEVICE=cpu:0", OPEN("-"), "TDM_OK", "cpu:0");
    probe("TANDEM_BLAS=builtin", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_BLAS=cblas", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_BLAS=clblast,onednn,cblas", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_BLAS=cublas,builtin", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_MATH=tf32", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_MATH=ieee", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_CPU_THREADS=1", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_CPU_COMPILER=none", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_CPU_COMPILER=/nonexistent/cc", OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_LIBRARY_PATH=/nonexistent:/nowhere", OPEN("cpu"), "TDM_OK", "cpu:0");
    /* Variables of other programs, and those that Kubernetes makes for a service called tandem. */
    static const char *const foreign[] = {"TANDEMX=1",
                                          "TANDEM_=1",
                                          "TANDEM_DEBUG=0",
                                          "TANDEM_SERVICE_HOST=10.0.0.1",
                                          "TANDEM_SERVICE_PORT=80",
                                          "TANDEM_PORT=tcp://10.0.0.1:80",
                                          "TANDEM_PORT_80_TCP=x"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        probe(foreign[i], OPEN("cpu"), "TDM_OK", "cpu:0");
    probe("TANDEM_SERVICE_HOST=10.0.0.1", ((const char *const[]){"diagnose", NULL}), "TDM_OK",
          "ok|TANDEM_SERVICE_HOST|ignored: not a variable of Tandem");
}

/* A guess is offered where it may be a slip of the keys, and nowhere else; the devices that exist are listed. */
Test(environment, far_fetched) {
    static const struct {
        const char *variable, *says;
    } cases[] = {
        {"TANDEM_BACKEND=vulkan", "\"vulkan\" is not a backend (allowed: auto, "},
        {"TANDEM_BLAS=rocm", "TANDEM_BLAS is \"rocm\", which is not allowed (allowed: "},
        {"TANDEM_DEVICE=vulkan:0", "device \"vulkan:0\" is not known (listed: cpu:0; also "},
        {"TANDEM_DEVICE=metal", "device \"metal\" is not known (listed: cpu:0; also "},
        {"TANDEM_DEVICE=gpu:0", "device \"gpu:0\" does not exist (listed: cpu:0; `tdm doctor` "},
        {"TANDEM_DEVICE=cpu:3", "\"cpu:3\" does not exist (listed: cpu:0; TANDEM_CPU_DEVICES sets"},
#if TEST_HAS_OPENCL
        {"TANDEM_DEVICE=opencl:0", "device \"opencl:0\" does not exist (listed: cpu:0): "},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *changes[] = {ICD_NONE, CACHE, cases[i].variable, NULL};
        probe_gives(changes, "find", "-", NULL);
        CHECK(strstr(r.output, cases[i].says), "lacks '%s': %s", cases[i].says, r.output);
        CHECK(!strstr(r.output, "did you mean"), "guesses: %s", r.output);
    }
}

/* Device names, in TANDEM_DEVICE and in the API: an index past the end, trailing text, other ways
 * to write a number. The message has the nearest valid name. */
Test(environment, device_names) {
    static const struct {
        const char *name, *words;
    } bad[] = {{"cpu:1", "cpu:1|cpu:0"},
               {"cpu:", "cpu:"},
               {"cpu:00", "cpu:00"},
               {"cpu:01", "cpu:01"},
               {"cpu:99999999999", "cpu:99999999999"},
               {"cpu:99999999999999999999999", "cpu:9999"},
               {"cpu:-1", "cpu:-1"},
               {"cpu:+0", "cpu:+0"},
               {"cpu: 0", "cpu"},
               {"cpu:0 ", "cpu:0"},
               {"cpu:0x0", "cpu:0x0"},
               {"cpu:0:0", "cpu:0:0"},
               {"CPU", "CPU|cpu"},
               {"cpux", "cpux|cpu"},
               {"cpi", "cpi|mean \"cpu\""},
               {"cup", "cup|mean \"cpu\""},
               {"gpu:0", "gpu:0"},
               {"gpu", "gpu"},
               {"npu:0", "npu:0|cpu"},
               {"opncl:0", "opncl"},
               {"cuda:uuid=", "cuda"},
               {"opencl:pci=", "opencl"},
               {"cpu:pci=0000:00:00.0", "cpu"},
               {"0", "0"},
               {",", NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *const arguments[][2] = {{"find", bad[i].name}, {"work", bad[i].name}};
        for (int k = 0; k < 2; k++)
            probe(NULL, arguments[k], "TDM_ERROR_NOT_FOUND", bad[i].words);
        /* Through the environment: an error too, whichever of the two, and never cpu:0. */
        const char *changes[] = {ICD_NONE, CACHE, formatted("TANDEM_DEVICE=%s", bad[i].name), NULL};
        probe_gives(changes, "work", "-", bad[i].words);
        CHECK(strncmp(r.output, "TDM_ERROR_NOT_FOUND\n", 20) == 0 ||
                  strncmp(r.output, "TDM_ERROR_ENVIRONMENT\n", 22) == 0,
              "gave %s", r.output);
    }
    probe(NULL, FIND(""), "TDM_ERROR_NOT_FOUND", NULL);
    probe(NULL, FIND("cpu"), "TDM_OK", "cpu:0");
    probe(NULL, FIND("cpu:0"), "TDM_OK", "cpu:0");
    /* An API call beats the environment. */
    const char *changes[] = {ICD_NONE, CACHE, "TANDEM_CPU_DEVICES=2", "TANDEM_DEVICE=cpu:1", NULL};
    probe_gives(changes, "work", "cpu:0", "TDM_OK|cpu:0");
    probe_gives(changes, "work", "-", "TDM_OK|cpu:1");
}

#if TEST_HAS_OPENCL
/* The first backend of the list that lists a device gives the default, but without a list no CPU through OpenCL does;
 * no device of a backend that alone was requested is an error, not the cpu. */
Test(environment, backend_order) {
    static const struct {
        const char *icd, *line, *words;
    } cases[] = {
        {ICD_POCL, "TANDEM_BACKEND", "TDM_OK|opencl:0|default: cpu:0"},
        {ICD_POCL, "TANDEM_BACKEND=auto", "TDM_OK|opencl:0|default: cpu:0"},
        {ICD_POCL, "TANDEM_BACKEND=opencl", "TDM_OK|default: opencl:0"},
        {ICD_POCL, "TANDEM_BACKEND=cpu,opencl", "TDM_OK|opencl:0|default: cpu:0"},
        {ICD_POCL, "TANDEM_BACKEND=opencl,cpu", "TDM_OK|cpu:0|default: opencl:0"},
        {ICD_NONE, "TANDEM_BACKEND=opencl,cpu", "TDM_OK|default: cpu:0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *changes[] = {cases[i].icd, CACHE, cases[i].line, NULL};
        probe_gives(changes, "list", NULL, cases[i].words);
    }
    const char *changes[] = {ICD_NONE, CACHE, "TANDEM_BACKEND=opencl", NULL};
    probe_gives(changes, "work", "-", "opencl|no OpenCL ICD is installed|pocl-opencl-icd");
    CHECK(strncmp(r.output, "TDM_ERROR_", 10) == 0, "gave %s", r.output);
    /* a device of a backend that is not in the list */
    probe_gives(changes, "find", "cpu", "TDM_ERROR_NOT_FOUND|TANDEM_BACKEND");
}
#endif
