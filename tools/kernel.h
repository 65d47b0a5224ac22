/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `tdm kernel check`, and its last step: running the kernel on Oclgrind. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tandem.h>

enum { MOST_PARAMETERS = TDM_KERNEL_MAX_TENSORS + TDM_KERNEL_MAX_SCALARS + 1, LONGEST_NAME = 80 };

typedef struct kernel_shape {
    int ndim;
    int64_t extent[TDM_MAX_DIMS];
} kernel_shape;

typedef struct kernel_request {
    const char *entry, *file;
    const char *text;                          /* of the file */
    char names[MOST_PARAMETERS][LONGEST_NAME]; /* arguments stay as they are for the child */
    tdm_parameter parameters[MOST_PARAMETERS];
    kernel_shape shapes[MOST_PARAMETERS]; /* of a tensor in the run; ndim -1: as `shape` */
    double values[MOST_PARAMETERS];       /* of a number or an integer */
    size_t parameter_count;
    tdm_dtype dtypes[TDM_DTYPE_COUNT];
    size_t dtype_count;
    bool runs;
    kernel_shape shape;
} kernel_request;

/* "64x257", up to `end`. */
bool kernel_read_shape(const char *text, const char *end, kernel_shape *shape);

/* The parent's side: the command again in a child that sees Oclgrind alone. Returns the exit status. */
int kernel_run_on_oclgrind(void);

/* The child's side: was it started for that? Then it runs the kernel for each dtype, and prints what Oclgrind found. */
bool kernel_is_on_oclgrind(void);
int kernel_run(const kernel_request *request);

#endif
