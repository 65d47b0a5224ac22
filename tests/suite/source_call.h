/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of kernels in the dialect, for the tests of these. */
#ifndef TEST_SOURCE_CALL_H
#define TEST_SOURCE_CALL_H

#include <stdio.h>

#include "support/array.h"

/* A parameter with its argument. */
typedef struct given {
    tdm_parameter parameter;
    tdm_argument argument;
} given;

#define IN(name, array) ((given){TDM_TENSOR(name), TDM_WITH_TENSOR(name, &(array)->t)})
#define IN_OF(name, array)                                                                         \
    ((given){TDM_TENSOR_OF(name, (int)(array)->t.dtype), TDM_WITH_TENSOR(name, &(array)->t)})
#define OUT(name, array) ((given){TDM_OUTPUT(name), TDM_WITH_TENSOR(name, &(array)->t)})
#define OUT_OF(name, array)                                                                        \
    ((given){TDM_OUTPUT_OF(name, (int)(array)->t.dtype), TDM_WITH_TENSOR(name, &(array)->t)})
#define NUMBER(name, value) ((given){TDM_NUMBER(name), TDM_WITH_NUMBER(name, value)})
#define INTEGER(name, value) ((given){TDM_INTEGER(name), TDM_WITH_INTEGER(name, value)})

enum { MOST_GIVEN = 16 };

static inline tdm_status make_source(const char *text, const char *entry, const given *all,
                                     size_t count, tdm_kernel **kernel) {
    tdm_parameter parameters[MOST_GIVEN];
    for (size_t i = 0; i < count; i++)
        parameters[i] = all[i].parameter;
    return tdm_kernel_source(device, text, "own.cl", entry, parameters, count, kernel);
}

static inline tdm_status run_kernel(tdm_kernel *kernel, const given *all, size_t count) {
    tdm_argument arguments[MOST_GIVEN];
    for (size_t i = 0; i < count; i++)
        arguments[i] = all[i].argument;
    return tdm_kernel_run(queue, kernel, arguments, count);
}

/* Makes it, runs it and lets it go before the work is done. */
static inline bool run_source(const char *text, const char *entry, const given *all, size_t count) {
    tdm_kernel *kernel;
    if (!OK(make_source(text, entry, all, count, &kernel))) return false;
    const bool done = OK(run_kernel(kernel, all, count));
    tdm_kernel_release(kernel);
    return done;
}
#define RUN_SOURCE(text, entry, ...)                                                               \
    run_source(text, entry, (const given[]){__VA_ARGS__},                                          \
               sizeof((const given[]){__VA_ARGS__}) / sizeof(given))

#endif
