/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions: reduce.h, of the last dimension, of the first, whose results lie side by side ("+columns"), and of all
 * ("+whole"). They take as long as reading x. And cumsum, which also writes as much. */
#include "cases/segment.h"
#include "reference/reduce.h"

enum { X, Y };

/* What the variant says: a ref_reduction or one of these, and the form. */
enum { PLACE = REF_REDUCTIONS, DOT };
enum { ROWS = 0, COLUMNS = 32, WHOLE = 64, FORMS = COLUMNS | WHOLE };

static int what_of(const bench_case *c) { return c->op->variant & ~FORMS; }
static int form_of(const bench_case *c) { return c->op->variant & FORMS; }

static tdm_dtype result_of(const bench_case *c) {
    const int what = what_of(c);
    if (what == PLACE) return TDM_I32;
    return what == REF_ANY ? TDM_BOOL : c->dtype;
}

static void plan_reduction(const bench_case *c, bench_plan *plan) {
    const int64_t rows = bench_rows(c), cols = bench_cols(c);
    const int64_t results = form_of(c) == WHOLE ? 1 : form_of(c) == COLUMNS ? cols : rows;
    /* products of these stay finite */
    const double low = what_of(c) == REF_PRODUCT ? 0.999 : -4.0;
    const double high = what_of(c) == REF_PRODUCT ? 1.001 : 4.0;
    bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, true, false, low, high);
    bench_add_operand(plan, result_of(c), 1, &results, false, true, 0.0, 0.0);
    if (what_of(c) == DOT)
        bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, true, false, low,
                          high);
    plan->row_count = results;
    plan->row_length = 1;
    plan->row_cost = rows * cols / results;
    plan->whole_rows = true;
}

static tdm_status call_reduction(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_tensor *x = &set->tensor[X];
    tdm_tensor *y = &set->tensor[Y];
    const int form = form_of(c), dim = form == COLUMNS ? 0 : c->shape.extents - 1;
    const int *dims = form == WHOLE ? NULL : &dim;
    const size_t count = form == WHOLE ? 0 : 1;
    switch (what_of(c)) {
    case REF_SUM:
        return tdm_sum(queue, x, dims, count, y);
    case REF_MEAN:
        return tdm_mean(queue, x, dims, count, y);
    case REF_PRODUCT:
        return tdm_prod(queue, x, dims, count, y);
    case REF_VARIANCE:
        return tdm_variance(queue, x, dims, count, 0, y);
    case REF_L2:
        return tdm_norm_over(queue, TDM_NORM_L2, x, dims, count, y);
    case REF_MAX:
        return tdm_max(queue, x, dims, count, y);
    case REF_ANY:
        return tdm_any(queue, x, dims, count, y);
    case PLACE:
        return tdm_argmax(queue, x, dim, y);
    default:
        return tdm_dot(queue, x, &set->tensor[Y + 1], y);
    }
}

static bool reference_reduction(bench_segment *s) {
    const bench_case *c = s->c;
    const int64_t n = s->plan->row_cost, results = s->plan->row_count;
    const bool columns = form_of(c) == COLUMNS;
    const double *x = columns ? bench_matrix(s, X, s->row, n, results, 1)
                              : bench_matrix(s, X, s->row * n, 1, 0, n);
    const double *other = what_of(c) == DOT ? bench_matrix(s, Y + 1, 0, 1, 0, n) : x;
    if (!x || !other) return false;
    s->bound[0] = 0.0;
    if (what_of(c) == PLACE)
        s->y[0] = (double)ref_place(false, n, x, 1);
    else if (what_of(c) == DOT)
        s->y[0] = ref_dot(c->dtype, c->dtype, n, x, other, s->bound);
    else
        s->y[0] =
            ref_reduce((ref_reduction)what_of(c), c->dtype, result_of(c), n, x, 1, 0, s->bound);
    return true;
}

/* Sums so far along rows, and along columns. */
static void plan_cumsum(const bench_case *c, bench_plan *plan) {
    const bool columns = form_of(c) == COLUMNS;
    for (int y = 0; y < 2; y++)
        bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, !y, y, -4.0, 4.0);
    plan->row_count = bench_rows(c);
    plan->row_length = bench_cols(c);
    plan->row_cost = columns ? bench_rows(c) : 2;
    plan->whole_rows = true;
}

static tdm_status call_cumsum(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const int dim = form_of(c) == COLUMNS ? 0 : c->shape.extents - 1;
    return tdm_cumsum(queue, &set->tensor[X], dim, &set->tensor[Y]);
}

/* Of columns the last sums, of all rows up to this one. */
static bool reference_cumsum(bench_segment *s) {
    const tdm_dtype dtype = s->c->dtype;
    const int64_t cols = s->plan->row_length, above = form_of(s->c) == COLUMNS ? s->row : 0;
    const double *x = bench_matrix(s, X, (s->row - above) * cols, above + 1, cols, cols);
    if (!x) return false;
    if (form_of(s->c) == ROWS) ref_cumsum(dtype, dtype, cols, x, 1, s->y, s->bound);
    for (int64_t j = 0; form_of(s->c) == COLUMNS && j < cols; j++)
        s->y[j] = ref_reduce(REF_SUM, dtype, dtype, above + 1, x + j, cols, 0, &s->bound[j]);
    return true;
}

#define CUMSUM(name, form)                                                                         \
    { name, form, BENCH_BASELINE_MOVE, plan_cumsum, call_cumsum, reference_cumsum, NULL }
#define REDUCTION(name, what)                                                                      \
    { name, what, BENCH_BASELINE_MOVE, plan_reduction, call_reduction, reference_reduction, NULL }
#define REDUCTIONS(name, what)                                                                     \
    REDUCTION(name, (int)(what) | ROWS), REDUCTION(name "+columns", (int)(what) | COLUMNS)

const bench_op bench_ops_reduce[] = {
    REDUCTIONS("sum", REF_SUM),           REDUCTION("sum+whole", REF_SUM | WHOLE),
    REDUCTIONS("mean", REF_MEAN),         REDUCTIONS("prod", REF_PRODUCT),
    REDUCTIONS("variance", REF_VARIANCE), REDUCTION("variance+whole", REF_VARIANCE | WHOLE),
    REDUCTIONS("norm_over", REF_L2),      REDUCTIONS("max", REF_MAX),
    REDUCTIONS("any", REF_ANY),           REDUCTIONS("argmax", PLACE),
    REDUCTION("dot", DOT | WHOLE),        CUMSUM("cumsum", ROWS),
    CUMSUM("cumsum+columns", COLUMNS),
};
const size_t bench_ops_reduce_count = sizeof bench_ops_reduce / sizeof *bench_ops_reduce;
