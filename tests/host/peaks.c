/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench --peaks`: the best figures of each device. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "support/folder.h"

TestSuite(peaks, .init = folder_start, .fini = folder_remove);

static void bench(const char *arguments, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, "T=" TEST_PROGRAM, "COLUMNS", NULL};
    gives_with(changes,
               formatted("cd '%s' && $T bench --device cpu %s", folder_path("."), arguments),
               status, words);
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

/* Each kind once, products for each dtype, all of them with a positive figure in their own unit. */
static void check_peaks(const json_t *peaks) {
    static const char *const wanted[][3] = {
        {"copy", "f32", "byte/s"},      {"read", "f32", "byte/s"},
        {"launch_latency", "f32", "s"}, {"launches", "f32", "1/s"},
        {"products", "f32", "flop/s"},  {"products", "f64", "flop/s"},
        {"products", "f16", "flop/s"},  {"products", "bf16", "flop/s"}};
    CHECK(json_array_size(peaks) == 8, "%zu peaks", json_array_size(peaks));
    for (size_t i = 0; i < 8; i++) {
        static const char *const keys[] = {"kind", "dtype", "unit"};
        const json_t *peak = json_array_get(peaks, i);
        for (int k = 0; k < 3; k++) {
            const char *text = json_string_value(json_object_get(peak, keys[k]));
            CHECK(text && strcmp(text, wanted[i][k]) == 0, "peak %zu: %s is %s", i, keys[k],
                  text ? text : "missing");
        }
        CHECK(number(peak, "value") > 0.0, "peak %zu has no value", i);
        CHECK(json_string_length(json_object_get(peak, "by")) > 0, "peak %zu has no owner", i);
    }
}

Test(peaks, alone) {
    bench("--peaks --format json >peaks.json 2>errors && python3 " TEST_SOURCE
          "/tests/python/check_schema.py " TEST_SOURCE "/bench/report/schema.json peaks.json",
          0, NULL);
    json_t *root = json_load_file(folder_path("peaks.json"), JSON_REJECT_DUPLICATES, NULL);
    check_peaks(json_object_get(root, "peaks"));
    CHECK(json_array_size(json_object_get(root, "rows")) == 0, "rows");
    json_decref(root);
}

/* Before rows that are selected; the row of a peak is that peak's, and not measured again. */
Test(peaks, before_rows) {
    bench("--peaks --op empty --json rows.json", 0,
          "Peaks of cpu:0 (|launch latency|GFLOP/s|f64 products|GB/s|"
          "2 rows, 0 not verified");
    const char *head = strstr(r.output, "\ndevice "), *peaks = strstr(r.output, "Peaks of cpu:0");
    CHECK(head && peaks && peaks < head, "the peaks are not first: %s", r.output);
    CHECK(!strstr(r.output, "[9/"), "measured twice: %s", r.output);
    for (const char *line = r.output; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 80, "longer than 80: %s", line);
    json_t *root = json_load_file(folder_path("rows.json"), JSON_REJECT_DUPLICATES, NULL);
    const json_t *list = json_object_get(root, "peaks");
    const json_t *rows = json_object_get(root, "rows");
    check_peaks(list);
    CHECK(json_array_size(rows) == 2, "%zu rows", json_array_size(rows));
    const double each = number(json_array_get(rows, 0), "seconds_median");
    const double latency = number(json_array_get(rows, 1), "seconds_median");
    CHECK(number(json_array_get(list, 3), "value") * each > 0.999999 &&
              number(json_array_get(list, 3), "value") * each < 1.000001,
          "launches are not those of the row");
    CHECK(latency == number(json_array_get(list, 2), "value"), "latency is not that of the row");
    json_decref(root);
    /* without --peaks, rows that are selected stand alone */
    bench("--op empty", 0, NULL);
    CHECK(!contains_words(r.output, "Peaks"), "%s", r.output);
}

Test(peaks, csv) {
    bench("--peaks --format csv 2>/dev/null", 0, NULL);
    CHECK(strncmp(r.output, "device,kind,dtype,shape,value,unit,by\ncpu:0,copy,f32,33554432,",
                  62) == 0,
          "%s", r.output);
    SAYS(",s,Tandem\n|,1/s,Tandem\n");
}
#endif
