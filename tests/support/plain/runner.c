/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The runner of plain/criterion/criterion.h. --filter PATTERN is as in Criterion ("suite/test"
 * with * and @(a|b)); --together runs all tests in this process, for tools that take long to start;
 * --list names the tests and runs none; other options are taken and ignored. */
#include <criterion/criterion.h>

#include "support/tags.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FNM_EXTMATCH /* glibc's own: elsewhere there is no @(a|b) */
#define FNM_EXTMATCH 0
#endif

enum { SKIPPED = 77 };

static plain_test *tests;
static int failed;
static bool together, list;
static jmp_buf end_of_test;
static int ended; /* how the test ended that did so from within */

void plain_register(plain_test *test) {
    test->next = tests;
    tests = test;
}

/* Ends the test at hand from within. */
static _Noreturn void end_test(int status) {
    if (!together) _exit(status);
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

/* One test in this process; its exit status. What a test that ends early holds is given back as far
 * as its fixture knows of it. */
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

/* Runs one test in a separate process; returns its exit status. The process ends by exit(), so that the
 * sanitizer's last report is printed and counts. */
static int run(const plain_test *test) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (test->fixture->init) test->fixture->init();
        test->run();
        if (test->fixture->fini) test->fixture->fini();
        exit(failed);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv) {
    const char *filter = "*/*";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) filter = argv[i + 1];
        if (strcmp(argv[i], "--together") == 0) together = true;
        if (strcmp(argv[i], "--list") == 0) list = true;
    }
    int tested = 0, passing = 0, failing = 0, crashing = 0, skipped = 0;
    for (const plain_test *test = tests; test; test = test->next) {
        char name[256];
        snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
        if (fnmatch(filter, name, FNM_EXTMATCH) != 0) continue;
        if (!tags_choose(test->fixture->description, test->options.description)) continue;
        if (list) {
            puts(name);
            continue;
        }
        int status = together ? run_here(test) : run(test);
        tested++;
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
