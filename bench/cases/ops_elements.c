/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations: arithmetic, cast, fill, and bias_add with its activations. */
#include <math.h>

#include "cases/segment.h"
#include "reference/ops.h"
#include "reference/values.h"

enum { RESIDUAL = 16 }; /* with a tdm_activation: bias_add's variant */

/* Small, so that y stays finite while axpy is repeated in place. */
static const double alpha = 0.0009765625;
static const double fill_value = 0.375;

static void plan_rows(const bench_case *c, bench_plan *plan) {
    plan->row_count = bench_rows(c);
    plan->row_length = bench_cols(c);
    plan->row_cost = 1;
}

static int add_matrix(const bench_case *c, bench_plan *plan, tdm_dtype dtype, bool is_input,
                      bool is_output) {
    return bench_add_operand(plan, dtype, c->shape.extents, c->shape.extent, is_input, is_output,
                             -1.0, 1.0);
}

static void plan_arithmetic(const bench_case *c, bench_plan *plan) {
    const int variant = c->op->variant;
    add_matrix(c, plan, c->dtype, true, false);
    if (variant == REF_AXPY) {
        add_matrix(c, plan, c->dtype, true, true);
    } else {
        if (variant != REF_SCALE) add_matrix(c, plan, c->dtype, true, false);
        add_matrix(c, plan, c->dtype, false, true);
    }
    plan_rows(c, plan);
}

static tdm_status call_arithmetic(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    switch (c->op->variant) {
    case REF_ADD:
        return tdm_add(queue, &t[0], &t[1], &t[2]);
    case REF_SUB:
        return tdm_sub(queue, &t[0], &t[1], &t[2]);
    case REF_MUL:
        return tdm_mul(queue, &t[0], &t[1], &t[2]);
    case REF_SCALE:
        return tdm_scale(queue, alpha, &t[0], &t[1]);
    default:
        return tdm_axpy(queue, alpha, &t[0], &t[1]);
    }
}

static bool reference_arithmetic(bench_segment *s) {
    const int variant = s->c->op->variant;
    const double *a = bench_same(s, 0), *b = variant == REF_SCALE ? a : bench_same(s, 1);
    if (!a || !b) return false;
    ref_arithmetic((ref_arithmetic_kind)variant, s->c->dtype, s->count, alpha, a, b, s->y,
                   s->bound);
    return true;
}

/* exp and div, of functions.h */
enum { EXP, DIV };

static void plan_function(const bench_case *c, bench_plan *plan) {
    for (int i = 0; i < (c->op->variant == DIV ? 3 : 2); i++) {
        const bool is_output = i == (c->op->variant == DIV ? 2 : 1);
        bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, !is_output, is_output,
                          0.5, 4.0);
    }
    plan_rows(c, plan);
}

static tdm_status call_function(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    return c->op->variant == DIV ? tdm_div(queue, &t[0], &t[1], &t[2])
                                 : tdm_exp(queue, &t[0], &t[1]);
}

static bool reference_function(bench_segment *s) {
    const bool divides = s->c->op->variant == DIV;
    const tdm_dtype dtype = s->c->dtype;
    const double *a = bench_same(s, 0), *b = divides ? bench_same(s, 1) : a;
    for (int64_t i = 0; a && b && i < s->count; i++) {
        s->y[i] = divides ? a[i] / b[i] : exp(a[i]);
        s->bound[i] = 3 * compute_eps(dtype) * fabs(s->y[i]);
        if (tdm_dtype_size(dtype) == 2) s->bound[i] += 1.001 * half_ulp(dtype, s->y[i]);
    }
    return a && b;
}

/* expression: one operation, or ten, which are a polynomial. */
static const char *const expressions[] = {
    "y = x * 2", "y = ((((x * 0.5 + 1) * x + 0.25) * x + 2) * x + 0.125) * x + 0.75"};
static const double coefficients[2][6] = {{2, 0}, {0.5, 1, 0.25, 2, 0.125, 0.75}};

static void plan_expression(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, c->dtype, true, false);
    add_matrix(c, plan, c->dtype, false, true);
    plan_rows(c, plan);
}

/* The kernel is made anew each time, as a program may do it. */
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

/* cast: the variant is the dtype of the result */
static void plan_cast(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, c->dtype, true, false);
    add_matrix(c, plan, (tdm_dtype)c->op->variant, false, true);
    plan_rows(c, plan);
}

static tdm_status call_cast(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_cast(queue, &set->tensor[0], &set->tensor[1]);
}

static bool reference_cast(bench_segment *s) {
    const double *x = bench_same(s, 0);
    for (int64_t i = 0; x && i < s->count; i++)
        s->y[i] = rounded((tdm_dtype)s->c->op->variant, x[i]);
    return x;
}

static void plan_fill(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, c->dtype, false, true);
    plan_rows(c, plan);
}

static tdm_status call_fill(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_fill(queue, fill_value, &set->tensor[0]);
}

