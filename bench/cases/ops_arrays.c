/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations that keep data on the device between products: arrays.h. */
#include "cases/segment.h"
#include "operations/formulas.h"
#include "reference/values.h"

enum { X, Y };
enum { TOP = 40 };

enum { GATHER, ONE_HOT, CONCAT, SCATTER, ARGSORT, TOP_K, FLIP };

/* Arrays of the case's shape, then an index for each row, then the result. */
static void plan_arrays(const bench_case *c, bench_plan *plan) {
    const int op = c->op->variant, inputs = op == ONE_HOT ? 0 : op == CONCAT ? 2 : 1;
    const int64_t rows = bench_rows(c), cols = bench_cols(c), shape[] = {rows, cols};
    const int64_t below = op == ONE_HOT ? cols : op == GATHER || op == SCATTER ? rows : 0;
    const int64_t width = op == CONCAT ? 2 * cols : op == TOP_K ? TOP : cols;
    for (int i = 0; i < inputs; i++)
        bench_add_operand(plan, c->dtype, 2, shape, true, false, -4.0, 4.0);
    if (below > 0) bench_add_operand(plan, TDM_I32, 1, &rows, true, false, 0.0, (double)below);
    bench_add_operand(plan, op == ARGSORT ? TDM_I32 : c->dtype, 2, (const int64_t[]){rows, width},
                      op == SCATTER, true, -4.0, 4.0);
    plan->row_count = rows;
    plan->row_length = width;
    plan->whole_rows = op == ARGSORT || op == TOP_K;
    plan->row_cost = plan->whole_rows ? cols : op == SCATTER ? 64 : op == CONCAT ? 1 : 2;
}

/* gather_rows: table indices y, as many indices as rows; one_hot: indices y */
enum { TABLE, INDICES, GATHERED };

static tdm_status call_gather(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    tdm_tensor *t = set->tensor;
    return tdm_gather_rows(queue, &t[TABLE], &t[INDICES], &t[GATHERED]);
}

static int64_t index_of(const bench_segment *s, int operand) {
    return (int64_t)decode(TDM_I32, (const char *)s->input[operand] + 4 * s->row);
}

static bool reference_gather(bench_segment *s) {
    const int64_t first = index_of(s, INDICES) * s->plan->row_length + s->first;
    const double *row = bench_matrix(s, TABLE, first, 1, 0, s->count);
    for (int64_t i = 0; row && i < s->count; i++)
        s->y[i] = row[i];
    return row;
}

static tdm_status call_one_hot(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_one_hot(queue, &set->tensor[0], &set->tensor[1]);
}

static bool reference_one_hot(bench_segment *s) {
    const int64_t hot = index_of(s, 0) - s->first;
    for (int64_t i = 0; i < s->count; i++)
        s->y[i] = i == hot;
    return true;
}

/* concat: two inputs side by side */
static tdm_status call_concat(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    const tdm_tensor *const tensors[] = {&set->tensor[0], &set->tensor[1]};
    return tdm_concat(queue, tensors, 2, 1, &set->tensor[2]);
}

static bool reference_concat(bench_segment *s) {
    const int64_t cols = s->plan->row_length / 2;
    const double *half[2];
    for (int i = 0; i < 2; i++) {
        half[i] = bench_matrix(s, i, s->row * cols, 1, 0, cols);
        if (!half[i]) return false;
    }
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = s->first + i;
        s->y[i] = half[at >= cols][at % cols];
    }
    return true;
}

static tdm_status call_flip(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const int last[] = {c->shape.extents - 1};
    return tdm_flip(queue, &set->tensor[X], last, 1, &set->tensor[Y]);
}

static bool reference_flip(bench_segment *s) {
    const int64_t end = (s->row + 1) * s->plan->row_length - s->first;
    const double *x = bench_matrix(s, X, end - s->count, 1, 0, s->count);
    for (int64_t i = 0; x && i < s->count; i++)
        s->y[i] = x[s->count - 1 - i];
    return x;
}

/* scatter_add_rows: source indices y, as many rows of each */
static tdm_status call_scatter(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    tdm_tensor *t = set->tensor;
    return tdm_scatter_add_rows(queue, &t[TABLE], &t[INDICES], &t[GATHERED]);
}

static bool reference_scatter(bench_segment *s) {
    const int64_t length = s->plan->row_length, rows = bench_rows(s->c);
    const double *y = bench_same(s, GATHERED);
    double *row = bench_numbers(s, s->count);
    if (!y || !row) return false;
    for (int64_t j = 0; j < s->count; j++)
        s->y[j] = y[j];
    for (int64_t i = 0; i < rows; i++) {
        const char *const indices = s->input[INDICES];
        if ((int64_t)decode(TDM_I32, indices + 4 * i) != s->row) continue;
        decode_rows(s->c->dtype, s->input[TABLE], i * length + s->first, 1, 0, s->count, row);
        for (int64_t j = 0; j < s->count; j++)
            s->y[j] += row[j];
    }
    /* at most some tens of terms of 4 at most */
    for (int64_t j = 0; j < s->count; j++)
        s->bound[j] = half_ulp(s->c->dtype, s->y[j]) + 1024.0 * compute_eps(s->c->dtype);
    return true;
}

/* argsort, whose order is checked by counting, and top_k, of which the values are */
static tdm_status call_argsort(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_argsort(queue, &set->tensor[X], false, &set->tensor[Y]);
}

/* Element i comes after all smaller ones, and after equal ones before it. */
static bool reference_argsort(bench_segment *s) {
    const double *x = bench_same(s, X);
    for (int64_t i = 0; x && i < s->count; i++) {
        int64_t place = 0;
        for (int64_t j = 0; j < s->count; j++)
            place += x[j] < x[i] || (x[j] == x[i] && j < i);
        s->y[place] = (double)i;
    }
    return x;
}

static tdm_status call_top_k(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_top_k(queue, &set->tensor[X], &set->tensor[Y], NULL);
}

static bool reference_top_k(bench_segment *s) {
    const int64_t cols = bench_cols(s->c);
    const double *x = bench_matrix(s, X, s->row * cols, 1, 0, cols);
    int64_t kept = 0;
    for (int64_t i = 0; x && i < cols; i++) {
        if (kept == TOP && !(x[i] > s->y[TOP - 1])) continue;
        int64_t j = kept < TOP ? kept++ : TOP - 1;
        for (; j > 0 && s->y[j - 1] < x[i]; j--)
            s->y[j] = s->y[j - 1];
        s->y[j] = x[i];
    }
    return x;
}

#define MOVES(title, number, what)                                                                 \
    {                                                                                              \
        .name = title, .variant = number, .baseline = BENCH_BASELINE_MOVE, .plan = plan_arrays,    \
        .call = call_##what, .reference = reference_##what                                         \
    }

const bench_op bench_ops_arrays[] = {
    MOVES("gather_rows", GATHER, gather),
    MOVES("one_hot", ONE_HOT, one_hot),
    MOVES("concat", CONCAT, concat),
    MOVES("scatter_add_rows", SCATTER, scatter),
    MOVES("argsort", ARGSORT, argsort),
    MOVES("top_k", TOP_K, top_k),
    MOVES("flip", FLIP, flip),
    {0},
};
