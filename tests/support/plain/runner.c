/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The runner of plain/criterion/criterion.h. --filter PATTERN is as in Criterion ("suite/test"
 * with * and @(a|b)); --together runs all tests in this process, for tools and drivers that take long to start;
 * --alone runs the first one as the whole of this process; --list names the tests and runs none; other options are
 * taken and ignored. */
#include <criterion/criterion.h>

#include "support/tags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"

enum { SKIPPED = 77 };

static plain_test *tests;
static int failed;
static bool together, alone, list;
static jmp_buf end_of_test;
static int ended; /* how the test ended that did so from within */

void plain_register(plain_test *test) {
    test->next = tests;
    tests = test;
}

/* Ends the test at hand from within. */
static _Noreturn void end_test(int status) {
    if (!together) plain_end_process(failed ? failed : status);
    ended = status;
    longjmp(end_of_test, 1);
}

static void say(const char *format, va_list args) {
    fputs("[----] ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void plain_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    failed = 1;
}

void plain_abort(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    end_test(1);
}

void plain_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    end_test(SKIPPED);
}

/* One test in this process; its exit status. The memory of a test that ends early is given back as
 * far as its fixture knows of it. */
static int run_here(const plain_test *test) {
    failed = ended = 0;
    if (setjmp(end_of_test) == 0) {
        if (test->fixture->init) test->fixture->init();
        test->run();
    }
    if (setjmp(end_of_test) == 0) {
        if (test->fixture->fini) test->fixture->fini();
    }
    return failed ? failed : ended;
}

/* The same as the whole of a process. */
static int run_whole(const plain_test *test) {
    if (test->fixture->init) test->fixture->init();
    test->run();
    if (test->fixture->fini) test->fixture->fini();
    return failed;
}

/* The length of an alternative: up to its | or ), groups within it whole. */
static size_t piece(const char *pattern) {
    size_t at = 0;
    for (int depth = 0; pattern[at] && (depth > 0 || (pattern[at] != '|' && pattern[at] != ')'));
         at++)
        depth += pattern[at] == '(' ? 1 : pattern[at] == ')' ? -1 : 0;
    return at;
}

/* Whether the text is what the pattern says, with *, @(a|b), and !(a|b) as the whole pattern. */
static bool matches(const char *pattern, const char *text) {
    char made[1024];
    if (pattern[0] == '!' && pattern[1] == '(') {
        snprintf(made, sizeof made, "@%s", pattern + 1);
        return !matches(made, text);
    }
    if (pattern[0] == '*') {
        for (const char *rest = text;; rest++) {
            if (matches(pattern + 1, rest)) return true;
            if (*rest == '\0') return false;
        }
    }
    if (pattern[0] == '@' && pattern[1] == '(') {
        const char *end = pattern + 2 + piece(pattern + 2);
        while (*end == '|')
            end += 1 + piece(end + 1);
        for (const char *one = pattern + 2; one < end; one += piece(one) + 1) {
            snprintf(made, sizeof made, "%.*s%s", (int)piece(one), one, *end ? end + 1 : "");
            if (matches(made, text)) return true;
        }
        return false;
    }
    if (pattern[0] == '\0' || text[0] == '\0') return pattern[0] == text[0];
    return pattern[0] == text[0] && matches(pattern + 1, text + 1);
}

int main(int argc, char **argv) {
    const char *filter = "*/*";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) filter = argv[i + 1];
        if (strcmp(argv[i], "--together") == 0) together = true;
        if (strcmp(argv[i], "--alone") == 0) alone = true;
        if (strcmp(argv[i], "--list") == 0) list = true;
    }
    int tested = 0, passing = 0, failing = 0, crashing = 0, skipped = 0;
    for (const plain_test *test = tests; test; test = test->next) {
        char name[256];
        snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
        if (!matches(filter, name)) continue;
        if (!tags_choose(test->fixture->description, test->options.description)) continue;
        if (list) {
            puts(name);
            continue;
        }
        if (alone) return run_whole(test);
        if (together) fprintf(stderr, "[RUN ] %s\n", name); /* which one ended the process */
        int status = together ? run_here(test) : plain_run_apart(run_whole, test);
        tested += status != SKIPPED;
        passing += status == 0;
        skipped += status == SKIPPED;
        crashing += status < 0;
        failing += status != 0 && status != SKIPPED;
        const char *word = status == 0         ? "PASS"
                           : status == SKIPPED ? "SKIP"
                           : status < 0        ? "CRASH"
                                               : "FAIL";
        if (status) fprintf(stderr, "[%s] %s::%s\n", word, test->suite, test->name);
    }
    if (list) return 0;
    printf(
        "[====] Synthesis: Tested: %d | Passing: %d | Failing: %d | Crashing: %d | Skipped: %d\n",
        tested, passing, failing, crashing, skipped);
    return failing > 0;
}
