/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of many terms in extended precision: in blocks, and with what adding these rounds away (Neumaier 1974). A plain
 * sum of a million equal terms rounds them all alike, and is wrong by some 26 eps of f64. */
#ifndef REFERENCE_SUMS_H
#define REFERENCE_SUMS_H

#include <math.h>

typedef struct long_sum {
    long double sum, lost, block;
    int in_block;
} long_sum;

static inline void long_sum_end_block(long_sum *s) {
    const long double sum = s->sum + s->block, added = sum - s->sum;
    s->lost += (s->sum - (sum - added)) + (s->block - added);
    s->sum = sum;
    s->block = 0;
    s->in_block = 0;
}

static inline void long_sum_add(long_sum *s, long double term) {
    s->block += term;
    if (++s->in_block == 64) long_sum_end_block(s);
}

/* The sum, also where it is infinite or NaN. */
static inline long double long_sum_of(long_sum s) {
    long_sum_end_block(&s);
    return isfinite(s.sum) ? s.sum + s.lost : s.sum;
}

#endif
