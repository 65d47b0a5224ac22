/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every operation that has a page in operations/, and a few rows that call one in another way. */
#include <stdlib.h>
#include <string.h>

#include "cases/segment.h"
#include "operations/list.h"

static op_case case_of(const bench_case *c) {
    op_case made = {.op = c->op->operation,
                    .dtype = c->dtype,
                    .ndim = c->shape.extents,
                    .given = c->op->given,
                    .number = c->op->operation->number.usual};
    memcpy(made.shape, c->shape.extent, sizeof c->shape.extent);
    return made;
}

/* The operands of the plan are those that are given, in the order of the page. */
#define EACH_GIVEN(c, i, k)                                                                        \
    for (int i = 0, k = 0; i < OP_OPERANDS; k += ((c)->op->given & OP_BIT(i)) != 0, i++)           \
        if ((c)->op->given & OP_BIT(i))

static void plan_page(const bench_case *c, bench_plan *plan) {
    const op_case made = case_of(c);
    op_extent left = OP_ALL;
    for (int i = 0; i < OP_OPERANDS; i++) {
        if (!(c->op->given & OP_BIT(i))) continue;
        const op_operand *const operand = &made.op->operand[i];
        int64_t shape[TDM_MAX_DIMS];
        const int ndim = op_shape(&made, i, shape);
        if (operand->role & OP_OUT) left = operand->extent;
        bench_add_operand(plan, op_dtype_of(&made, i), ndim, shape, operand->role & OP_IN,
                          operand->role & OP_OUT, operand->low, operand->high);
    }
    const int64_t rows = op_rows(&made), cols = op_cols(&made);
    plan->row_count = left == OP_COLS ? cols : left == OP_ONE ? 1 : rows;
    plan->row_length = left == OP_ALL ? cols : 1;
    plan->row_cost =
        left == OP_ALL ? made.op->cost > 0 ? made.op->cost : 1 : rows * cols / plan->row_count;
    if (left == OP_ALL && made.op->unit == OP_BY_COLUMN) plan->row_cost = rows;
    plan->whole_rows = made.op->unit == OP_BY_ROW || made.op->unit == OP_WHOLE;
}

static tdm_status call_page(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const op_case made = case_of(c);
    tdm_tensor *t[OP_OPERANDS] = {NULL};
    EACH_GIVEN(c, i, k) t[i] = &set->tensor[k];
    return made.op->call(&made, queue, t);
}

/* The part of the case that a segment of an output depends on, and its first element in inputs of the case's shape. */
static op_part part_of(const bench_segment *s, const op_case *made, op_extent left,
                       int64_t *first) {
    const int64_t rows = op_rows(made), cols = op_cols(made);
    op_part p = {.c = made, .row = s->row, .rows = 1, .cols = left == OP_ALL ? s->count : cols};
    p.col = left == OP_ALL ? s->first : 0;
    *first = s->row * cols + (left == OP_ALL ? s->first : 0);
    if (left == OP_ONE) {
        p.cols = rows * cols;
    } else if (made->op->unit ==
               OP_BY_COLUMN) { /* all rows, or for sums so far those up to this one */
        p.row = 0;
        p.rows = left == OP_ALL ? s->row + 1 : rows;
        p.cols = left == OP_ALL ? s->count : 1;
        *first = left == OP_ALL ? s->first : s->row;
    }
    return p;
}

static bool read_inputs(bench_segment *s, op_part *p, int64_t first) {
    const op_case *const made = p->c;
    EACH_GIVEN(s->c, i, k) {
        const op_operand *const operand = &made->op->operand[i];
        if (!(operand->role & OP_IN)) continue;
        if (operand->extent == OP_ALL)
            p->x[i] = bench_matrix(s, k, first, p->rows, op_cols(made), p->cols);
        else if (operand->extent == OP_CHANNELS && made->ndim > 2)
            p->x[i] = bench_matrix(s, k, 0, 1, 0, made->shape[1]);
        else
            p->x[i] = bench_matrix(s, k, s->first, 1, 0, p->cols);
        if (!p->x[i]) return false;
    }
    return true;
}

static bool reference_page(bench_segment *s) {
    const op_case made = case_of(s->c);
    int output = 0;
    int64_t first;
    EACH_GIVEN(s->c, i, k) if (k == s->output) output = i;
    op_part p = part_of(s, &made, made.op->operand[output].extent, &first);
    const int64_t all = p.rows * p.cols; /* of them the last are the segment's */
    double *const y = bench_numbers(s, all), *const bound = bench_numbers(s, all);
    p.scratch = bench_numbers(s, p.cols);
    if (!y || !bound || !p.scratch || !read_inputs(s, &p, first)) return false;
    memset(bound, 0, (size_t)all * sizeof *bound);
    p.y[output] = y;
    p.bound[output] = bound;
    made.op->reference(&p);
    const int64_t at = made.op->operand[output].extent == OP_ALL ? all - s->count : 0;
    memcpy(s->y, y + at, (size_t)s->count * sizeof *y);
    memcpy(s->bound, bound + at, (size_t)s->count * sizeof *bound);
    return true;
}

/* The L2 norm of each row by a kernel that is made each time, as a program may do it. */
static tdm_status run_own_kernel(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x * x", .finish = "sqrt(r)");
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &set->tensor[0]),
                                      TDM_WITH_TENSOR("y", &set->tensor[1])};
    tdm_kernel *kernel;
    (void)c;
    tdm_status status =
        tdm_kernel_rows(tdm_queue_get_device(queue), &texts, parameters, 2, &kernel);
    if (status == TDM_OK) status = tdm_kernel_run(queue, kernel, arguments, 2);
    tdm_kernel_release(kernel);
    return status;
}

static tdm_status call_and_finish(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_status status = call_page(c, queue, set);
    return status == TDM_OK ? tdm_queue_finish(queue) : status;
}

static const struct {
    const char *name, *operation;
    bool with_all; /* operands */
    bench_baseline_kind baseline;
    tdm_status (*call)(const bench_case *c, tdm_queue *queue, bench_set *set);
} others[] = {
    {"bias_add+gelu_residual", "bias_add+gelu", true, BENCH_BASELINE_MOVE, call_page},
    {"norm_l2+own_kernel", "norm_l2", false, BENCH_BASELINE_MOVE, run_own_kernel},
    {"empty", "fill", false, BENCH_BASELINE_EMPTY, call_page},
    {"empty+finish", "fill", false, BENCH_BASELINE_EMPTY_FINISH, call_and_finish},
};
enum { OTHERS = sizeof others / sizeof *others };

static bench_op made[BENCH_MAX_OPS + 1];
static size_t made_count;

static void add(const char *name, const operation *op, unsigned given, bench_baseline_kind baseline,
                tdm_status (*call)(const bench_case *c, tdm_queue *queue, bench_set *set)) {
    if (made_count == BENCH_MAX_OPS) abort();
    made[made_count++] = (bench_op){.name = name,
                                    .baseline = baseline,
                                    .plan = plan_page,
                                    .call = call,
                                    .reference = reference_page,
                                    .operation = op,
                                    .given = given};
}

const bench_op *bench_ops_pages(void) {
    const operation *op;
    const bool is_made = made_count > 0;
    for (size_t i = 0; !is_made && (op = op_at(i)); i++)
        add(op->name, op, op_usual(op), BENCH_BASELINE_MOVE, call_page);
    for (size_t i = 0; !is_made && i < OTHERS; i++) {
        op = op_named(others[i].operation);
        add(others[i].name, op, others[i].with_all ? op_all(op) : op_usual(op), others[i].baseline,
            others[i].call);
    }
    return made;
}
