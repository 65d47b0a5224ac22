/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How a kernel accesses global memory, read in its PTX. */
#ifndef TDM_TEST_CUDA_PTX_H
#define TDM_TEST_CUDA_PTX_H

#include <stdbool.h>
#include <string.h>

static inline const char *line_after(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static inline bool begins(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

typedef struct ptx_report {
    int wide_loads, wide_stores; /* of 128 bits */
    int loads, stores;           /* of less */
    int elements_in_flight;      /* as below, of the other loads */
    int in_flight; /* the most wide loads, in the order of the text, that a lane begins before it stores,
                      meets others or begins its loop again: so many may be on their way together, where
                      none is used before the last of them begins */
    int products, matrices,
        copies; /* of tiles: multiplied, read as matrices, copied into shared memory meanwhile */
} ptx_report;

/* False when the entry is not in the text once, or not understood. */
bool ptx_report_of(const char *ptx, const char *entry, ptx_report *report);

#endif
