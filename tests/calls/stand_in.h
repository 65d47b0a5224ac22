/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libOpenCL.so.1 that counts calls, makes some fail and holds transfers up, as tests talk to it. The
 * library under test opens it itself, by TANDEM_LIBRARY_PATH; it is one in the process. */
#ifndef CALLS_STAND_IN_H
#define CALLS_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stand_in {
    /* Forgets counts and failures. No other thread may be in a call then, nor in fail_nth. */
    void (*reset)(void);

    /* The index-th function that was called since the reset, and how often; NULL past the last. */
    const char *(*called)(size_t index, unsigned long *calls);

    /* How many calls of the function, or with NULL of all, were made to fail since the reset. */
    unsigned long (*failed)(const char *function);

    /* From now on the nth call of `function`, or with NULL the nth of all, since the reset gives `code` and does
     * nothing; with `onwards` every later one too. Once more with nth + 1: both. */
    void (*fail_nth)(const char *function, unsigned long nth, bool onwards, int code);

    /* From now on reads and writes wait until the next clFinish that does not fail; or no longer, and then all that
     * waited are over when it returns. */
    void (*hold_transfers)(bool hold);
} stand_in;

/* Opens the one in TANDEM_LIBRARY_PATH; ends the process when it is not there. */
const stand_in *stand_in_open(void);

#endif
