/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The parts that bounds of errors are made of. */
#ifndef REFERENCE_BOUNDS_H
#define REFERENCE_BOUNDS_H

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernels/function_errors.h"
#include "reference/values.h"

/* Error of a sum of n terms of one sign, relative to it, in eps: a plain loop stays below the root even
 * when its roundings lean to one side; ours, of blocks and lanes, below 64 at any length. */
static inline double sum_factor(int64_t n) { return fmin(8.0 + sqrt((double)n), 64.0); }

/* One rounding to the dtype, on top of the error of the arithmetic. */
static inline double stored(tdm_dtype dtype, double y, double error) {
    if (!isfinite(y)) return 0.0;
    /* and of results below the normal numbers, where half a unit of f64 is no double */
    return error +
           (compute_eps(dtype) == dtype_eps(dtype) ? 0.0 : half_ulp(dtype, fabs(y) + error)) +
           (dtype == TDM_F64 ? 0x1p-1073 : half_ulp(dtype, 0.0) * 2.0);
}

/* The error of the function that a text begins with (sqrt, or sqrt(A)) on any device, in eps of the result; 0 where it
 * is exact. */
static inline double function_error(const char *text) {
    static const struct {
        const char *name;
        double error;
    } errors[] = {
#define ERROR(NAME, name, cpu, other, any, number) {#name, any},
        TDM_FUNCTION_ERRORS(ERROR)
#undef ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const size_t length = strlen(errors[i].name);
        if (strncmp(text, errors[i].name, length) == 0 && !isalnum((unsigned char)text[length]) &&
            text[length] != '_')
            return errors[i].error;
    }
    return 0.0;
}

#endif
