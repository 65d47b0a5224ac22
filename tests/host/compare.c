/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench compare`, and the statistics that it decides by. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rows/stats.h>

#include "command.h"
#include "support/folder.h"

TestSuite(compare, .init = folder_start, .fini = folder_remove);

#define COUNT(list) (int)(sizeof list / sizeof *list)

static void check_near(double got, double wanted, const char *what) {
    CHECK(fabs(got - wanted) <= 1e-12 + 1e-10 * wanted, "%s: %.17g, not %.17g", what, got, wanted);
}

/* The values of scipy 1.17.1: scipy.stats.mannwhitneyu(a, b, method="asymptotic").pvalue. */
Test(compare, mann_whitney) {
    static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
    static const double tied_a[] = {1.5, 2.5, 2.5, 4, 7, 7, 7, 9};
    static const double tied_b[] = {2.5, 3, 7, 8, 10, 11, 12};
    static const double mixed_a[] = {3.1, 2.9, 3.0, 3.2, 2.8, 3.3, 3.05, 2.95, 3.15, 2.85};
    static const double mixed_b[] = {3.12, 3.4,  3.22, 3.35, 3.18, 3.02,
                                     3.45, 3.28, 3.11, 3.31, 3.38, 3.26};
    static const double few_a[] = {5, 1, 3}, few_b[] = {2, 4};
    static const double ones[] = {1, 1, 1, 1}, almost[] = {1, 1, 1, 2};
    static const struct {
        const char *what;
        const double *a, *b;
        int a_count, b_count;
        double p;
    } cases[] = {
        {"apart", low, high, 5, 5, 0.012185780355344813},
        {"tied", tied_a, tied_b, COUNT(tied_a), COUNT(tied_b), 0.12760278918146736},
        {"mixed", mixed_a, mixed_b, COUNT(mixed_a), COUNT(mixed_b), 0.004126774205385805},
        {"few", few_a, few_b, 3, 2, 1.0},
        {"almost equal", ones, almost, 4, 4, 0.4532547047537364},
        {"equal", ones, ones, 4, 4, 1.0}, /* no test: scipy divides by zero */
    };
    for (int i = 0; i < COUNT(cases); i++) {
        check_near(bench_mann_whitney(cases[i].a, cases[i].a_count, cases[i].b, cases[i].b_count),
                   cases[i].p, cases[i].what);
        check_near(bench_mann_whitney(cases[i].b, cases[i].b_count, cases[i].a, cases[i].a_count),
                   cases[i].p, cases[i].what);
    }
    check_near(bench_mann_whitney_least(5, 5), 0.012185780355344813, "least of 5 and 5");
    check_near(bench_mann_whitney_least(15, 15), 3.3918213908250945e-06, "least of 15 and 15");
}

/* By the definition: multiplied by 4, 3, 2, 1 from the smallest on, and never falling. */
Test(compare, holm) {
    double p[] = {0.01, 0.04, 0.03, 0.005};
    static const double wanted[] = {0.03, 0.06, 0.06, 0.02};
    CHECK(bench_holm(p, 4), "out of memory");
    for (int i = 0; i < 4; i++)
        check_near(p[i], wanted[i], "adjusted");
    double large[] = {0.6, 0.6};
    CHECK(bench_holm(large, 2) && large[0] == 1.0 && large[1] == 1.0, "%g", large[0]);
    CHECK(bench_holm(large, 0), "none");
}

Test(compare, medians) {
    static const double values[] = {5, 1, 4, 2, 3};
    bench_stats stats = bench_summarise(values, 5);
    CHECK(stats.median == 3.0 && stats.min == 1.0 && stats.iqr == 2.0, "%g", stats.median);
    CHECK(values[0] == 5.0, "the order of the samples is lost");
}

/* --- the command ------------------------------------------------------------------------------ */

/* A file of rows: `rows` are "OP FACTOR COUNT" between commas, whose samples are 1 ms and a bit
 * more times the factor. */
static void make_file(const char *name, const char *rows) {
    char text[16384], op[32];
    double factor;
    int samples,
        n = snprintf(
            text, sizeof text,
            "{\"schema\": 1, \"version\": \"0.1.0\", \"commit\": \"abcdef1\", "
            "\"machine\": {\"cpu\": \"a processor\", \"time\": \"now\", \"devices\": [{\"id\": "
            "\"cpu:0\", \"driver_version\": \"7.1\", \"api_version\": \"Tandem 1\"}]}, "
            "\"rows\": [");
    for (const char *at = rows, *before = ""; at; at = strchr(at, ','), before = ", ") {
        if (*at == ',') at++;
        if (sscanf(at, "%31s %lf %d", op, &factor, &samples) != 3) cr_assert_fail("%s", at);
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{\"device\": \"cpu:0\", \"op\": \"%s\", \"dtype\": \"f32\", "
                      "\"shape\": \"8x8\", \"seconds\": [",
                      before, op);
        for (int i = 0; i < samples; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%.9g", i ? ", " : "",
                          1e-3 * factor * (1.0 + 1e-4 * ((i * 7) % samples)));
        n += snprintf(text + n, sizeof text - (size_t)n, "]}");
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "]}\n");
    file_write(folder_path(name), text, (size_t)n);
}

static void compare(const char *arguments, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, "T=" TEST_PROGRAM, "COLUMNS", NULL};
    gives_with(changes, formatted("cd '%s' && $T bench compare %s", folder_path("."), arguments),
               status, words);
}

Test(compare, verdicts) {
    make_file("old.json", "fill 1 15,add 1 15,softmax 1 15,gone 1 15");
    make_file("same.json", "fill 1 15,add 1 15,softmax 1 15,gone 1 15");
    make_file("slower.json", "fill 1.2 15,add 0.5 15,softmax 1.01 15,come 1 15");
    make_file("faster.json", "fill 0.9 15,add 1 15,softmax 1 15,gone 1 15");
    compare("old.json same.json", 0, "4 rows: 0 slower, 0 faster|abcdef1|a processor");
    CHECK(!contains_words(r.output, "cpu:0 fill"), "%s", r.output);
    compare("--all old.json same.json", 0, "cpu:0 fill|cpu:0 softmax");

    compare("old.json slower.json", 1,
            "3 rows: 1 slower, 1 faster by more than 3 %|1 rows only in the old "
            "file, 1 only in the new one");
    CHECK(strstr(r.output, "1.20") && strstr(r.output, "  SLOWER  cpu:0 fill f32 8x8\n"), "%s",
          r.output);
    CHECK(strstr(r.output, "  faster  cpu:0 add f32 8x8\n"), "%s", r.output);
    CHECK(!strstr(r.output, "softmax"), "a change of 1 %% is reported: %s", r.output);
    compare("old.json slower.json --threshold=0.5", 1, "2 slower");
    compare("--threshold 25 old.json slower.json", 0, NULL);
    compare("--significance=0 old.json slower.json", 0, NULL);
    compare("old.json faster.json", 0, "0 slower, 1 faster");
    compare("faster.json old.json", 1, NULL);
    CHECK(!contains_words(r.output, "different machines"), "%s", r.output);
    compare("--help >/dev/null; sed 's/a processor/another one/' old.json >there.json && "
            "$T bench compare old.json there.json",
            0, "warning: the files are of different machines|(cpu)");
    compare("--help >/dev/null; sed 's/7.1/7.2/' old.json >there.json && $T bench compare "
            "old.json there.json",
            0, "drivers or libraries (devices)");
    compare("--help >/dev/null; sed 's/Tandem 1/Tandem 2/' old.json >there.json && $T bench "
            "compare old.json there.json",
            0, NULL);
    CHECK(!strstr(r.output, "warning"), "%s", r.output);
}

/* Three samples cannot show anything among many rows, and that is said. */
Test(compare, few_samples) {
    make_file("old.json", "fill 1 3,add 1 15,void 1 0");
    make_file("new.json", "fill 9 3,add 1 15,void 1 15");
    compare("old.json new.json --all", 0,
            "2 rows: 0 slower|1 rows have too few samples|1 without samples");
    CHECK(strstr(r.output, "fill f32 8x8 (too few samples)\n"), "%s", r.output);
}

/* Compares two files of these rows, where the format's number is one and then the other; one row is in both. */
static void check_keys(const char *rows, int one, int other, const char *in_both) {
    char text[512];
    file_write(folder_path("a.json"), text, (size_t)snprintf(text, sizeof text, rows, one));
    file_write(folder_path("b.json"), text, (size_t)snprintf(text, sizeof text, rows, other));
    compare("--all a.json b.json", 0, NULL);
    SAYS(formatted("1 rows: 0 slower|%s|1 rows only in the old file, 1 only in the new", in_both));
}

/* A row of each place is compared with its own, and work of two ranks not with that of four. */
Test(compare, keys) {
    check_keys(
        "{\"schema\": 1, \"rows\": [{\"device\": \"cpu:%d\", \"op\": \"a\", \"dtype\": \"f32\", "
        "\"shape\": \"1\", \"seconds\": [1, 2]}, {\"device\": \"cpu:0\", \"second_device\": "
        "\"cpu:1\", \"op\": \"a\", \"dtype\": \"f32\", \"shape\": \"1\", \"seconds\": [3, 4, 5]}]}",
        0, 1, "cpu:0+cpu:1 a f32 1");
    check_keys(
        "{\"schema\": 1, \"rows\": [{\"device\": \"cpu:0\", \"op\": \"a\", \"dtype\": \"f32\", "
        "\"shape\": \"1\", \"ranks\": 2, \"seconds\": [1, 2]}, {\"device\": \"cpu:0\", \"op\": "
        "\"a\", \"dtype\": \"f32\", \"shape\": \"1\", \"ranks\": %d, \"seconds\": [3, 4, 5]}]}",
        3, 4, "2 x cpu:0 a f32 1");
}

/* Wrong arguments and files: status 2, and a message that names them. */
Test(compare, refused) {
    make_file("good.json", "fill 1 15");
    make_file("other.json", "add 1 15");
    static const struct {
        const char *text, *words;
    } files[] = {
        {"{", "bad.json cannot be read"},
        {"[]", "bad.json was not written by 'tdm bench --json'"},
        {"{\"rows\": []}", "bad.json was not written by"},
        {"{\"schema\": 2, \"rows\": []}", "bad.json was written by a Tandem whose"},
        {"{\"schema\": 1, \"rows\": []}", "no row was measured in both"},
        {"{\"schema\": 1, \"rows\": [7]}", "bad.json has a row that is damaged: number 1"},
        {"{\"schema\": 1, \"rows\": [{\"device\": \"cpu:0\", \"op\": \"fill\", \"dtype\": \"f32\", "
         "\"shape\": \"8x8\"}]}",
         "damaged: number 1"},
        {"{\"schema\": 1, \"rows\": [{\"device\": \"cpu:0\", \"op\": \"fill\", \"dtype\": \"f32\", "
         "\"shape\": \"8x8\", \"seconds\": [1, -1]}]}",
         "damaged: number 1"},
        {"{\"schema\": 1, \"rows\": [{\"device\": \"cpu:0\", \"op\": 7, \"dtype\": \"f32\", "
         "\"shape\": \"8x8\", \"seconds\": [1]}]}",
         "damaged: number 1"}};
    for (int i = 0; i < COUNT(files); i++) {
        file_write(folder_path("bad.json"), files[i].text, strlen(files[i].text));
        compare("good.json bad.json", 2, files[i].words);
        compare("bad.json good.json", 2, NULL);
    }
    static const char *const wrong[][2] = {{"", "two files are compared, and 0 are given"},
                                           {"good.json", "two files are compared, and 1 is given"},
                                           {"good.json good.json good.json", "3 are given"},
                                           {"good.json none.json", "none.json cannot be read"},
                                           {"good.json other.json", "no row was measured in both"},
                                           {"--threshold -1 good.json good.json", "--threshold -1"},
                                           {"--threshold=x good.json good.json", "--threshold x"},
                                           {"--threshold=. good.json good.json", "--threshold ."},
                                           {"--significance 2 good.json good.json", "from 0 to 1"},
                                           {"--treshold 1 good.json good.json", "'--threshold'"}};
    for (int i = 0; i < COUNT(wrong); i++)
        compare(wrong[i][0], 2, wrong[i][1]);
}

/* The benchmark's own files can be compared; a file has no difference from itself. */
Test(compare, own_files) {
    compare("--help >/dev/null && $T bench --device cpu --op empty,layer_norm --shape 1,8x8 "
            "--dtype f32 "
            "--json a.json >/dev/null 2>&1 && $T bench compare --all a.json a.json",
            0, "3 rows: 0 slower, 0 faster|cpu:0 layer_norm f32 8x8");
}
#endif
