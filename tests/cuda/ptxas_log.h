/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The report of ptxas -v on a compiled kernel. */
#ifndef TDM_TEST_CUDA_PTXAS_LOG_H
#define TDM_TEST_CUDA_PTXAS_LOG_H

#include <stdbool.h>

typedef struct ptxas_report {
    int registers; /* of a lane */
    int shared;    /* bytes of a group */
    int local;     /* bytes of a lane: stack frames, spills and arrays, whichever is most */
} ptxas_report;

/* The report of one entry. False where the log does not have, once and in the expected form, the
 * lines on its stack frame and its registers: a log that says nothing is no proof. */
bool ptxas_report_of(const char *log, const char *entry, ptxas_report *report);

#endif
