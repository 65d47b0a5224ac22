/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The platform layer's promises to programs (lib/platform/child.h, program.h), on the system that runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/child.h"
#include "platform/clock.h"
#include "platform/folder.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/program.h"

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "children.c:%d: not true: %s\n", __LINE__, #condition);                \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static const char word[] = "g\xc3\xbct \"a b\\\"";

/* The child's side: says whether its arguments and its environment are right, then does what the last one says. */
static int answer(int count, char **arguments) {
    const char *text = tdmi_environment_get("CHILDREN_TEXT");
    const tdmi_file pipe = tdmi_child_answer();
    const bool right = count == 4 && strcmp(arguments[2], word) == 0 && text &&
                       strcmp(text, "b") == 0 && !tdmi_environment_get("CHILDREN_GONE");
    if (pipe == TDMI_NO_FILE || tdmi_child_answer() != pipe) return 1;
    tdmi_child_die_quietly();
    fputs(right ? "errors" : "wrong", stderr);
    fflush(stderr);
    CHECK(tdmi_file_write(pipe, right ? "right" : "wrong", 5) == 5);
    if (strcmp(arguments[3], "sleep") == 0) tdmi_sleep(UINT64_C(20000000000));
    if (strcmp(arguments[3], "trap") == 0) __builtin_trap();
    return 7;
}

static const char *const changes[] = {"CHILDREN_TEXT=a", "CHILDREN_GONE=a", "CHILDREN_*",
                                      "CHILDREN_TEXT=b", NULL};

/* Listens until it has ended, or has said all that one which sleeps says. */
static tdmi_child_end listen_to(const char *what, char *said, char *errors) {
    const char *const arguments[] = {"answer", word, what, NULL};
    const bool sleeps = strcmp(what, "sleep") == 0;
    tdmi_child child;
    size_t lengths[2] = {0, 0};
    CHECK(tdmi_child_start(arguments, changes, true, &child));
    for (bool ended = false; !ended && !(sleeps && lengths[0] == 5 && lengths[1] == 6);) {
        ended = tdmi_child_has_ended(&child);
        if (!ended) tdmi_child_wait(&child, 20);
        lengths[0] += tdmi_child_read(&child.answer, said + lengths[0], 31 - lengths[0]);
        lengths[1] += tdmi_child_read(&child.errors, errors + lengths[1], 31 - lengths[1]);
    }
    said[lengths[0]] = errors[lengths[1]] = '\0';
    return tdmi_child_finish(&child);
}

static void children_answer(void) {
    char said[32], errors[32], name[64];
    CHECK(tdmi_child_answer() == TDMI_NO_FILE);
    tdmi_child_end end = listen_to("return", said, errors);
    CHECK(end.status == 7 && end.death == 0 && strcmp(said, "right") == 0 &&
          strcmp(errors, "errors") == 0);
    end = listen_to("trap", said, errors);
    CHECK(end.death != 0 && !tdmi_death_is_interrupt(end.death) && strcmp(said, "right") == 0);
    CHECK(strlen(tdmi_death_name(end.death, name, sizeof name)) > 3);
    const uint64_t start = tdmi_nanoseconds();
    end = listen_to("sleep", said, errors);
    CHECK(end.status != 7 && strcmp(said, "right") == 0);
    CHECK(tdmi_nanoseconds() - start < UINT64_C(10000000000));
}

/* One with the streams of this process, without a pipe for its errors. */
static void streams_are_shared(void) {
    const char *const arguments[] = {"answer", word, "return", NULL};
    tdmi_child child;
    char said[8] = "";
    CHECK(tdmi_child_start(arguments, changes, false, &child) && child.errors == TDMI_NO_FILE);
    while (!tdmi_child_has_ended(&child))
        tdmi_child_wait(&child, 20);
    CHECK(tdmi_child_read(&child.answer, said, 7) == 5 && strcmp(said, "right") == 0);
    CHECK(tdmi_child_finish(&child).status == 7);
}

static void programs_know_themselves(void) {
    char path[1024], name[128], kernel[128], architecture[32], folder[512], text[8] = "";
    tdmi_program_path(path, sizeof path);
    CHECK(tdmi_path_is_absolute(path) && tdmi_command_is_program(path));
    tdmi_system_describe(name, sizeof name, kernel, sizeof kernel, architecture,
                         sizeof architecture);
    CHECK(name[0] && kernel[0] && architecture[0]);
    CHECK(tdmi_folder_make_temporary(NULL, folder, sizeof folder));
    snprintf(path, sizeof path, "%s/\xc3\xbc", folder);
    FILE *file = tdmi_stream_open(path, "w");
    CHECK(file && fputs("a\r\n", file) >= 0 && !tdmi_stream_is_terminal(file) &&
          tdmi_stream_columns(file) == 0 && fclose(file) == 0);
    file = tdmi_stream_open(path, "r");
    CHECK(file && fread(text, 1, 8, file) == 3 && strcmp(text, "a\r\n") == 0 && fclose(file) == 0);
    CHECK(tdmi_file_remove(TDMI_HERE, path) && tdmi_folder_remove(folder));
    CHECK(!tdmi_stream_open(path, "r"));
}

static void rests_end(void) {
    tdmi_interrupt_catch();
    const uint64_t start = tdmi_nanoseconds();
    tdmi_interrupt_rest(0.05);
    CHECK(tdmi_nanoseconds() - start >= 45000000 && tdmi_interrupt_caught() == 0);
    tdmi_interrupt_release();
}

int main(int count, char **arguments) {
    tdmi_program_begin(&count, &arguments);
    if (count > 1 && strcmp(arguments[1], "answer") == 0) return answer(count, arguments);
    children_answer();
    streams_are_shared();
    programs_know_themselves();
    rests_end();
    printf("%d failures\n", failures);
    return failures > 0;
}
