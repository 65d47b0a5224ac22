/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks that say what was being tested when they fail: file and line, the case at hand, the device
 * and the seed. Only for the thread that runs the test; other threads hand their result to it. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/status.h>

/* Describes the case at hand for the failures that follow (printf format). */
void check_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a failure. The test goes on, so that one run shows several failing cases, and is ended at
 * the fifth. */
void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the test as skipped, and says why. Criterion then leaves out the suite's .fini, so
 * `clean_up`, when one is set, does its work. */
void check_skip(const char *reason);
void check_before_skip(void (*clean_up)(void));

/* Device that failures name. */
void check_device(const char *id);

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) check_fail(__FILE__, __LINE__, __VA_ARGS__);                             \
    } while (0)

/* Checks that the call succeeds, and leaves the thread's message as it is; returns whether it succeeds. */
void check_before(void);
bool check_ok(const char *file, int line, const char *call, tdm_status status);
#define OK(call) check_ok(__FILE__, __LINE__, #call, (check_before(), call))

/* The call fails with this status and leaves a message, not that of an earlier failure, that contains every one of
 * `words`, which are separated by '|'. */
void check_before_refusal(void);
bool check_refused(const char *file, int line, const char *call, tdm_status status,
                   tdm_status wanted, const char *words);
#define REFUSED(call, wanted, words)                                                               \
    check_refused(__FILE__, __LINE__, #call, (check_before_refusal(), call), wanted, words)

/* Does text contain every one of `words`, separated by '|'? Letters of either case. */
bool contains_words(const char *text, const char *words);

/* Index of the first got[i] that is not within bound[i] of want[i] (bound NULL: equal), or -1. NaN
 * is only ever near NaN, an infinity only near itself. */
int64_t first_difference(const double *got, const double *want, const double *bound, int64_t count);

#endif
