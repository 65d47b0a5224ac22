/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark's page: one whole file that fetches nothing, and what it needs is missed early. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/run.h"

static void start(void) {
    random_start();
    folder_make();
}

TestSuite(report, .init = start, .fini = folder_remove);

static run_result r;

/* Runs `tdm bench` under a shell's prefix ("PATH=… "). */
static void bench(const char *prefix, const char *arguments, int status) {
    char command[4096];
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    snprintf(command, sizeof command, "%s '%s' bench %s", prefix, TEST_PROGRAM, arguments);
    check_case("%s", command);
    run_shell(changes, command, 300, &r);
    CHECK(r.exit_status == status, "exit status %d, not %d: %s", r.exit_status, status, r.output);
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

/* What may fetch: addresses, scripts, imports, references to elsewhere. */
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

/* No two ids are equal, and what is referred to is there. */
static void check_ids(const char *page) {
    char id[80], word[96];
    for (const char *at = strstr(page, " id="); at; at = strstr(at + 1, " id=")) {
        if (sscanf(at + 5, "%79[^'\"]", id) != 1) continue;
        snprintf(word, sizeof word, "%.5s%s%c", at, id, at[4]);
        CHECK(count(page, word) == 1, "the id %s is not alone", id);
    }
    for (const char *at = strstr(page, "href='#"); at; at = strstr(at + 1, "href='#")) {
        if (sscanf(at + 7, "%79[^']", id) != 1) continue;
        snprintf(word, sizeof word, " id='%s'", id);
        CHECK(count(page, word) == 1, "nothing has the id %s", id);
    }
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
        char line[512] = "<tr>";
        for (int k = 0; k < 4; k++) {
            strcat(line, "<td>");
            strcat(line, json_string_value(json_object_get(row, keys[k])));
            strcat(line, "</td>");
        }
        strcat(line, "<td class=\"yes\">yes</td>");
        CHECK(count(page, line) == 1, "%d times %s", count(page, line), line);
    }
    CHECK(count(page, "<tr") == (int)json_array_size(rows) + 1, "%d lines", count(page, "<tr"));
    json_decref(root);
}

Test(report, page) {
    char arguments[1024];
    size_t size;
    snprintf(arguments, sizeof arguments,
             "--device cpu --dtype f32 --op layer_norm,matmul --shape "
             "8x8,1x4096,64x64x64,256x256x256,512x512x512 --report '%s' --json '%s'",
             folder_path("page.html"), folder_path("rows.json"));
    bench("", arguments, 0);
    char *page = (char *)file_read(folder_path("page.html"), &size);
    CHECK(page && strlen(page) == size, "no page, or a NUL in it");
    if (!page) return;
    CHECK(strncmp(page, "<!DOCTYPE html>", 15) == 0, "%.40s", page);
    CHECK(size > 8 && strcmp(page + size - 8, "</html>\n") == 0, "it has no end");
    /* the ratios, and rate and time of three sizes of matmul */
    CHECK(count(page, "<svg") == 3 && count(page, "<figure") == 3, "%d plots", count(page, "<svg"));
    CHECK(strstr(page, "Processor</dt>") && strstr(page, "<dt>cpu:0</dt>"), "no machine");
    check_nesting(page);
    check_self_contained(page);
    check_ids(page);
    check_rows(page, folder_path("rows.json"));
    CHECK(folder_holds("page.html|rows.json"), "something was left beside the page");
    free(page);
}

/* A run that cannot end in a page does not start: nothing is measured, nothing written. */
Test(report, refused) {
    char arguments[1024];
    static const char choice[] = "--device cpu --op matmul --shape 64x64x64 --dtype f32 --report";
    snprintf(arguments, sizeof arguments, "%s /nonexistent/folder/page.html", choice);
    bench("", arguments, 2);
    CHECK(contains_words(r.output, "--report|/nonexistent/folder|no such file"), "%s", r.output);
    CHECK(!strstr(r.output, "median"), "it measured: %s", r.output);
    snprintf(arguments, sizeof arguments, "%s '%s'", choice, folder_path("."));
    bench("", arguments, 2);
    CHECK(contains_words(r.output, "--report|regular file"), "%s", r.output);
    bench("", "--report", 2);
    CHECK(contains_words(r.output, "--report|value"), "%s", r.output);
    /* without gnuplot, and an old page that stays */
    file_write(folder_path("old.html"), "old", 3);
    snprintf(arguments, sizeof arguments, "%s '%s'", choice, folder_path("old.html"));
    bench("PATH=/nonexistent", arguments, 1);
    CHECK(contains_words(r.output, "gnuplot|install|gnuplot-nox"), "%s", r.output);
    CHECK(!strstr(r.output, "median"), "it measured: %s", r.output);
    CHECK(folder_holds("old.html"), "something was left behind");
    /* --list draws nothing and needs no gnuplot */
    snprintf(arguments, sizeof arguments, "--list %s '%s'", choice, folder_path("old.html"));
    bench("PATH=/nonexistent", arguments, 0);
}

/* A gnuplot that fails in the end: exit status 1, what it said, the old page, nothing beside it. */
Test(report, broken_gnuplot) {
    char arguments[1024], prefix[1100];
    size_t size;
    static const char script[] = "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\n"
                                 "echo 'no terminal of that kind' >&2\nexit 1\n";
    file_write(folder_path("gnuplot"), script, sizeof script - 1);
    CHECK(chmod(folder_path("gnuplot"), 0755) == 0, "chmod");
    file_write(folder_path("old.html"), "old", 3);
    snprintf(prefix, sizeof prefix, "PATH='%s':$PATH", folder_path("."));
    snprintf(arguments, sizeof arguments,
             "--device cpu --op matmul --shape 64x64x64 --dtype f32 --report '%s'",
             folder_path("old.html"));
    bench(prefix, arguments, 1);
    CHECK(contains_words(r.output, "no terminal of that kind"), "%s", r.output);
    char *page = (char *)file_read(folder_path("old.html"), &size);
    CHECK(page && strcmp(page, "old") == 0, "the old page is gone");
    free(page);
    CHECK(folder_holds("gnuplot|old.html"), "something was left behind");
}
#endif
