/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "failing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workout.h"

enum { SECONDS = 120, MAX_FUNCTIONS = 128 };

static const failing_driver *driver;

static int excuse_of(const char *function) {
    for (int i = 0; driver->unseen[i].function; i++)
        if (strcmp(driver->unseen[i].function, function) == 0) return i;
    return -1;
}

/* --- one failure, in a child --------------------------------------------------------------------
 */

typedef struct failure {
    const char *function;
    unsigned long nth;
    int error;
    bool twice;   /* the next call too */
    bool onwards; /* all later calls too */
} failure;

static int bad(const failure *f, const char *what, const char *more) {
    printf("FAILED: %s, call %lu, error %d: %s%s\n", f->function, f->nth, f->error, what, more);
    fflush(stdout);
    return 1;
}

/* 0 the failure was reported, 2 it went unseen and results were right, 1 a defect */
static int try_failure(const failure *f) {
    alarm(SECONDS);
    driver->fail(f->function, f->nth, f->onwards, f->error);
    if (f->twice) driver->fail(f->function, f->nth + 1, false, f->error);
    tdm_status status = workout(driver->backend);
    if (!driver->failures()) return bad(f, "did not come", "");
    if (status == TDM_OK && excuse_of(f->function) < 0) return bad(f, "went unseen", "");
    if (status != TDM_OK && !tdm_last_error()[0]) return bad(f, "no message", "");
    if (workout_is_wrong()) return bad(f, "wrong results: ", workout_is_wrong());
    const char *const left = driver->left(f->function);
    if (left) return bad(f, "left: ", left);
    driver->heal();
    tdm_status again = workout(driver->backend);
    if (workout_is_wrong()) return bad(f, "wrong results afterwards: ", workout_is_wrong());
    if (again != TDM_OK && !driver->loses(f->function, f->error))
        return bad(f, "no recovery: ", tdm_last_error());
    return status == TDM_OK ? 2 : 0;
}

static int in_child(const failure *f) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(try_failure(f)); /* exit: AddressSanitizer looks for leaks there */
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child) return bad(f, "no process", "");
    if (WIFEXITED(how) && WEXITSTATUS(how) <= 2) return WEXITSTATUS(how);
    char text[64];
    snprintf(text, sizeof text, "ended with %s %d", WIFSIGNALED(how) ? "signal" : "status",
             WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    return bad(f, text, "");
}

/* --- all of them --------------------------------------------------------------------------------
 */

/* The calls of an undisturbed workout, which a child writes into shared memory. */
typedef struct call_list {
    size_t count;
    struct {
        char function[64];
        unsigned long calls;
    } called[MAX_FUNCTIONS];
    tdm_status status;
    char message[256];
} call_list;

static void list_calls(call_list *list) {
    list->status = workout(driver->backend);
    snprintf(list->message, sizeof list->message, "%s",
             workout_is_wrong() ? workout_is_wrong() : tdm_last_error());
    if (workout_is_wrong()) list->status = TDM_ERROR_BACKEND;
    for (; list->count < MAX_FUNCTIONS; list->count++) {
        const char *function = driver->called(list->count);
        if (!function) break;
        snprintf(list->called[list->count].function, sizeof list->called[0].function, "%s",
                 function);
        list->called[list->count].calls = driver->calls(function);
    }
    const char *const left = driver->left(NULL);
    if (!left) return;
    snprintf(list->message, sizeof list->message, "%s", left);
    list->status = TDM_ERROR_BACKEND;
}

static call_list *undisturbed(void) {
    call_list *list =
        mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        list_calls(list);
        exit(0);
    }
    int how = 0;
    if (child > 0 && waitpid(child, &how, 0) == child && how == 0 && list->status == TDM_OK)
        return list;
    printf("FAILED: undisturbed: status %d, %s\n", how, list->message);
    exit(1);
}

static bool few; /* of its failures */
static int share = 1, turn;

/* Which calls of a function are to fail, in ascending order; how many. */
static int choose_calls(unsigned long calls, unsigned long chosen[4]) {
    const unsigned long wanted[] = {1, 2, 3, calls};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (few && i == 2) continue;
        if (wanted[i] <= calls && (!count || wanted[i] > chosen[count - 1]))
            chosen[count++] = wanted[i];
    }
    return count;
}

static int try_function(const char *function, unsigned long calls) {
    unsigned long chosen[4];
    int errors[4], error_count = driver->errors_of(function, errors),
                   count = choose_calls(calls, chosen);
    int reported = 0, silent = 0, defects = 0;
    for (int i = 0; i < count * error_count; i++) {
        const bool left_out =
            (i / error_count + i % error_count) % 2 && !driver->is_asked_again(function);
        if ((few && left_out) || turn++ % share != 0) continue;
        failure f = {function, chosen[i / error_count], errors[i % error_count], false, false};
        int outcome = in_child(&f);
        reported += outcome == 0;
        silent += outcome == 2;
        defects += outcome == 1;
        if (!driver->is_asked_again(function)) continue;
        f.twice = true;
        outcome = in_child(&f);
        reported += outcome == 0;
        silent += outcome == 2;
        defects += outcome == 1;
    }
    for (int e = 0; e < error_count && driver->may_fail_for_good(function); e++) {
        if (few && e != turn % error_count) continue;
        failure f = {function, 1, errors[e], false, true};
        defects += in_child(&f) == 1;
    }
    int excuse = excuse_of(function);
    printf("%-40s %5lu calls, %2d failures reported, %2d unseen%s%s\n", function, calls, reported,
           silent, silent ? ": " : "", silent && excuse >= 0 ? driver->unseen[excuse].reason : "");
    if (share == 1 && excuse >= 0 && (!silent || (driver->unseen[excuse].sometimes && !reported))) {
        printf("FAILED: %s: the excuse says too much\n", function);
        defects++;
    }
    return defects;
}

int failing_main(const failing_driver *of, int argc, char **argv) {
    driver = of;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 4) {
        failure f = {argv[1], strtoul(argv[2], NULL, 10), atoi(argv[3]), false, false};
        int outcome = in_child(&f);
        printf("outcome %d\n", outcome);
        return outcome == 1;
    }
    few = getenv("TDM_TEST_SMALL");
    const char *const wanted = getenv("TDM_TEST_SHARE");
    if (wanted && atoi(wanted) > 1) share = atoi(wanted);
    const char *const seed = getenv("TDM_TEST_SEED");
    turn = abs(seed ? atoi(seed) : getpid()) % 1000;
    if (few || share > 1) printf("TDM_TEST_SEED=%d chooses these failures again\n", turn);
    call_list *list = undisturbed();
    int defects = 0, tried = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *function = list->called[i].function;
        if (argc == 2 && strcmp(argv[1], function) != 0) continue;
        int errors[4];
        if (driver->errors_of(function, errors) == 0) continue;
        defects += try_function(function, list->called[i].calls);
        tried++;
    }
    for (int i = 0; driver->unseen[i].function && argc == 1; i++) {
        bool called = false;
        for (size_t j = 0; j < list->count; j++)
            called = called || strcmp(driver->unseen[i].function, list->called[j].function) == 0;
        if (!called)
            printf("FAILED: %s is excused, but never called\n", driver->unseen[i].function);
        defects += !called;
    }
    printf("%d functions, %d defects\n", tried, defects);
    return defects || !tried ? 1 : 0;
}
