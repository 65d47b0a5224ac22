/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The program `tdm`: its commands, its JSON, its refusals. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

TestSuite(program, .init = random_start);

static void tdm(const char *icd, const char *arguments, int status, const char *words) {
    const char *changes[] = {icd, CACHE, NULL};
    seconds = 300;
    gives_with(changes, formatted(TEST_PROGRAM " %s", arguments), status, words);
}

/* `tdm devices` lists and exits 0 with and without drivers; its JSON has what the API returns. */
Test(program, devices) {
    tdm("OCL_ICD_VENDORS=/nonexistent", "devices", 0, "cpu:0");
    static const char *const icds[] = {ICD_NONE, ICD_POCL, ICD_BROKEN};
    for (int i = 0; i < 3; i++) {
        tdm(icds[i], "devices --json 2>/dev/null", 0, NULL);
        json_error_t error;
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
        CHECK(root, "no JSON: %s in %s", error.text, r.output);
        json_t *list = json_is_array(root) ? root : json_object_get(root, "devices");
        CHECK(json_array_size(list) >= (size_t)(i > 0 && TEST_HAS_OPENCL ? 2 : 1), "%s", r.output);
        json_t *device = NULL;
        size_t index = 0;
        json_array_foreach(list, index, device) {
            CHECK(json_is_string(json_object_get(device, "id")) &&
                      json_is_string(json_object_get(device, "name")) &&
                      json_is_string(json_object_get(device, "backend")),
                  "device %zu lacks a text: %s", index, r.output);
        }
        json_decref(root);
    }
    tdm("TANDEM_BACKEND=opncl", "devices", 1, "opencl|TANDEM_BACKEND");
}

static void check_usage(json_t *usage) {
    static const char *const figures[] = {"memory_used", "memory_total", "utilization",
                                          "temperature", "power",        "power_limit"};
    for (int i = 0; i < 6; i++) {
        json_t *figure = json_object_get(usage, figures[i]);
        CHECK(json_is_integer(figure) || json_is_null(figure), "no %s: %s", figures[i], r.output);
    }
    CHECK(json_is_integer(json_object_get(usage, "tandem_reserved")), "%s", r.output);
    CHECK(json_is_array(json_object_get(usage, "processes")), "%s", r.output);
}

