/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of many terms in extended precision that keep what each addition rounds away (Neumaier 1974): a plain sum of a
 * million equal terms rounds them all alike, and is wrong by some 26 eps of f64. */
#ifndef REFERENCE_SUMS_H
#define REFERENCE_SUMS_H

#include <math.h>

typedef struct long_sum {
    long double sum, lost;
} long_sum;

static inline void long_sum_add(long_sum *s, long double term) {
    const long double sum = s->sum + term, added = sum - s->sum;
    s->lost += (s->sum - (sum - added)) + (term - added);
    s->sum = sum;
}

/* The sum, also where it is infinite or NaN. */
static inline long double long_sum_of(long_sum s) {
    return isfinite(s.sum) ? s.sum + s.lost : s.sum;
}

#endif
