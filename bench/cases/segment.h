/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A piece of an output, recomputed by the reference. */
#ifndef BENCH_SEGMENT_H
#define BENCH_SEGMENT_H

#include "cases/case.h"

enum { BENCH_SEGMENT_BLOCKS = 8 };

typedef struct bench_segment {
    const bench_case *c;
    const bench_plan *plan;
    const void *const *input; /* by operand, in host memory; as rounded to the dtype */
    int output;               /* which operand; those before it may be read as inputs, too */
    int64_t row, first, count;
    double *y;                           /* [count]: the right values */
    double *bound;                       /* [count]: how far each may be off */
    double *block[BENCH_SEGMENT_BLOCKS]; /* given by bench_numbers */
    int blocks;
} bench_segment;

/* Memory for `count` numbers; NULL when memory is short. */
double *bench_numbers(bench_segment *s, int64_t count);

/* Elements of an input, as numbers: `rows` times `cols` adjacent ones, each `stride` after the one
 * before, from element `first`. NULL when memory is short. */
const double *bench_matrix(bench_segment *s, int operand, int64_t first, int64_t rows,
                           int64_t stride, int64_t cols);

/* The elements of an input of the output's shape that belong to the segment. */
const double *bench_same(bench_segment *s, int operand);

/* Frees the memory of the other functions. */
void bench_segment_free(bench_segment *s);

#endif