/* The table has every column and stays within the page; the JSON has all of it. */
Test(program, devices_and_their_usage) {
    tdm(ICD_POCL, "devices", 0,
        "Memory used / total|Held by Tandem|Utilization|Temperature|"
        "Power / limit|Bus address = same card|f64|cpu 1|"
        "physical GPUs 0|cpu:0");
    size_t width = strcspn(r.output, "\n");
    CHECK(width >= 80 && width <= 130, "%zu columns", width);
    for (const char *line = r.output; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") == width, "a line of another width: %s", line);

    tdm(ICD_NONE, "devices --json", 0, NULL);
    json_error_t error;
    json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
    CHECK(root, "no JSON: %s in %s", error.text, r.output);
    CHECK(json_is_string(json_object_get(root, "time")), "%s", r.output);
    CHECK(json_integer_value(json_object_get(json_object_get(root, "device_counts"), "cpu")) == 1,
          "%s", r.output);
    CHECK(json_is_integer(json_object_get(root, "physical_gpus")), "%s", r.output);
    json_t *device = json_array_get(json_object_get(root, "devices"), 0);
    CHECK(json_is_true(json_object_get(device, "default")), "%s", r.output);
    CHECK(json_is_null(json_object_get(device, "pci")), "%s", r.output);
    check_usage(json_object_get(device, "usage"));
    json_decref(root);
}

/* --watch goes on until Ctrl-C, which is no failure; with --json every line is a document. */
Test(program, devices_watched) {
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    run_shell(
        changes,
        formatted("timeout --preserve-status -s INT 2 '%s' devices --watch 0.1; echo status $?",
                  TEST_PROGRAM),
        60, &r);
    const int tables = times("physical GPUs");
    CHECK(tables >= 3, "%d tables in 2 seconds: %s", tables, r.output);
    SAYS("status 0");
    CHECK(!strchr(r.output, '\033'), "clears the screen where there is none");

    run_shell(changes,
              formatted("timeout --preserve-status -s INT 1 '%s' devices --json --watch .2",
                        TEST_PROGRAM),
              60, &r);
    CHECK(r.exit_status == 0, "exit status %d", r.exit_status);
    int documents = 0;
    for (char *line = r.output, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_error_t error;
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        CHECK(root, "no JSON: %s in %s", error.text, line);
        json_decref(root);
        documents++;
    }
    CHECK(documents >= 2, "%d documents in a second", documents);
}

/* `tdm doctor` answers with every library, driver and variable, and parses as JSON. */
Test(program, doctor) {
    tdm(ICD_BROKEN, "doctor", TEST_HAS_OPENCL ? 1 : 0, NULL);
#if TEST_HAS_OPENCL
    SAYS("libOpenCL|libbroken-icd.so|clblast");
#endif
    tdm("OCL_ICD_VENDORS=/nonexistent", "doctor", 0, "cpu");
    tdm(ICD_POCL, "doctor --json 2>/dev/null", 0, NULL);
    json_error_t error;
    json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
    CHECK(root, "no JSON: %s in %s", error.text, r.output);
    /* a library is named as the file that was found */
    size_t i = 0, libraries = 0;
    const json_t *item;
    json_array_foreach(json_object_get(root, "diagnostics"), i, item) {
        const char *subject = json_string_value(json_object_get(item, "subject"));
        const char *detail = json_string_value(json_object_get(item, "detail"));
        const char *file = detail ? strrchr(detail, '/') : NULL;
        const size_t length = detail ? strlen(detail) : 0; /* reasons stand between separators */
        CHECK(length < 2 || strcmp(detail + length - 2, "; ") != 0, "%s: '%s'", subject, detail);
        if (!json_is_true(json_object_get(item, "ok")) || strncmp(subject, "lib", 3) != 0) continue;
        CHECK(file && strncmp(subject, file + 1, strcspn(file + 1, " ")) == 0, "%s: %s", subject,
              detail);
        libraries++;
    }
    CHECK(libraries > 0, "%s", r.output);
    json_decref(root);
    /* A bad environment is an item of the diagnosis. */
    tdm("TANDEM_BACKEND=opncl", "doctor", 1, "opncl|opencl|TANDEM_BACKEND");
}

/* Wrong arguments: exit status 2 and a useful message; --help: 0. */
Test(program, arguments) {
    static const struct {
        const char *arguments, *words;
    } wrong[] = {{"", "usage"},
                 {"device", "device|devices"},
                 {"devices --jsn", "--jsn"},
                 {"devices --jason", "--jason|--json"},
                 {"devices --wach", "--wach|--watch"},
                 {"devices extra", "extra"},
                 {"devices --watch 0", "--watch|0|seconds"},
                 {"devices --watch -1", "--watch|-1|seconds"},
                 {"devices --watch soon", "--watch|soon|seconds"},
                 {"devices --watch 1s", "--watch|1s|seconds"},
                 {"devices --watch inf", "--watch|inf|seconds"},
                 {"devices --watch ''", "--watch|seconds"},
                 {"devices --watch 1 2", "unexpected argument '2'"},
                 {"devices --watch --jsn", "--jsn|--json"},
                 {"doctor --verbose", "--verbose"},
                 {"doctor --timeout", "--timeout|seconds"},
                 {"doctor --timeout 0", "--timeout|0|seconds"},
                 {"doctor --timeout 1e3", "--timeout|1e3|seconds"},
                 {"devices --timeout x", "--timeout|x|seconds"},
                 {"bench --op layernorm", "layernorm|layer_norm"},
                 {"bench --op", "--op"},
                 {"bench --device gppu", "gppu"},
                 {"bench --device cpu:7", "cpu:7"},
                 {"bench --dtype f31", "f31"},
                 {"bench --shape 3xq", "no case"},
                 {"bench --shape 3xq --list", "no case"},
                 {"bench --profile fulll", "fulll|did you mean 'full'"},
                 {"doctor --json /nonexistent/folder/f", "doctor: --json /nonexistent"},
                 {"bench --json /dev/null", "--json /dev/null|not a regular file"},
                 {"bench --json /nonexistent/folder/f --op fill --profile quick", "/nonexistent"},
                 {"bench quick", "quick"},
                 {"--devices", "--devices"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        tdm(ICD_NONE, wrong[i].arguments, 2, wrong[i].words);
    static const char *const help[] = {"--help", "devices --help", "doctor --help", "bench --help",
                                       "--version"};
    for (int i = 0; i < 5; i++) {
        tdm(ICD_NONE, help[i], 0, NULL);
        CHECK(strlen(r.output) > 5, "says nothing");
    }
    /* Output that cannot be written is a failure, and reported as one; a stdout that is closed and
     * not needed is none. */
    static const char *const printing[] = {
        "--help",        "--version",      "devices",       "devices --json", "doctor",
        "doctor --json", "devices --help", "doctor --help", "bench --help",   "bench --list"};
    for (int i = 0; i < 10; i++) {
        tdm(ICD_NONE, formatted("%s >/dev/full", printing[i]), 1,
            "output could be written|No space left on device");
        tdm(ICD_NONE, formatted("%s >&-", printing[i]), 1,
            "output could be written|Bad file descriptor");
    }
    tdm(ICD_NONE, "bench --op fill --shape 0x0 >&-", 2, NULL);
    /* A pipe that closes is no crash. */
    tdm(ICD_NONE, "devices | true", 0, NULL);
}

static bool is_positive(const json_t *row, const char *name) {
    return json_number_value(json_object_get(row, name)) > 0.0;
}

/* A small benchmark: verified rows with every promised field. */
Test(program, benchmark) {
    const char *file = TEST_SCRATCH "/bench.json";
    tdm(ICD_NONE,
        "bench --profile quick --device cpu --dtype f32 --op layer_norm,matmul,norm_l2 "
        "--shape 8x8,64x64,256x4096,64x64x64,512x512x512 --json " TEST_SCRATCH "/bench.json",
        0, NULL);
    json_error_t error;
    json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
    CHECK(root, "no JSON: %s", error.text);
    CHECK(json_is_object(json_object_get(root, "machine")), "no machine");
    json_t *rows = json_object_get(root, "rows"), *row = NULL;
    CHECK(json_array_size(rows) > 0, "no rows");
    size_t i = 0;
    json_array_foreach(rows, i, row) {
        static const char *const texts[] = {"device", "backend", "op",
                                            "dtype",  "shape",   "baseline"};
        static const char *const figures[] = {
            "seconds_median",          "seconds_min",        "ratio",
            "baseline_seconds_median", "first_call_seconds", "error_bound"};
        for (int k = 0; k < 6; k++) {
            CHECK(json_is_string(json_object_get(row, texts[k])), "row %zu: no %s", i, texts[k]);
            CHECK(is_positive(row, figures[k]), "row %zu: %s", i, figures[k]);
        }
        CHECK(is_positive(row, "gflops") || is_positive(row, "gbytes_per_s"), "row %zu: speed", i);
        CHECK(json_is_number(json_object_get(row, "max_error")), "row %zu: max_error", i);
        CHECK(json_is_true(json_object_get(row, "verified")), "row %zu is not verified", i);
    }
    json_decref(root);
}

/* The variables choose for it as for any program, and an option beats them. */
Test(program, benchmark_devices) {
    static const struct {
        const char *variables, *arguments, *words;
        int status;
    } cases[] = {
        {"TANDEM_DEVICE=opencl:99", "", "TANDEM_DEVICE|opencl:99|does not exist", 1},
        {"TANDEM_DEVICE=cpu:2", "", "TANDEM_DEVICE|cpu:2|does not exist", 1},
        {"TANDEM_DEVICE=cpx:0", "", "TANDEM_DEVICE|cpx", 1},
        {"TANDEM_DEVICE=cpu:1", "", "1 rows|cpu:1", 0},
        {"TANDEM_DEVICE=opencl:99", "--device=cpu:0", "1 rows|cpu:0", 0},
        {"TANDEM_DEVICE=cpu:1", "--device cpu:0", "1 rows|cpu:0", 0},
        {"TANDEM_BACKEND=cpu", "", "2 rows|cpu:0|cpu:1", 0},
        {"TANDEM_BACKEND=cpu", "--device opencl:0", "opencl:0", 2},
        {"TANDEM_BACKEND=cpx", "", "TANDEM_BACKEND|cpx", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *changes[] = {ICD_NONE, CACHE, "TANDEM_CPU_DEVICES=2", cases[i].variables, NULL};
        gives_with(changes,
                   formatted(TEST_PROGRAM
                             " bench --op layer_norm --shape 8x8 --dtype f32 --format table %s",
                             cases[i].arguments),
                   cases[i].status, cases[i].words);
        CHECK(!strstr(r.output, "rows,") == (cases[i].status != 0), "%s", r.output);
    }
}

/* No output for people is wider than the page, whose width is COLUMNS; --wide has it all. */
Test(program, benchmark_table) {
    static const char one[] = "bench --op empty --device cpu:0";
    static const char two[] =
        "bench --profile lesson --op two_devices --shape 512x512x512 --device cpu:0,cpu:1";
    static const struct {
        const char *columns, *after, *words;
        size_t width;
    } pages[] = {{"COLUMNS", "", "ratio|1 rows, 0 not verified|the two devices share", 80},
                 {"COLUMNS=60", "", "ratio", 60},
                 {"COLUMNS=nonsense", "", "ratio", 80},
                 {"COLUMNS=300", "", "ratio|error / bound", 300},
                 {"COLUMNS=70", "--wide", "ratio|error / bound|its median", 400}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        const char *changes[] = {ICD_NONE, CACHE, "TANDEM_CPU_DEVICES=2", pages[i].columns, NULL};
        gives_with(changes,
                   formatted(TEST_PROGRAM " %s %s 2>/dev/null", i ? one : two, pages[i].after), 0,
                   pages[i].words);
        for (const char *line = r.output; *line; line += strcspn(line, "\n") + 1)
            CHECK(strcspn(line, "\n") <= pages[i].width, "%zu: %s", strcspn(line, "\n"), line);
        CHECK(!strstr(r.output, "error / bound") == (pages[i].width <= 250), "%s", r.output);
    }
}

/* Every format has the same rows, and on stdout nothing else. */
Test(program, benchmark_formats) {
    static const char rows[] =
        "bench --device cpu --op empty,layer_norm --shape 1,8x8 --dtype f32 --format ";
    static const char check[] = "python3 " TEST_SOURCE "/tests/python/check_schema.py " TEST_SOURCE
                                "/bench/report/schema.json ";
    json_error_t error;
    tdm(ICD_NONE,
        formatted("%sjson --json " TEST_SCRATCH "/formats.json 2>/dev/null >" TEST_SCRATCH
                  "/printed.json && %s " TEST_SCRATCH "/printed.json && %s " TEST_SCRATCH
                  "/formats.json",
                  rows, check, check),
        0, NULL);
    json_t *root = json_load_file(TEST_SCRATCH "/printed.json", JSON_REJECT_DUPLICATES, &error);
    CHECK(root, "no JSON: %s", error.text);
    CHECK(json_integer_value(json_object_get(root, "schema")) == 1, "schema");
    const json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    CHECK(json_array_size(json_object_get(root, "rows")) == 3, "not three rows");
    CHECK(json_array_size(json_object_get(row, "seconds")) >= 3, "no samples");
    json_decref(root);
    /* the check would see it */
    tdm(ICD_NONE,
        formatted(
            "--version >/dev/null; sed 's/\"device\": \"cpu:0\", //; s/\"schema\": 1/\"schema\": "
            "2/' " TEST_SCRATCH "/printed.json >" TEST_SCRATCH "/wrong.json; %s " TEST_SCRATCH
            "/wrong.json",
            check),
        1, "$.schema|2|rows[0]: device is missing");

    tdm(ICD_NONE, formatted("%sjsonl 2>/dev/null", rows), 0, NULL);
    int lines = 0;
    for (char *line = r.output, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = '\0';
        root = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        CHECK(json_is_string(json_object_get(root, "op")) &&
                  json_is_string(json_object_get(root, "commit")),
              "%s", line);
        json_decref(root);
    }
    CHECK(lines == 3, "%d lines", lines);
    tdm(ICD_NONE, formatted("%scsv 2>/dev/null | cut -d, -f1,4,6,19", rows), 0, NULL);
    CHECK(strcmp(r.output, "device,op,shape,verified\ncpu:0,empty,1,true\n"
                           "cpu:0,empty+finish,1,true\ncpu:0,layer_norm,8x8,true\n") == 0,
          "%s", r.output);
    tdm(ICD_NONE, formatted("%smd 2>/dev/null | grep '^|'", rows), 0, NULL);
    CHECK(strncmp(r.output, "| device | op | dtype | shape | median |", 40) == 0 &&
              strstr(r.output, "| note |\n| --- | --- | --- | --- | ---: |") &&
              strstr(r.output, "\n| cpu:0 | layer_norm | f32 | 8x8 |"),
          "%s", r.output);
    const char *line = r.output;
    for (int bars = 0, wanted = 0; *line; line += strcspn(line, "\n") + 1, bars = 0) {
        for (size_t i = 0; line[i] && line[i] != '\n'; i++)
            bars += line[i] == '|';
        if (!wanted) wanted = bars;
        CHECK(bars == wanted && bars == 14, "%d bars: %s", bars, line);
    }
}

#if TEST_HAS_OPENCL
/* A first call that compiles kernels for a second says nothing of how long the next ones take:
 * samples of a small operation hold many calls all the same, or its ratio would be that of one call
 * and a wait, about 0.01. */
Test(program, bench_with_cold_caches) {
    const char *changes[] = {ICD_POCL, NULL};
    run_shell(
        changes,
        "d=$(mktemp -d) && mkdir $d/pocl && POCL_CACHE_DIR=$d/pocl TANDEM_CACHE_DIR=$d/tandem "
        "'" TEST_PROGRAM "' bench --profile full --device opencl:0 --op layer_norm --dtype f32 "
        "--shape 8x8 --json $d/rows.json && cat $d/rows.json; status=$?; rm -rf $d; exit $status",
        120, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    const char *first = strstr(r.output, "\"first_call_seconds\": ");
    const char *ratio = strstr(r.output, "\"ratio\": ");
    CHECK(first && ratio, "no such row: %s", r.output);
    if (!first || !ratio) return;
    CHECK(strtod(strchr(ratio, ' '), NULL) > 0.1, "a ratio as of single calls: %s", r.output);
}
#endif

#endif
