/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One call of an expression, for the tests of these. */
#ifndef TEST_EXPRESSION_CALL_H
#define TEST_EXPRESSION_CALL_H

#include <math.h>
#include <stdio.h>

#include "support/array.h"

enum { MOST = TDM_KERNEL_MAX_TENSORS };

/* Does the device have a compiler, which takes its time for each kernel? Then there are fewer of these. */
static inline bool compiles(void) { return tdm_device_get_info(device)->backend != TDM_CPU; }

/* A call: names of tensors are letters, in the order of `arrays`; s is a number unless it is NaN, and k an integer
 * unless it is 0. */
static inline bool run(const char *text, array *const *arrays, const char *names, double s,
                       int64_t k) {
    tdm_parameter parameters[MOST + 2];
    tdm_argument arguments[MOST + 2];
    char letters[MOST][2];
    size_t count = 0;
    for (; names[count]; count++) {
        snprintf(letters[count], 2, "%c", names[count]);
        parameters[count] = (tdm_parameter)TDM_TENSOR(letters[count]);
        arguments[count] = (tdm_argument)TDM_WITH_TENSOR(letters[count], &arrays[count]->t);
    }
    if (s == s) {
        parameters[count] = (tdm_parameter)TDM_NUMBER("s");
        arguments[count++] = (tdm_argument)TDM_WITH_NUMBER("s", s);
    }
    if (k != 0) {
        parameters[count] = (tdm_parameter)TDM_INTEGER("k");
        arguments[count++] = (tdm_argument)TDM_WITH_INTEGER("k", k);
    }
    tdm_kernel *kernel;
    if (!OK(tdm_kernel_elementwise(device, text, parameters, count, &kernel))) return false;
    const bool done = OK(tdm_kernel_run(queue, kernel, arguments, count));
    tdm_kernel_release(kernel); /* before the work is done */
    return done;
}

#define NO_NUMBER ((double)NAN)

#endif
