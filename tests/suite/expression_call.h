/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One call of an expression, for the tests of these. */
#ifndef TEST_EXPRESSION_CALL_H
#define TEST_EXPRESSION_CALL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

enum { MOST = TDM_KERNEL_MAX_TENSORS };

/* Does the device have a compiler, which takes its time for each kernel? Then there are fewer of these. On cpu it is
 * the machine's, which has compiled these tests, unless the variable says no. */
static inline bool compiles(void) {
    const char *compiler = getenv("TANDEM_CPU_COMPILER");
    return tdm_device_get_info(device)->backend != TDM_CPU || !compiler ||
           strcmp(compiler, "none") != 0;
}

/* A call: names of tensors are letters, in the order of `arrays`; s is a number unless it is NaN, and k an integer
 * unless it is 0. */
typedef struct expression_call {
    tdm_parameter parameters[MOST + 2];
    tdm_argument arguments[MOST + 2];
    char letters[MOST][2];
    size_t count;
} expression_call;

static inline void describe_call(expression_call *call, array *const *arrays, const char *names,
                                 double s, int64_t k) {
    size_t count = 0;
    for (; names[count]; count++) {
        snprintf(call->letters[count], 2, "%c", names[count]);
        call->parameters[count] = (tdm_parameter)TDM_TENSOR(call->letters[count]);
        call->arguments[count] =
            (tdm_argument)TDM_WITH_TENSOR(call->letters[count], &arrays[count]->t);
    }
    if (s == s) {
        call->parameters[count] = (tdm_parameter)TDM_NUMBER("s");
        call->arguments[count++] = (tdm_argument)TDM_WITH_NUMBER("s", s);
    }
    if (k != 0) {
        call->parameters[count] = (tdm_parameter)TDM_INTEGER("k");
        call->arguments[count++] = (tdm_argument)TDM_WITH_INTEGER("k", k);
    }
    call->count = count;
}

static inline bool run_call(expression_call *call, tdm_kernel *kernel) {
    const bool done = OK(tdm_kernel_run(queue, kernel, call->arguments, call->count));
    tdm_kernel_release(kernel); /* before the work is done */
    return done;
}

static inline bool run(const char *text, array *const *arrays, const char *names, double s,
                       int64_t k) {
    expression_call call;
    tdm_kernel *kernel;
    describe_call(&call, arrays, names, s, k);
    return OK(tdm_kernel_elementwise(device, text, call.parameters, call.count, &kernel)) &&
           run_call(&call, kernel);
}

/* The same of a kernel over rows, none of whose tensors is named r or n. */
static inline bool run_rows(const tdm_row_kernel *texts, array *const *arrays, const char *names,
                            double s, int64_t k) {
    expression_call call;
    tdm_kernel *kernel;
    describe_call(&call, arrays, names, s, k);
    return OK(tdm_kernel_rows(device, texts, call.parameters, call.count, &kernel)) &&
           run_call(&call, kernel);
}

#define NO_NUMBER ((double)NAN)

#endif
