/* The program `tandem`: its commands, its JSON, its refusals. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(program, .init = random_start);

static run_result r;

static void tandem(const char *icd, const char *arguments, int status) {
    char command[2048];
    const char *changes[] = {icd, CACHE, NULL};
    snprintf(command, sizeof command, "'%s' %s", TEST_PROGRAM, arguments);
    check_case("%s tandem %s", icd, arguments);
    run_shell(changes, command, 300, &r);
    CHECK(r.exit_status == status, "exit status %d, not %d: %s", r.exit_status, status, r.output);
}

/* `tandem devices` lists and exits 0 with and without drivers; its JSON has what the API tells. */
Test(program, devices) {
    tandem("OCL_ICD_VENDORS=/nonexistent", "devices", 0);
    CHECK(contains_words(r.output, "cpu:0"), "%s", r.output);
    static const char *const icds[] = {ICD_NONE, ICD_POCL, ICD_BROKEN};
    for (int i = 0; i < 3; i++) {
        tandem(icds[i], "devices --json 2>/dev/null", 0);
        json_error_t error;
        json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
        CHECK(root != NULL, "no JSON: %s in %s", error.text, r.output);
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
    tandem("TANDEM_BACKEND=opncl", "devices", 1);
    CHECK(contains_words(r.output, "opencl|TANDEM_BACKEND"), "%s", r.output);
}

/* `tandem doctor` answers with every library, driver and variable, and parses as JSON. */
Test(program, doctor) {
    tandem(ICD_BROKEN, "doctor", 0);
#if TEST_HAS_OPENCL
    CHECK(contains_words(r.output, "libOpenCL|libbroken-icd.so|clblast"), "%s", r.output);
#endif
    tandem("OCL_ICD_VENDORS=/nonexistent", "doctor", 0);
    CHECK(contains_words(r.output, "cpu"), "%s", r.output);
    tandem(ICD_POCL, "doctor --json 2>/dev/null", 0);
    json_error_t error;
    json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
    CHECK(root != NULL, "no JSON: %s in %s", error.text, r.output);
    json_decref(root);
    /* A bad environment is an item of the diagnosis. */
    tandem("TANDEM_BACKEND=opncl", "doctor", 1);
    CHECK(contains_words(r.output, "opncl|opencl|TANDEM_BACKEND"), "%s", r.output);
}

/* Wrong arguments: exit status 2 and a useful message; --help: 0. */
Test(program, arguments) {
    static const struct {
        const char *arguments, *words;
    } wrong[] = {{"", "usage"},
                 {"device", "device|devices"},
                 {"devices --jsn", "--jsn"},
                 {"devices extra", "extra"},
                 {"doctor --verbose", "--verbose"},
                 {"bench --op layernorm", "layernorm|layer_norm"},
                 {"bench --op", "--op"},
                 {"bench --device gppu", "gppu"},
                 {"bench --device cpu:7", "cpu:7"},
                 {"bench --dtype f31", "f31"},
                 {"bench --shape 3xq", "no case"},
                 {"bench --shape 3xq --list", "no case"},
                 {"bench --profile fast", "fast|did you mean"},
                 {"bench --json", "--json"},
                 {"bench --json /nonexistent/folder/f --op fill --profile quick", "/nonexistent"},
                 {"bench quick", "quick"},
                 {"--devices", "--devices"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tandem(ICD_NONE, wrong[i].arguments, 2);
        CHECK(contains_words(r.output, wrong[i].words), "%s", r.output);
    }
    static const char *const help[] = {"--help", "devices --help", "doctor --help", "bench --help",
                                       "--version"};
    for (int i = 0; i < 5; i++) {
        tandem(ICD_NONE, help[i], 0);
        CHECK(strlen(r.output) > 5, "says nothing");
    }
    /* A pipe that closes is no crash. */
    tandem(ICD_NONE, "devices | true", 0);
}

static bool is_positive(const json_t *row, const char *name) {
    return json_number_value(json_object_get(row, name)) > 0.0;
}

/* A small benchmark: verified rows with every promised field. */
Test(program, benchmark) {
    const char *file = TEST_SCRATCH "/bench.json";
    tandem(ICD_NONE,
           "bench --profile quick --device cpu --dtype f32 --op layer_norm,matmul,norm_l2 "
           "--shape 8x8,64x64,256x4096,64x64x64,512x512x512 --json " TEST_SCRATCH "/bench.json",
           0);
    json_error_t error;
    json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
    CHECK(root != NULL, "no JSON: %s", error.text);
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
#endif
