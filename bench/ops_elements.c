/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations: arithmetic, cast, fill, and bias_add with its activations. */
#include <math.h>
#include <string.h>

#include "case.h"
#include "values.h"

enum { ADD, SUB, MUL, SCALE, AXPY };
enum { RESIDUAL = 16 }; /* with a tdm_activation: bias_add's variant */

/* Small, so that y stays finite while axpy is repeated in place. */
static const double alpha = 0.0009765625;
static const double fill_value = 0.375;

/* The case's rows x columns; one extent is one row. */
static int64_t rows_of(const bench_case *c) { return c->extents > 1 ? c->extent[0] : 1; }
static int64_t cols_of(const bench_case *c) { return c->extent[c->extents - 1]; }

static void plan_rows(const bench_case *c, bench_plan *plan) {
    plan->row_count = rows_of(c);
    plan->row_length = cols_of(c);
    plan->row_cost = 1;
}

static int add_matrix(const bench_case *c, bench_plan *plan, tdm_dtype dtype, bool is_input,
                      bool is_output) {
    return bench_add_operand(plan, dtype, c->extents, c->extent, is_input, is_output, -1.0, 1.0);
}

static void plan_arithmetic(const bench_case *c, bench_plan *plan) {
    const int variant = c->op->variant;
    add_matrix(c, plan, c->dtype, true, false);
    if (variant == AXPY) {
        add_matrix(c, plan, c->dtype, true, true);
    } else {
        if (variant != SCALE) add_matrix(c, plan, c->dtype, true, false);
        add_matrix(c, plan, c->dtype, false, true);
    }
    plan_rows(c, plan);
}

static tdm_status call_arithmetic(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    switch (c->op->variant) {
    case ADD:
        return tdm_add(queue, &t[0], &t[1], &t[2]);
    case SUB:
        return tdm_sub(queue, &t[0], &t[1], &t[2]);
    case MUL:
        return tdm_mul(queue, &t[0], &t[1], &t[2]);
    case SCALE:
        return tdm_scale(queue, alpha, &t[0], &t[1]);
    default:
        return tdm_axpy(queue, alpha, &t[0], &t[1]);
    }
}

static void reference_arithmetic(const bench_segment *s) {
    const int variant = s->c->op->variant;
    /* alpha is a power of two, so that it is the same number in every dtype */
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = s->row * cols_of(s->c) + s->first + i;
        const double a = bench_value(s->input[0], s->c->dtype, at);
        const double b = variant == SCALE ? 0.0 : bench_value(s->input[1], s->c->dtype, at);
        switch (variant) {
        case ADD:
            s->y[i] = a + b;
            break;
        case SUB:
            s->y[i] = a - b;
            break;
        case MUL:
            s->y[i] = a * b;
            break;
        case SCALE:
            s->y[i] = alpha * a;
            break;
        default:
            s->y[i] = alpha * a + b;
            break;
        }
        s->scale[i] = fabs(s->y[i]);
        if (variant == AXPY) s->scale[i] = fabs(alpha * a) + fabs(b);
    }
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

static void reference_cast(const bench_segment *s) {
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = bench_value(s->input[0], s->c->dtype, s->row * cols_of(s->c) + s->first + i);
        s->scale[i] = fabs(s->y[i]);
    }
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

static void reference_fill(const bench_segment *s) {
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = fill_value;
        s->scale[i] = 0.0;
    }
}

enum { X, BIAS, Y, RESIDUAL_OPERAND };

static void plan_bias_add(const bench_case *c, bench_plan *plan) {
    const int64_t cols = cols_of(c);
    add_matrix(c, plan, c->dtype, true, false);
    bench_add_operand(plan, c->dtype, 1, &cols, true, false, -1.0, 1.0);
    add_matrix(c, plan, c->dtype, false, true);
    if (c->op->variant & RESIDUAL) add_matrix(c, plan, c->dtype, true, false);
    /* wide enough for every part of the activations */
    plan->operand[X].low = -4.0;
    plan->operand[X].high = 4.0;
    plan_rows(c, plan);
}

