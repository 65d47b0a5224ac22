/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The few macros of Criterion that the suites use, for where its runner does not serve: suites in one process or with
 * small stacks, machines without it, and ThreadSanitizer, as that and Criterion's processes (BoxFort) both want fixed
 * addresses, and neither starts with the other. The same test files, the same filter, one test at a time. */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H

#include <stddef.h>

typedef struct plain_fixture {
    void (*init)(void);
    void (*fini)(void);
    const char *description; /* tags: see support/tags.h */
} plain_fixture;

typedef struct plain_test {
    const char *suite, *name;
    void (*run)(void);
    const plain_fixture *fixture; /* of the suite */
    const plain_fixture options;  /* of the test */
    struct plain_test *next;
} plain_test;

void plain_register(plain_test *test);

/* Marks the test as failed; the second ends it, the third ends it as skipped. */
void plain_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void plain_abort(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void plain_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define TestSuite(suite, ...) static const plain_fixture suite##_fixture = {__VA_ARGS__}

#define Test(...) PLAIN_TEST(__VA_ARGS__, .init = NULL)
#define PLAIN_TEST(suite_, name_, ...)                                                             \
    static void suite_##_##name_(void);                                                            \
    __attribute__((constructor)) static void suite_##_##name_##_register(void) {                   \
        static plain_test test = {.suite = #suite_,                                                \
                                  .name = #name_,                                                  \
                                  .run = suite_##_##name_,                                         \
                                  .fixture = &suite_##_fixture,                                    \
                                  .options = {__VA_ARGS__}};                                       \
        plain_register(&test);                                                                     \
    }                                                                                              \
    static void suite_##_##name_(void)

#define cr_expect_fail(...) plain_fail(__VA_ARGS__)
#define cr_assert_fail(...) plain_abort(__VA_ARGS__)
#define cr_skip_test(...) plain_skip(__VA_ARGS__)

#endif
