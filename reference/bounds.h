/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The parts that bounds of errors are made of. */
#ifndef REFERENCE_BOUNDS_H
#define REFERENCE_BOUNDS_H

#include <math.h>
#include <string.h>

#include "kernels/function_errors.h"
#include "reference/values.h"

/* Error of a sum of n terms of one sign, relative to it, in eps: half for each addition, in whichever order; and at any
 * length below 64, as no more than 64 are added one after the other and blocks keep what adding them up loses. Other
 * roundings, such as those of squares and a quotient, are in the 8. */
static inline double sum_factor(int64_t n) { return fmin(8.0 + 0.5 * (double)n, 64.0); }

/* The loss of n products or squares that are added, where they are subnormal: half of the smallest such number each. */
static inline double lost_products(tdm_dtype dtype, int64_t n) {
    return 0.5 * (double)n * (dtype == TDM_F64 ? 0x1p-1074 : 0x1p-149);
}

/* One rounding to the dtype, on top of the error of the arithmetic. */
static inline double stored(tdm_dtype dtype, double y, double error) {
    if (!isfinite(y)) return 0.0;
    /* and of results below the normal numbers, where half a unit of f64 is no double */
    return error +
           (compute_eps(dtype) == dtype_eps(dtype) ? 0.0 : half_ulp(dtype, fabs(y) + error)) +
           (dtype == TDM_F64 ? 0x1p-1073 : half_ulp(dtype, 0.0) * 2.0);
}

/* How far a function may be from its value y on any device, by kernels/function_errors.h: in eps of y, and in f32, and
 * before a result of 16 bits is rounded, in units in the last place where that is less. 0 where it is exact. */
static inline double function_error(const char *name, tdm_dtype dtype, double y) {
    static const struct {
        const char *name;
        double ulps, any, number;
    } errors[] = {
#define ERROR(NAME, name, cpu, other, any, number) {#name, other, any, number},
        TDM_FUNCTION_ERRORS(ERROR)
#undef ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(name, errors[i].name) != 0 || errors[i].ulps == 0.0) continue;
        const double error = compute_eps(dtype) * (errors[i].any * fabs(y) + errors[i].number);
        return dtype == TDM_F64 ? error : fmin(error, errors[i].ulps * 2.0 * half_ulp(TDM_F32, y));
    }
    return 0.0;
}

#endif
