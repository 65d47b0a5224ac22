/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Failing: the status is returned and the message is set in one expression. */
#ifndef TDMI_FAIL_H
#define TDMI_FAIL_H

#include <stddef.h>

#include <tandem/status.h>

/* Sets the thread's message (printf format) and returns status: return tdmi_fail(TDM_ERROR_…, "…");
 */
tdm_status tdmi_fail(tdm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) TDM_MUST_USE;

/* Puts a context before the thread's message ("opening opencl:0: …") and returns status. */
tdm_status tdmi_fail_in(tdm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) TDM_MUST_USE;

/* This process is the child of one that had used the library: env.c sets it. */
extern volatile int tdmi_forked;

/* Keeps what a compiler said of a kernel that did not compile: the thread's tdm_last_compile_log. compile_log.c. */
void tdmi_keep_compile_log(const char *log);

/* The end of several calls that must all be made: the first failure and its message. Begins
 * all zero; tdmi_outcome_end returns the failure, with its message set again, or TDM_OK. */
typedef struct tdmi_outcome {
    tdm_status status;
    char why[2048];
} tdmi_outcome;
void tdmi_outcome_add(tdmi_outcome *outcome, tdm_status status);
tdm_status tdmi_outcome_end(const tdmi_outcome *outcome) TDM_MUST_USE;

/* Work between these two may fail in part though the call succeeds: the end, with TDM_OK, puts back the message that
 * the thread had. They nest; the outermost counts. */
void tdmi_attempt_begin(void);
tdm_status tdmi_attempt_end(tdm_status status);
#define TDMI_ATTEMPT(call) (tdmi_attempt_begin(), tdmi_attempt_end(call))

/* Returns from the calling function when the expression is not TDM_OK. */
#define TDMI_TRY(expression)                                                                       \
    do {                                                                                           \
        tdm_status tdmi_try_status_ = (expression);                                                \
        if (tdmi_try_status_ != TDM_OK) return tdmi_try_status_;                                   \
    } while (0)

/* Refuses an argument that is NULL: "tdm_add: queue is NULL". TDMI_RESULT is for one that receives a pointer, which is
 * NULL until there is something to point to. */
#define TDMI_NOT_NULL(function, argument)                                                          \
    do {                                                                                           \
        if (!(argument))                                                                           \
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, #argument);   \
    } while (0)
#define TDMI_RESULT(function, argument)                                                            \
    do {                                                                                           \
        TDMI_NOT_NULL(function, argument);                                                         \
        *(argument) = NULL;                                                                        \
    } while (0)

#endif
