/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench` where it is cut short, and where it runs on a GPU. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/run.h"

static void start(void) {
    random_start();
    folder_make();
}

TestSuite(bench, .init = start, .fini = folder_remove);

static run_result r;

/* A command of the shell, where $T is the program and $D the folder of the test. */
static void shell(const char *const *more, const char *command, int status) {
    char folder[512];
    const char *changes[16] = {ICD_NONE, CACHE, "T=" TEST_PROGRAM, folder};
    snprintf(folder, sizeof folder, "D=%s", folder_path("."));
    for (int i = 0; more && more[i]; i++)
        changes[4 + i] = more[i];
    check_case("%s", command);
    run_shell(changes, command, 120, &r);
    CHECK(r.exit_status == status, "exit status %d, not %d: %s", r.exit_status, status, r.output);
}

/* Counts the lines of a file, each of which has to be one object with this key. */
static int count_lines(const char *name, const char *key) {
    size_t size;
    int count = 0;
    char *text = (char *)file_read(folder_path(name), &size);
    CHECK(text, "there is no %s", name);
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        CHECK(json_is_object(object), "no JSON: %s", line);
        count += json_object_get(object, key) != NULL;
        json_decref(object);
    }
    free(text);
    return count;
}

/* Rows are in the file as soon as they are measured. None of these has a baseline in a process of its own,
 * whose end would flush what it has of the file, too. */
Test(bench, that_is_killed) {
    shell(NULL,
          "$T bench --device cpu --op empty,layer_norm --shape 1,8x8 --json-lines "
          "$D/rows >/dev/null 2>&1 & p=$!; for i in $(seq 500); do "
          "[ -s $D/rows ] && break; sleep 0.05; done; kill -TERM $p; wait $p; echo $?",
          0);
    CHECK(contains_words(r.output, "143"), "it had ended before: %s", r.output);
    const int rows = count_lines("rows", "op");
    CHECK(rows == 1 || rows == 2, "%d rows of 3", rows);
}

Test(bench, json_lines) {
    shell(NULL,
          "$T bench --device cpu --op empty --peaks --json-lines $D/rows --json $D/all >/dev/null",
          0);
    CHECK(count_lines("rows", "op") == 2 && count_lines("rows", "kind") == 8, "rows and peaks");
    shell(NULL, "$T bench --device cpu --op empty --json-lines $D/none/rows", 2);
    CHECK(contains_words(r.output, "--json-lines|/none/rows"), "%s", r.output);
    shell(NULL, "$T bench --device cpu --op empty --json-lines /dev/full", 1);
    CHECK(contains_words(r.output, "--json-lines /dev/full"), "%s", r.output);
}

/* What is left out is no failure, and is counted. */
Test(bench, seconds) {
    shell(NULL, "$T bench --device cpu --op empty --seconds 0.0001 2>&1", 1);
    CHECK(contains_words(r.output, "0 rows|2 left out for want of time"), "%s", r.output);
    shell(NULL,
          "TANDEM_CPU_DEVICES=2 $T bench --device cpu:0,cpu:1 --profile full --op add,sub,mul "
          "--dtype f32 --shape 4096,1048576 --seconds 1.2 2>&1",
          0);
    CHECK(contains_words(r.output, "\ncpu:0 |\ncpu:1 |0 not verified| left out for want of time"),
          "%s", r.output);
    shell(NULL, "$T bench --op empty --seconds 0", 2);
    CHECK(contains_words(r.output, "--seconds"), "%s", r.output);
}
#endif