static tdm_status call_bias_add(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    return tdm_bias_add(queue, &t[X], &t[BIAS], (tdm_activation)(c->op->variant & ~RESIDUAL),
                        c->op->variant & RESIDUAL ? &t[RESIDUAL_OPERAND] : NULL, &t[Y]);
}

static double activate(tdm_activation activation, double x) {
    switch (activation) {
    case TDM_ACTIVATION_RELU:
        return x > 0.0 ? x : 0.0;
    case TDM_ACTIVATION_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case TDM_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case TDM_ACTIVATION_SILU:
        return x / (1.0 + exp(-x));
    case TDM_ACTIVATION_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case TDM_ACTIVATION_TANH:
        return tanh(x);
    case TDM_ACTIVATION_NONE:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return x;
}

static void reference_bias_add(const bench_segment *s) {
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = s->row * cols_of(s->c) + s->first + i;
        const double x = bench_value(s->input[X], s->c->dtype, at);
        const double bias = bench_value(s->input[BIAS], s->c->dtype, s->first + i);
        double residual = 0.0;
        if (s->c->op->variant & RESIDUAL)
            residual = bench_value(s->input[RESIDUAL_OPERAND], s->c->dtype, at);
        s->y[i] = activate((tdm_activation)(s->c->op->variant & ~RESIDUAL), x + bias) + residual;
        s->scale[i] = fmax(fabs(s->y[i]), fabs(x) + fabs(bias) + fabs(residual));
    }
}

#define ARITHMETIC(name, variant, ulps)                                                            \
    {                                                                                              \
        name, variant, BENCH_BASELINE_MOVE, ulps, plan_arithmetic, call_arithmetic,                \
            reference_arithmetic, NULL                                                             \
    }
#define CAST(name, dtype)                                                                          \
    { name, dtype, BENCH_BASELINE_MOVE, 1.0, plan_cast, call_cast, reference_cast, NULL }
#define BIAS_ADD(name, variant, ulps)                                                              \
    {                                                                                              \
        name, variant, BENCH_BASELINE_MOVE, ulps, plan_bias_add, call_bias_add,                    \
            reference_bias_add, NULL                                                               \
    }

_Static_assert(TDM_ACTIVATION_COUNT == 7, "each activation has a row here, and one in bench_cases");
const bench_op bench_ops_elements[] = {
    BIAS_ADD("bias_add", TDM_ACTIVATION_NONE, 2.0),
    BIAS_ADD("bias_add+relu", TDM_ACTIVATION_RELU, 2.0),
    BIAS_ADD("bias_add+gelu", TDM_ACTIVATION_GELU, 8.0),
    BIAS_ADD("bias_add+gelu_tanh", TDM_ACTIVATION_GELU_TANH, 8.0),
    BIAS_ADD("bias_add+silu", TDM_ACTIVATION_SILU, 8.0),
    BIAS_ADD("bias_add+sigmoid", TDM_ACTIVATION_SIGMOID, 8.0),
    BIAS_ADD("bias_add+tanh", TDM_ACTIVATION_TANH, 8.0),
    BIAS_ADD("bias_add+gelu_residual", TDM_ACTIVATION_GELU | RESIDUAL, 8.0),
    ARITHMETIC("add", ADD, 1.0),
    ARITHMETIC("sub", SUB, 1.0),
    ARITHMETIC("mul", MUL, 1.0),
    ARITHMETIC("scale", SCALE, 1.0),
    ARITHMETIC("axpy", AXPY, 2.0),
    CAST("cast+f32", TDM_F32),
    CAST("cast+f64", TDM_F64),
    CAST("cast+f16", TDM_F16),
    CAST("cast+bf16", TDM_BF16),
    {"fill", 0, BENCH_BASELINE_MOVE, 0.0, plan_fill, call_fill, reference_fill, NULL},
    {"empty", 0, BENCH_BASELINE_EMPTY, 0.0, plan_fill, call_fill, reference_fill, NULL},
    {"empty+finish", 0, BENCH_BASELINE_EMPTY_FINISH, 0.0, plan_fill, call_fill_finish,
     reference_fill, NULL},
};
const size_t bench_ops_elements_count = sizeof bench_ops_elements / sizeof *bench_ops_elements;
