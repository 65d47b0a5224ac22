/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* TANDEM_LOG and TANDEM_PROFILE, of a program that knows neither. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "shell.h"

static void start(void) { shell_start("output"); }

TestSuite(output, .init = start, .fini = shell_stop);

/* The command's output has these words, and none of the others. */
static void shows(const char *command, const char *words, const char *others) {
    check_case("%s", command);
    shell(command);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    SAYS(words);
    CHECK(!others || !strstr(r.output, others), "has \"%s\": %s", others, r.output);
}

#define WORK TEST_PROBE " work -"
#define OPENED "tandem: info: opened cpu:0 ("
#define DEFAULT "tandem: info: the default device is cpu:0, "

Test(output, log_levels) {
    shows("TANDEM_LOG=error " WORK, "TDM_OK", "tandem: ");
    shows("TANDEM_LOG=warn " WORK, "TDM_OK", "tandem: ");
    shows("TANDEM_LOG=warn TANDEM_CACHE_DIR=/dev/null/x TANDEM_TRACE=/dev/full " WORK,
          "tandem: warning: TANDEM_TRACE: nothing can be written", "tandem: info");
    shows("TANDEM_LOG=info " WORK,
          "TDM_OK|tandem: info: cpu: 1 device|" OPENED "|" DEFAULT "as there is no GPU",
          "tandem: debug");
    shows("TANDEM_LOG=info TANDEM_BACKEND=cpu " WORK, DEFAULT "decided by TANDEM_BACKEND", "cuda");
    shows("TANDEM_LOG=info TANDEM_DEVICE=cpu:0 " WORK, DEFAULT "decided by TANDEM_DEVICE", NULL);
    shows("TANDEM_LOG=debug TANDEM_BLAS=builtin " WORK,
          OPENED "|tandem: debug: products of f32 16x16x16 transpose_b are computed by builtin\n",
          "0x");
    /* each line of stderr is one of the log's */
    shows("TANDEM_LOG=debug " WORK " 2>&1 >/dev/null | grep -v '^tandem: [a-z]*: ' | wc -l", "0\n",
          NULL);
#if TEST_HAS_OPENCL
    shows("TANDEM_LOG=info TANDEM_BACKEND=opencl " TEST_PROBE " list",
          "opencl: 0 devices: no "
          "OpenCL ICD is installed",
          NULL);
#endif
}

Test(output, log_file) {
    shows("TANDEM_LOG=info:$D/log " WORK " && TANDEM_LOG=info:$D/log " WORK
          " && grep -cF 'info: opened cpu:0 (' $D/log",
          "TDM_OK|\n2\n", "tandem: ");
    shows("mkfifo $D/pipe; TANDEM_LOG=info:$D/pipe " WORK, "TDM_ERROR_ENVIRONMENT|TANDEM_LOG",
          NULL);
}

Test(output, log_without_room) {
    shows("(ulimit -f 0; TANDEM_LOG=info:$D/none " WORK "); wc -c <$D/none", "TDM_OK|0\n", NULL);
}

#define PYTHON "python3 -c '\nimport json, sys\n"
#define EVENTS "e = json.load(open(sys.argv[1]))\n"
#define SPANS                                                                                      \
    "x = [i for i in e if i[\"ph\"] == \"X\"]\n"                                                   \
    "assert all(i[\"dur\"] >= 0 and i[\"ts\"] > 0 and i[\"pid\"] > 0 and i[\"tid\"] > 0 "          \
    "for i in x)\n"                                                                                \
    "def find(cat, name): return [i for i in x if (i[\"cat\"], i[\"name\"]) == (cat, name)]\n"

Test(output, profile) {
    shows(
        "TANDEM_PROFILE=$D/p.json TANDEM_BLAS=builtin " WORK " && " PYTHON EVENTS SPANS
        "n, = find(\"call\", \"tdm_layer_norm\")\n"
        "a = n[\"args\"]\n"
        "assert (a[\"dtype\"], a[\"shape\"], a[\"backend\"]) == (\"f32\", \"[16, 16]\", \"cpu\")\n"
        "l, = find(\"launch\", \"tdm_layer_norm\")\n"
        "assert l[\"args\"][\"function\"] == \"tdm_layer_norm\" and l[\"args\"][\"queue\"] == 1\n"
        "assert n[\"ts\"] <= l[\"ts\"] and l[\"ts\"] + l[\"dur\"] <= n[\"ts\"] + n[\"dur\"] + .01\n"
        "assert find(\"call\", \"tdm_device_open\") and find(\"call\", \"tdm_matmul\")\n"
        "assert find(\"copy\", \"write\")[0][\"args\"][\"bytes\"] == 1024\n"
        "assert find(\"wait\", \"wait\")\nprint(len(x), \"spans\")' $D/p.json",
        "TDM_OK|spans", NULL);
    /* a second program's takes its place, and "%p" is the process's number */
    shows("TANDEM_PROFILE=$D/p.json " TEST_PROBE " list && TANDEM_PROFILE=$D/%p.json " TEST_PROBE
          " list && rm $D/p.json && ls $D/*[0-9].json && " PYTHON EVENTS
          "print(len(e), \"events\")' $D/*.json",
          "events", NULL);
}

