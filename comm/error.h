/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Failing: as in the core, whose messages libraries set by tdm_fail. */
#ifndef TDMI_COMM_ERROR_H
#define TDMI_COMM_ERROR_H

#include <stddef.h>

#include <tandem/library.h>

#include "platform/threads.h"

/* Sets the thread's message (printf format) and returns status. */
tdm_status tdmi_comm_error(tdm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) TDM_MUST_USE;

/* The failure of another function of Tandem's as one of `function`: its message begins with that name. */
tdm_status tdmi_comm_error_of(const char *function, tdm_status status) TDM_MUST_USE;

/* The end of several calls that must all be made: the first failure and its message. Begins all zero. */
typedef struct tdmi_comm_outcome {
    tdm_status status;
    char why[2048];
} tdmi_comm_outcome;
void tdmi_comm_outcome_add(tdmi_comm_outcome *outcome, tdm_status status);
tdm_status tdmi_comm_outcome_end(const tdmi_comm_outcome *outcome) TDM_MUST_USE;

/* Returns from the calling function when the expression is not TDM_OK. */
#define TDMI_TRY(expression)                                                                       \
    do {                                                                                           \
        tdm_status tdmi_try_status_ = (expression);                                                \
        if (tdmi_try_status_ != TDM_OK) return tdmi_try_status_;                                   \
    } while (0)

/* In a forked child the transport is the parent's, and a team's thread is not there. */
#define TDMI_NOT_FORKED(function) TDMI_TRY(tdmi_comm_error_of(function, tdm_check_fork()))

/* Refuses an argument that is NULL: "tdm_add: queue is NULL". TDMI_RESULT is for one that receives a pointer, which is
 * NULL until there is something to point to. */
#define TDMI_NOT_NULL(function, argument)                                                          \
    do {                                                                                           \
        if (!(argument))                                                                           \
            return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function,         \
                                   #argument);                                                     \
    } while (0)
#define TDMI_RESULT(function, argument)                                                            \
    do {                                                                                           \
        TDMI_NOT_NULL(function, argument);                                                         \
        *(argument) = NULL;                                                                        \
    } while (0)

/* First line of every public function that may wait: the thread cannot be cancelled before it returns. */
#define TDMI_UNCANCELLED()                                                                         \
    __attribute__((cleanup(tdmi_comm_allow_cancel), unused)) const int tdmi_cancel_state_ =        \
        tdmi_cancel_forbid()

static inline void tdmi_comm_allow_cancel(const int *before) { tdmi_cancel_allow(*before); }

#endif
