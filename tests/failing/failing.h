/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every call that a backend makes of its driver, made to fail: the first, the second, the third and the last one of
 * each function, and where that may be all later ones, each in a separate process. One file for each driver. */
#ifndef TEST_FAILING_H
#define TEST_FAILING_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/device.h>

/* A function after whose failure a workout may yet be right, and why; `sometimes`: but not always. */
typedef struct failing_excuse {
    const char *function, *reason;
    bool sometimes;
} failing_excuse;

typedef struct failing_driver {
    tdm_backend backend;
    const failing_excuse *unseen; /* the last one has no function */
    /* From now on the nth call of the function gives the error and does nothing; with `onwards` all later ones too. */
    void (*fail)(const char *function, unsigned long nth, bool onwards, int error);
    void (*heal)(void);
    unsigned long (*failures)(void);
    const char *(*called)(size_t index); /* functions that were called; NULL past the last */
    unsigned long (*calls)(const char *function); /* how often */
    const char *(*left)(
        const char *
            function); /* leftovers that ought not to be there, when the function, if any, failed */
    int (*errors_of)(const char *function,
                     int errors[4]); /* how many there are to try; 0: it cannot fail */
    bool (*is_asked_again)(const char *function);
    bool (*may_fail_for_good)(const char *function);
    bool (*loses)(const char *function,
                  int error); /* the device, so that it cannot be used again */
} failing_driver;

/* main of a driver's program:
 *
 *     PROGRAM [FUNCTION [NTH ERROR]]       all functions, one, or one failure, printed at length
 *
 * With TDM_TEST_SMALL not the third calls, each with every second error, and a failure that lasts with one error; with
 * TDM_TEST_SHARE=2 every second call. */
int failing_main(const failing_driver *driver, int argc, char **argv);

#endif