static tdm_status call_fill_finish(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_status status = call_fill(c, queue, set);
    return status == TDM_OK ? tdm_queue_finish(queue) : status;
}

static bool reference_fill(bench_segment *s) {
    for (int64_t i = 0; i < s->count; i++)
        s->y[i] = fill_value;
    return true;
}

enum { X, BIAS, Y, RESIDUAL_OPERAND };

static void plan_bias_add(const bench_case *c, bench_plan *plan) {
    const int64_t cols = bench_cols(c);
    add_matrix(c, plan, c->dtype, true, false);
    bench_add_operand(plan, c->dtype, 1, &cols, true, false, -1.0, 1.0);
    add_matrix(c, plan, c->dtype, false, true);
    if (c->op->variant & RESIDUAL) add_matrix(c, plan, c->dtype, true, false);
    /* wide enough for every part of the activations */
    plan->operand[X].low = -4.0;
    plan->operand[X].high = 4.0;
    plan_rows(c, plan);
    if (c->op->variant & ~RESIDUAL) plan->row_cost = 8;
}

static tdm_status call_bias_add(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    return tdm_bias_add(queue, &t[X], &t[BIAS], (tdm_activation)(c->op->variant & ~RESIDUAL),
                        c->op->variant & RESIDUAL ? &t[RESIDUAL_OPERAND] : NULL, &t[Y]);
}

static bool reference_bias_add(bench_segment *s) {
    const bool has_residual = (s->c->op->variant & RESIDUAL) != 0;
    const double *x = bench_same(s, X), *bias = bench_columns(s, BIAS);
    const double *residual = has_residual ? bench_same(s, RESIDUAL_OPERAND) : NULL;
    if (!x || !bias || (has_residual && !residual)) return false;
    ref_bias_add(s->c->dtype, 1, s->count, x, bias, (tdm_activation)(s->c->op->variant & ~RESIDUAL),
                 residual, s->y, s->bound);
    return true;
}

#define ARITHMETIC(name, variant)                                                                  \
    {                                                                                              \
        name, variant, BENCH_BASELINE_MOVE, plan_arithmetic, call_arithmetic,                      \
            reference_arithmetic, NULL                                                             \
    }
#define EXPRESSION(name, variant)                                                                  \
    {                                                                                              \
        name, variant, BENCH_BASELINE_MOVE, plan_expression, call_expression,                      \
            reference_expression, NULL                                                             \
    }
#define CAST(name, dtype)                                                                          \
    { name, dtype, BENCH_BASELINE_MOVE, plan_cast, call_cast, reference_cast, NULL }
#define BIAS_ADD(name, variant)                                                                    \
    { name, variant, BENCH_BASELINE_MOVE, plan_bias_add, call_bias_add, reference_bias_add, NULL }

_Static_assert(TDM_ACTIVATION_COUNT == 7, "each activation has a row here, and one in bench_cases");
const bench_op bench_ops_elements[] = {
    BIAS_ADD("bias_add", TDM_ACTIVATION_NONE),
    BIAS_ADD("bias_add+relu", TDM_ACTIVATION_RELU),
    BIAS_ADD("bias_add+gelu", TDM_ACTIVATION_GELU),
    BIAS_ADD("bias_add+gelu_tanh", TDM_ACTIVATION_GELU_TANH),
    BIAS_ADD("bias_add+silu", TDM_ACTIVATION_SILU),
    BIAS_ADD("bias_add+sigmoid", TDM_ACTIVATION_SIGMOID),
    BIAS_ADD("bias_add+tanh", TDM_ACTIVATION_TANH),
    BIAS_ADD("bias_add+gelu_residual", TDM_ACTIVATION_GELU | RESIDUAL),
    ARITHMETIC("add", REF_ADD),
    ARITHMETIC("sub", REF_SUB),
    ARITHMETIC("mul", REF_MUL),
    ARITHMETIC("scale", REF_SCALE),
    ARITHMETIC("axpy", REF_AXPY),
    {"exp", EXP, BENCH_BASELINE_MOVE, plan_function, call_function, reference_function, NULL},
    {"div", DIV, BENCH_BASELINE_MOVE, plan_function, call_function, reference_function, NULL},
    EXPRESSION("expression", 0),
    EXPRESSION("expression+ten", 1),
    CAST("cast+f32", TDM_F32),
    CAST("cast+f64", TDM_F64),
    CAST("cast+f16", TDM_F16),
    CAST("cast+bf16", TDM_BF16),
    {"fill", 0, BENCH_BASELINE_MOVE, plan_fill, call_fill, reference_fill, NULL},
    {"empty", 0, BENCH_BASELINE_EMPTY, plan_fill, call_fill, reference_fill, NULL},
    {"empty+finish", 0, BENCH_BASELINE_EMPTY_FINISH, plan_fill, call_fill_finish, reference_fill,
     NULL},
};
const size_t bench_ops_elements_count = sizeof bench_ops_elements / sizeof *bench_ops_elements;
