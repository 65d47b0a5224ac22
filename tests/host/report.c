/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark's page: one whole file that fetches nothing; a run reports a missing requirement at
 * its start. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/output.h>

#include "command.h"
#include "support/folder.h"

TestSuite(report, .init = folder_start, .fini = folder_remove);

/* Runs `tdm bench` under a shell's prefix ("PATH=… "). */
static void bench(const char *prefix, const char *arguments, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    seconds = 300;
    gives_with(changes, formatted("%s " TEST_PROGRAM " bench %s", prefix, arguments), status,
               words);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word))
        n++;
    return n;
}

/* Every element is closed, in order, but those of HTML that have no end. */
static void check_nesting(const char *page) {
    static char open[256][32];
    int depth = 0;
    for (const char *at = strchr(page, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        CHECK(end, "a tag is not closed: %.40s", at);
        if (!end || at[1] == '!') continue;
        char name[32] = "";
        const bool closes = at[1] == '/';
        sscanf(at + 1 + closes, "%31[a-z0-9A-Z]", name);
        CHECK(name[0] != '\0', "no name in a tag: %.40s", at);
        if (closes) {
            CHECK(depth > 0 && strcmp(open[depth - 1], name) == 0, "</%s> closes <%s>", name,
                  depth > 0 ? open[depth - 1] : "nothing");
            if (depth > 0) depth--;
        } else if (end[-1] != '/' && strcmp(name, "meta") != 0 && strcmp(name, "link") != 0) {
            if (depth == 256) break;
            strcpy(open[depth++], name);
        }
    }
    CHECK(depth == 0, "<%s> is not closed", open[depth > 0 ? depth - 1 : 0]);
}

/* Parts that may fetch: addresses, scripts, imports, references to elsewhere. */
static void check_self_contained(const char *page) {
    static const char *const words[] = {"http://", "https://", "<script", "@import",
                                        "src=",    "<iframe",  "onload=", "<?xml"};
    for (int i = 0; i < 8; i++)
        CHECK(count(page, words[i]) == 0, "the page has %s", words[i]);
    for (const char *at = strstr(page, "href="); at; at = strstr(at + 1, "href="))
        CHECK(at[6] == '#' || strncmp(at + 6, "data:,\"", 7) == 0, "%.40s", at);
    for (const char *at = strstr(page, "url("); at; at = strstr(at + 1, "url("))
        CHECK(at[4] == '#', "%.40s", at);
}

/* Numbers of an attribute lie in the plot, which is 340 wide, and are numbers. */
static void check_numbers(const char *page, const char *attribute) {
    for (const char *at = strstr(page, attribute); at; at = strstr(at + 1, attribute)) {
        char *end;
        const double x = strtod(at + strlen(attribute), &end);
        CHECK(*end == '"' && x >= 0.0 && x <= 340.0, "%.40s", at);
    }
}

/* Each figure is one plot, inside its view. */
static void check_plots(const char *page, int figures) {
    CHECK(count(page, "<figure") == figures, "%d figures", count(page, "<figure"));
    CHECK(count(page, "<svg viewBox=\"0 0 340 ") == figures && count(page, "<svg") == figures,
          "%d plots", count(page, "<svg"));
    CHECK(!strstr(page, "nan") && !strstr(page, "inf,") && !strstr(page, "=\"inf"), "no number");
    static const char *const attributes[] = {" x=\"", " x1=\"", " x2=\"", " cx=\"", " width=\""};
    for (int i = 0; i < 5; i++)
        check_numbers(page, attributes[i]);
}

/* The peaks of the JSON, in its order: those that were measured, each with its figure. */
static void check_peaks(const char *page, const char *file) {
    json_t *root = json_load_file(file, 0, NULL), *peak = NULL;
    json_t *peaks = json_object_get(root, "peaks");
    const char *at = strstr(page, "<section class=\"peaks\">");
    const char *end = at ? strstr(at, "</section>") : NULL;
    size_t i = 0;
    CHECK(json_array_size(peaks) == 8 && end, "no peaks");
    json_array_foreach(peaks, i, peak) {
        static const char *const kinds[][2] = {{"copy", "copy"},
                                               {"read", "read"},
                                               {"launch_latency", "launch latency"},
                                               {"launches", "launches"}};
        const char *kind = json_string_value(json_object_get(peak, "kind"));
        const double value = json_number_value(json_object_get(peak, "value"));
        char line[96], figure[32] = "";
        snprintf(line, sizeof line, "<tr><td>%s products</td>",
                 json_string_value(json_object_get(peak, "dtype")));
        for (int k = 0; k < 4; k++)
            if (strcmp(kind, kinds[k][0]) == 0)
                snprintf(line, sizeof line, "<tr><td>%s</td>", kinds[k][1]);
        if (strcmp(kind, "products") == 0)
            snprintf(figure, sizeof figure, "%.1f GFLOP/s", 1e-9 * value);
        if (strcmp(kind, "copy") == 0) snprintf(figure, sizeof figure, "%.2f GB/s", 1e-9 * value);
        if (strcmp(kind, "launches") == 0) snprintf(figure, sizeof figure, "%.0f /s", value);
        at = at ? strstr(at, line) : NULL;
        CHECK(at && at < end, "%s is not there, or not in order", line);
        const char *next = at ? strstr(at, figure) : NULL;
        CHECK(next && next < end, "%s without %s", line, figure);
    }
    json_decref(root);
}

/* Each row of the JSON has its line in the table. */
static void check_rows(const char *page, const char *file) {
    json_error_t error;
    json_t *root = json_load_file(file, 0, &error), *row = NULL;
    json_t *rows = json_object_get(root, "rows");
    size_t i = 0;
    CHECK(json_array_size(rows) >= 5, "only %zu rows", json_array_size(rows));
    json_array_foreach(rows, i, row) {
        static const char *const keys[] = {"device", "op", "dtype", "shape"};
        static const char *const names[] = {"device", "operation", "dtype", "shape"};
        char line[512] = "";
        for (int k = 0; k < 4; k++)
            sprintf(line + strlen(line), "<td data-name=\"%s\">%s</td>", names[k],
                    json_string_value(json_object_get(row, keys[k])));
        strcat(line, "<td class=\"yes\" data-name=\"verified\">yes</td>");
        CHECK(count(page, line) == 1, "%d times %s", count(page, line), line);
    }
    const char *table = strstr(page, "<section class=\"rows\">");
    CHECK(table && count(table, "<tr") - count(table, "<tr class=\"note\"") ==
                       (int)json_array_size(rows) + 1,
          "lines of the table");
    json_decref(root);
}

/* A sentence for each column of figures, and for each peak. */
static void check_sentences(const char *page) {
    const char *terms = strstr(page, "<section class=\"terms\">");
    CHECK(terms, "no sentences");
    for (const char *at = strstr(page, "<th class=\"n\">"); at;
         at = strstr(at + 1, "<th class=\"n\">")) {
        char term[96];
        snprintf(term, sizeof term, "<dt>%.*s</dt><dd>", (int)strcspn(at + 14, "<"), at + 14);
        const char *found = terms ? strstr(terms, term) : NULL;
        CHECK(found && strcspn(found + strlen(term), "<") > 20, "no sentence: %s", term);
    }
    static const char *const peaks[] = {"copy", "read", "launch latency", "launches", "products"};
    for (int i = 0; i < 5; i++) {
        char term[96];
        snprintf(term, sizeof term, "<dt>%s</dt><dd>", peaks[i]);
        CHECK(strstr(page, term), "no sentence: %s", term);
    }
}

/* Rows with a spread above 20 % are marked, in the page and in what is printed, and no others. */
Test(report, noisy_rows) {
    static const tdm_device_info device = {.id = "cpu:0", .name = "a processor"};
    static const double spreads[] = {0.0, 0.2, 0.21, 3.0};
    bench_row rows[4];
    json_t *machine = json_object();
    size_t size;
    for (int i = 0; i < 4; i++) {
        const bench_shape shape = {.text = "8"};
        bench_row_init(&rows[i], &device, NULL, "add", TDM_F32, &shape);
        rows[i].seconds = (bench_stats){1e-3, 1e-3, spreads[i] * 1e-3};
        rows[i].ratio = 1.0;
        rows[i].verified = true;
    }
    const bench_results results = {machine, NULL, 0, rows, 4};
    CHECK(bench_write_html(folder_path("page.html"), &results), "no page");
    char *page = (char *)file_read(folder_path("page.html"), &size);
    CHECK(page && count(page, "<tr class=\"noisy\">") == 2 &&
              count(page, "<td class=\"n noisy\" data-name=\"spread\">noisy ") == 2 &&
              count(page, ">noisy 21 %<") == 1 && count(page, ">noisy 300 %<") == 1 &&
              count(page, ">2 noisy</span>") == 1 && count(page, "<circle class=\"noisy\"") == 2,
          "%s", page ? page : "");
    free(page);
    json_decref(machine);
    CHECK(freopen(folder_path("printed"), "w", stdout), "stdout");
    bench_output output;
    bench_output_begin(&output, BENCH_TABLE, 60, "about");
    bench_output_head(&output, &(bench_longest){5, 5, 5});
    for (int i = 0; i < 4; i++)
        bench_output_row(&output, &rows[i]);
    fflush(stdout);
    char *text = (char *)file_read(folder_path("printed"), &size);
    CHECK(text && count(text, "noisy") == 2 && strstr(text, "noisy: its spread is 21 %\n"), "%s",
          text ? text : "");
    free(text);
}

Test(report, page) {
    size_t size;
    bench("",
          formatted("--device cpu --dtype f32 --op layer_norm,matmul --shape "
                    "8x8,1x4096,64x64x64,256x256x256,512x512x512 --peaks --report '%s' --json '%s'",
                    folder_path("page.html"), folder_path("rows.json")),
          0, NULL);
    char *page = (char *)file_read(folder_path("page.html"), &size);
    CHECK(page && strlen(page) == size, "no page, or a NUL in it");
    if (!page) return;
    CHECK(strncmp(page, "<!DOCTYPE html>", 15) == 0, "%.40s", page);
    CHECK(size > 8 && strcmp(page + size - 8, "</html>\n") == 0, "it has no end");
    /* the ratios, and rate and time of three sizes of matmul */
    check_plots(page, 3);
    check_peaks(page, folder_path("rows.json"));
    CHECK(strstr(page, "name=\"viewport\" content=\"width=device-width"), "not for phones");
    CHECK(strstr(page, "prefers-color-scheme: dark"), "not for the dark");
    CHECK(strstr(page, "Processor</dt>") && strstr(page, "<dt>cpu:0</dt>"), "no machine");
    check_nesting(page);
    check_self_contained(page);
    check_sentences(page);
    check_rows(page, folder_path("rows.json"));
    CHECK(folder_holds("page.html|rows.json"), "a file was left next to the page");
    free(page);
}

/* A run that cannot end in a page does not start: nothing is measured, nothing written. */
Test(report, refused) {
    static const char choice[] = "--device cpu --op matmul --shape 64x64x64 --dtype f32 --report";
    bench("", formatted("%s /nonexistent/folder/page.html", choice), 2,
          "--report|/nonexistent/folder|no such file");
    CHECK(!strstr(r.output, "median"), "it measured: %s", r.output);
    bench("", formatted("%s '%s'", choice, folder_path(".")), 2, "--report|regular file");
    bench("", "--report", 2, "--report|value");
}

/* Peaks alone are a page, too; without them there is no empty section. */
Test(report, parts) {
    size_t size;
    bench("",
          formatted("--device cpu --peaks --report '%s' --json '%s'", folder_path("peaks.html"),
                    folder_path("peaks.json")),
          0, NULL);
    char *page = (char *)file_read(folder_path("peaks.html"), &size);
    CHECK(page && !strstr(page, "<h2>Plots") && !strstr(page, "<h2>Every row"), "rows");
    if (page) {
        check_nesting(page);
        check_self_contained(page);
        check_peaks(page, folder_path("peaks.json"));
    }
    free(page);
    bench(
        "PATH=/nonexistent",
        formatted(
            "--device cpu --op file_save --profile lesson --shape 16384,65536,262144 --report '%s'",
            folder_path("rows.html")),
        0, NULL);
    page = (char *)file_read(folder_path("rows.html"), &size);
    CHECK(page && !strstr(page, "<section class=\"peaks\">"), "peaks");
    if (page) {
        check_nesting(page);
        check_plots(page, 2);
    }
    free(page);
    bench("TANDEM_CPU_DEVICES=2",
          formatted("--op two_devices --profile lesson --shape 512x512x512 --report '%s'",
                    folder_path("pair.html")),
          0, NULL);
    page = (char *)file_read(folder_path("pair.html"), &size);
    CHECK(page && strstr(page, "<h3>Two devices at once, 512x512x512 f32</h3>"), "no pair");
    if (page) check_plots(page, 2);
    free(page);
}
#endif

/* A symbolic link stays, and its file is replaced; one to nothing is refused. */
Test(report, behind_a_link) {
    bench(formatted(
              "cd '%s' && mkdir to && echo old >to/file && ln -s to/file link && ln -s none broken "
              "&& ",
              folder_path(".")),
          "--device cpu:0 --op empty --json link && [ -L link ] && grep -q schema to/file", 0,
          NULL);
    bench(formatted("cd '%s' && ", folder_path(".")), "--device cpu:0 --op empty --json broken", 2,
          NULL);
}
