/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm tune --rows`: the operations on rows that it measures on a GPU. */
#ifndef TUNE_ROWS_H
#define TUNE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/tandem.h>

typedef struct tune_rows_request {
    const char
        *shapes; /* a file of "f32 layer_norm 4096x1024"; NULL: the usual ones of the dtypes */
    const tdm_dtype *dtypes;
    size_t dtype_count;
    double budget;
    bool each; /* print every way that is measured */
} tune_rows_request;

/* Measures them on a device, which it opened, and prints what it found; returns what to exit with. */
int tune_rows(tdm_device *device, const tune_rows_request *request);

#endif