/* Every thread has its events, one whole event after the other. */
Test(output, profile_of_threads) {
    shows("TANDEM_PROFILE=$D/p.json " TEST_PROBE " join cpu && " PYTHON EVENTS SPANS
          "print(len({i[\"tid\"] for i in find(\"call\", \"tdm_layer_norm\")}), \"threads\")' "
          "$D/p.json",
          "TDM_OK|2 threads", NULL);
    shows("TANDEM_PROFILE=$D/p.json " TEST_PROBE " fork cpu && " PYTHON EVENTS SPANS
          "print(len({i[\"pid\"] for i in x}), \"process\")' $D/p.json",
          "1 process", NULL);
}

/* A device's work lies on a line of its queue: each piece after it was given to the queue, one after the other. */
#define LINES                                                                                      \
    "cat >$D/lines.py <<'END'\nimport json, sys\n" EVENTS SPANS                                    \
    "def end(i): return i[\"ts\"] + i[\"dur\"]\n"                                                  \
    "d = [i for i in x if i[\"cat\"] == \"device\"]\n"                                             \
    "h = [i for i in x if i[\"cat\"] in (\"launch\", \"product\")]\n"                              \
    "h = find(\"graph\", \"graph\") or h\n"                                                        \
    "line, = {i[\"tid\"] for i in d}\n"                                                            \
    "n, = [i for i in e if i[\"ph\"] == \"M\" and i.get(\"tid\") == line]\n"                       \
    "assert n[\"args\"][\"name\"] == sys.argv[2] + \", queue 1\", n\n"                             \
    "assert line not in {i[\"tid\"] for i in h}\n"                                                 \
    "assert [(i[\"name\"], i[\"args\"]) for i in d] == [(i[\"name\"], i[\"args\"]) for i in h]\n"  \
    "assert all(a[\"ts\"] >= b[\"ts\"] for a, b in zip(d, h)), (d, h)\n"                           \
    "assert all(b[\"ts\"] >= end(a) - 2 for a, b in zip(d, d[1:])), d\n"                           \
    "assert end(d[-1]) <= end(find(\"wait\", \"wait\")[-1]) + 1000, d\n"                           \
    "print(*[i[\"name\"] for i in d], *[\"long\" for i in d if i[\"dur\"] > 1000])\nEND\n"

static void check_lines(const char *machine, const char *device) {
    char command[4000];
    snprintf(command, sizeof command,
             LINES
             "profile() { %s TANDEM_PROFILE=$D/p.json " TEST_PROBE
             " $1 %s $2 2>&1 && python3 $D/lines.py $D/p.json %s; }\n"
             "profile work && profile replay && export TANDEM_BLAS=builtin && profile work && "
             "profile explain 'f32 500 500 500'",
             machine, device, device);
    /* a call of the last product returns at once */
    shows(command,
          "TDM_OK|tdm_layer_norm |tdm_layer_norm tdm_matmul|graph graph graph|tdm_matmul long",
          "cuda_sim:");
}

Test(output, profile_of_devices) {
#if TEST_HAS_OPENCL
    check_lines(ICD_POCL " " CACHE, "opencl:0");
#endif
#ifdef TEST_CUDA_SIM
    check_lines("TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM " TDM_CUDA_SIM=leaks=1", "cuda:0");
#endif
}

/* Chrome reads an array without its end. */
Test(output, profile_of_a_killed_process) {
    shows("TANDEM_PROFILE=$D/p.json " TEST_PROBE " hold cpu 4096 >$D/out & p=$!; "
          "until grep -q TDM_OK $D/out; do sleep 0.1; done; kill -9 $p; " PYTHON
          "e = json.loads(open(sys.argv[1]).read() + \"]\")\n"
          "print([i[\"name\"] for i in e])' $D/p.json",
          "tdm_device_open", NULL);
}
