/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Comparing with the reference: everything when that is cheap, else a random sample. */
#include "cases/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/segment.h"
#include "reference/random.h"
#include "reference/values.h"

/* Elements recomputed at most, weighted by row_cost: some tens of milliseconds. */
static const double budget = 4e6;
/* Elements of a piece when whole rows are not needed. */
enum { PIECE = 256 };

/* How an output is cut into pieces. */
typedef struct layout {
    int64_t rows, length, cost;
    int64_t piece; /* elements of a piece; the last one of a row is shorter */
    int64_t pieces_per_row, pieces;
} layout;

/* A second output of another size (the norms of a batch of products) is cut by its own shape. */
static layout make_layout(const bench_plan *plan, int output) {
    const tdm_tensor *const tensor = &plan->operand[output].tensor;
    const int64_t count = tdm_tensor_get_count(tensor);
    layout l = {plan->row_count, plan->row_length, plan->row_cost, 0, 0, 0};
    if (count != l.rows * l.length) {
        l.cost = l.cost * l.rows * l.length / count;
        l.length = tensor->shape[tensor->ndim - 1];
        l.rows = count / l.length;
    }
    l.piece = plan->whole_rows ? l.length : l.length < PIECE ? l.length : PIECE;
    if ((double)l.cost > budget / 64 && !plan->whole_rows) l.piece = 1;
    l.pieces_per_row = (l.length + l.piece - 1) / l.piece;
    l.pieces = l.rows * l.pieces_per_row;
    return l;
}

static void compare(const bench_segment *s, const void *data, int64_t row_length,
                    bench_verdict *verdict) {
    const tdm_dtype dtype = s->plan->operand[s->output].tensor.dtype;
    double worst = verdict->error_bound > 0.0 ? verdict->max_error / verdict->error_bound : 0.0;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = s->row * row_length + s->first + i;
        double value;
        decode_rows(dtype, data, at, 1, 0, 1, &value);
        const double bound = s->bound[i];
        const double error = fabs(value - s->y[i]);
        /* written so that a NaN is a failure */
        const bool good = error <= bound;
        const double badness = error == 0.0 ? 0.0 : error / bound;
        if (badness >= worst || !good) {
            worst = badness;
            verdict->max_error = error;
            verdict->error_bound = bound;
        }
        if (good) continue;
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem,
                 "row %lld, column %lld is %.9g, should be %.9g within %.2g", (long long)s->row,
                 (long long)(s->first + i), value, s->y[i], bound);
        return;
    }
}

static void fail_for_memory(bench_verdict *verdict) {
    verdict->verified = false;
    snprintf(verdict->problem, sizeof verdict->problem, "no memory to verify with");
}

void bench_verify(const bench_case *c, const bench_plan *plan, const void *const *input, int output,
                  const void *data, uint64_t seed, bench_verdict *verdict) {
    const bench_operand *operand = &plan->operand[output];
    if (!all_finite(operand->tensor.dtype, data, tdm_tensor_get_count(&operand->tensor))) {
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem,
                 "operand %d has elements that are NaN, infinite or were never written", output);
        verdict->max_error = (double)NAN;
        return;
    }
    const layout l = make_layout(plan, output);
    double *values = malloc(2 * (size_t)l.piece * sizeof *values);
    if (!values) {
        fail_for_memory(verdict);
        return;
    }
    bench_segment s = {.c = c, .plan = plan, .input = input, .output = output};
    s.y = values;
    s.bound = values + l.piece;
    const double affordable = budget / ((double)l.piece * (double)l.cost);
    const bool everything = (double)l.pieces <= affordable;
    const int64_t tries = everything ? l.pieces : affordable < 3.0 ? 3 : (int64_t)affordable;
    random_stream random = random_stream_start(seed);
    for (int64_t i = 0; i < tries && verdict->verified; i++) {
        int64_t piece = i;
        if (!everything && i == 1)
            piece = l.pieces - 1;
        else if (!everything && i > 1)
            piece = (int64_t)(random_stream_next(&random) % (uint64_t)l.pieces);
        s.row = piece / l.pieces_per_row;
        s.first = piece % l.pieces_per_row * l.piece;
        s.count = l.length - s.first < l.piece ? l.length - s.first : l.piece;
        for (int64_t j = 0; j < s.count; j++)
            s.bound[j] = 0.0; /* exact, unless the reference says otherwise */
        if (!c->op->reference(&s))
            fail_for_memory(verdict);
        else
            compare(&s, data, l.length, verdict);
        bench_segment_free(&s);
    }
    free(values);
}
