/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark's profile of a lesson's exercises: its own cases, on one device and on two. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "support/folder.h"

TestSuite(lesson, .init = folder_start, .fini = folder_remove);

static void bench(const char *change, const char *arguments, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, change, NULL};
    seconds = 300;
    gives_with(changes,
               formatted("TMPDIR='%s' " TEST_PROGRAM " bench --profile lesson %s", folder_path("."),
                         arguments),
               status, words);
}

/* The rows of the run; NULL fails the test. */
static json_t *load(size_t wanted) {
    json_error_t error;
    json_t *root = json_load_file(folder_path("rows.json"), 0, &error);
    const size_t rows = json_array_size(json_object_get(root, "rows"));
    CHECK(rows == wanted, "%zu rows, not %zu: %s", rows, wanted, r.output);
    return root;
}

static bool is_positive(const json_t *row, const char *key) {
    return json_number_value(json_object_get(row, key)) > 0.0;
}

Test(lesson, list) {
    bench(NULL, "--list", 0,
          "matmul+norm_l2_logged|matmul+norm_l2_kept|1000*100x100x100|"
          "two_devices|copy_h2d|file_save|file_load|5000x5000x10000|to_device+same|"
          "fill_uniform");
    bench(NULL, "--list --op file_load --shape 16384 --dtype f32", 0, NULL);
    CHECK(contains_words(r.output, "file_load") && !strstr(r.output, "file_save"), "%s", r.output);
}

/* Norms and files on one device. The cases of two devices say what they need. */
Test(lesson, one_device) {
    bench(NULL,
          formatted("--device cpu --op "
                    "matmul+norm_l2_logged,matmul+norm_l2_kept,file_save,file_load,two_devices "
                    "--shape '1000*100x100x100,16384,512x512x512' --json '%s'",
                    folder_path("rows.json")),
          0, "two_devices|needs two devices");
    /* a library without safetensors says so, and the cases of files are skipped too */
    SAYS(TEST_HAS_SAFETENSORS ? "1 skipped" : "built without|3 skipped");
    json_t *root = load(TEST_HAS_SAFETENSORS ? 4 : 2), *row = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(root, "rows"), i, row) {
        CHECK(json_is_true(json_object_get(row, "verified")), "row %zu: %s", i, r.output);
        CHECK(is_positive(row, "seconds_median") && is_positive(row, "ratio"), "row %zu", i);
    }
    json_decref(root);
    CHECK(folder_holds("rows.json"), "files were left");
    bench(NULL, "--device cpu --op two_devices --shape 512x512x512", 1, "needs two devices");
}

/* Two devices of one machine: verified, and reported to share its cores. Named ones give all
 * pairs. */
Test(lesson, two_devices) {
    char arguments[1024];
    snprintf(arguments, sizeof arguments, "--op two_devices --shape 512x512x512 --json '%s'",
             folder_path("rows.json"));
    bench("TANDEM_CPU_DEVICES=3", arguments, 0, NULL);
    json_t *root = load(1);
    const json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    const char *second = json_string_value(json_object_get(row, "second_device"));
    const char *note = json_string_value(json_object_get(row, "note"));
    CHECK(json_is_true(json_object_get(row, "verified")), "%s", r.output);
    CHECK(second && strcmp(second, "cpu:1") == 0, "%s", r.output);
    CHECK(note && contains_words(note, "share|cores"), "%s", r.output);
    CHECK(is_positive(row, "ratio") && is_positive(row, "gflops"), "%s", r.output);
    json_decref(root);
    strcat(arguments, " --device cpu:0,cpu:1,cpu:2");
    bench("TANDEM_CPU_DEVICES=3", arguments, 0, NULL);
    json_decref(load(3));
}

/* A tensor to the other device, back, and to where it is, which copies nothing. */
Test(lesson, to_device) {
    bench("TANDEM_CPU_DEVICES=2", formatted("--op to_device --json '%s'", folder_path("rows.json")),
          0, NULL);
    json_t *root = load(4), *row = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(root, "rows"), i, row) {
        CHECK(json_is_true(json_object_get(row, "verified")), "row %zu: %s", i, r.output);
        CHECK(is_positive(row, "ratio"), "row %zu: %s", i, r.output);
    }
    json_decref(root);
}

/* A Python without PyTorch, or none, is reported before anything is measured. */
Test(lesson, no_pytorch) {
    bench(NULL, "--op matmul --shape 64x64x64 --pytorch /nonexistent/python3", 2,
          "--pytorch|/nonexistent/python3");
    bench(NULL, "--op matmul --shape 64x64x64 --pytorch false", 2, NULL);
    CHECK(!strstr(r.output, "median"), "it measured: %s", r.output);
}

/* A Python that has PyTorch until it is needed: the row stays verified, and the page has what
 * Python said as text, not as HTML. */
Test(lesson, broken_pytorch) {
    size_t size;
    static const char script[] = "#!/bin/sh\n[ $3 = list ] && echo torch 2 && exit 0\n"
                                 "echo '<b>no & \"torch\"' >&2\nexit 1\n";
    file_write(folder_path("python"), script, sizeof script - 1);
    CHECK(chmod(folder_path("python"), 0755) == 0, "chmod");
    bench(
        NULL,
        formatted("--device cpu --op matmul+norm_l2_kept --shape '1000*100x100x100' --pytorch '%s' "
                  "--report '%s'",
                  folder_path("python"), folder_path("page.html")),
        0, "no PyTorch|<b>no & \"torch\"");
    char *page = (char *)file_read(folder_path("page.html"), &size);
    CHECK(page && strstr(page, "&lt;b&gt;no &amp; &quot;torch&quot;"), "the text is not there");
    CHECK(page && !strstr(page, "<b>no"), "the text is HTML");
    CHECK(page && strstr(page, "<h3>Products and their Frobenius norms, "), "no plot of norms");
    free(page);
}
#endif
