/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A test in a separate process. */
#ifndef PLAIN_APART_H
#define PLAIN_APART_H

#include <criterion/criterion.h>

/* Calls run(test) in another process, or, where there is no fork, starts this program for that test alone, with
 * --alone: the exit status, or -1 for one that crashed. The process ends by exit(), so that the sanitizer's last report
 * is printed and counts. */
int plain_run_apart(int (*run)(const plain_test *test), const plain_test *test);

/* Ends this process at once. */
_Noreturn void plain_end_process(int status);

#endif
