/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "cases/segment.h"

#include <stdlib.h>

#include "reference/values.h"

double *bench_numbers(bench_segment *s, int64_t count) {
    if (s->blocks == BENCH_SEGMENT_BLOCKS) return NULL;
    double *block = malloc((size_t)count * sizeof *block);
    if (block) s->block[s->blocks++] = block;
    return block;
}

const double *bench_matrix(bench_segment *s, int operand, int64_t first, int64_t rows,
                           int64_t stride, int64_t cols) {
    double *numbers = bench_numbers(s, rows * cols);
    if (numbers) decode_rows(s->c->dtype, s->input[operand], first, rows, stride, cols, numbers);
    return numbers;
}

const double *bench_same(bench_segment *s, int operand) {
    return bench_matrix(s, operand, s->row * s->plan->row_length + s->first, 1, 0, s->count);
}

void bench_segment_free(bench_segment *s) {
    while (s->blocks > 0)
        free(s->block[--s->blocks]);
}
