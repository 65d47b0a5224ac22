/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Comparison of outputs with float64 references. */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "cases/case.h"

typedef struct bench_verdict {
    bool verified;
    double max_error;   /* absolute, of the element that is worst for its bound */
    double error_bound; /* of that element */
    char problem[160];  /* the first error; "" when verified */
} bench_verdict;

/* Adds one output to a verdict that began as {.verified = true}. `input` holds the inputs by
 * operand, and outputs that this one follows from; `data` the output in host memory. Every element
 * is tested for NaN and infinity; all are compared when that is cheap, else the first piece, the
 * last and random ones by the seed. */
void bench_verify(const bench_case *c, const bench_plan *plan, const void *const *input, int output,
                  const void *data, uint64_t seed, bench_verdict *verdict);

#endif
