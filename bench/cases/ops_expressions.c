/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Expressions of a program's own. */
#include <math.h>

#include "cases/segment.h"
#include "reference/values.h"

/* expression: one operation, or ten, which are a polynomial. */
static const char *const expressions[] = {
    "y = x * 2", "y = ((((x * 0.5 + 1) * x + 0.25) * x + 2) * x + 0.125) * x + 0.75"};
static const double coefficients[2][6] = {{2, 0}, {0.5, 1, 0.25, 2, 0.125, 0.75}};

static void plan_expression(const bench_case *c, bench_plan *plan) {
    for (int y = 0; y < 2; y++)
        bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, !y, y, -1.0, 1.0);
    plan->row_count = bench_rows(c);
    plan->row_length = bench_cols(c);
    plan->row_cost = 1;
}

/* Each call makes the kernel, as a program may do. */
static tdm_status call_expression(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &set->tensor[0]),
                                      TDM_WITH_TENSOR("y", &set->tensor[1])};
    tdm_kernel *kernel;
    tdm_status status = tdm_kernel_elementwise(tdm_queue_get_device(queue),
                                               expressions[c->op->variant], parameters, 2, &kernel);
    if (status == TDM_OK) status = tdm_kernel_run(queue, kernel, arguments, 2);
    tdm_kernel_release(kernel);
    return status;
}

static bool reference_expression(bench_segment *s) {
    const double *x = bench_same(s, 0), *factors = coefficients[s->c->op->variant];
    const int degree = s->c->op->variant ? 5 : 1;
    for (int64_t i = 0; x && i < s->count; i++) {
        double y = factors[0], most = factors[0];
        for (int k = 1; k <= degree; k++) {
            y = y * x[i] + factors[k];
            most = most * fabs(x[i]) + factors[k];
        }
        s->y[i] = y;
        s->bound[i] = 2 * degree * compute_eps(s->c->dtype) * most;
        if (tdm_dtype_size(s->c->dtype) == 2) s->bound[i] += 1.001 * half_ulp(s->c->dtype, y);
    }
    return x;
}

#define EXPRESSION(title, number)                                                                  \
    {                                                                                              \
        .name = title, .variant = number, .baseline = BENCH_BASELINE_MOVE,                         \
        .plan = plan_expression, .call = call_expression, .reference = reference_expression        \
    }
const bench_op bench_ops_expressions[] = {
    EXPRESSION("expression", 0),
    EXPRESSION("expression+ten", 1),
    {0},
};
