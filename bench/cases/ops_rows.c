/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on rows: norms and normalisations. */
#include <math.h>

#include "cases/case.h"
#include "machine/values.h"

static const double epsilon = 1e-5;

enum { X, Y = 1 }; /* of the operations with two operands */

static int64_t rows_of(const bench_case *c) {
    return c->shape.extents > 1 ? c->shape.extent[0] : 1;
}
static int64_t cols_of(const bench_case *c) { return c->shape.extent[c->shape.extents - 1]; }

static int add_matrix(const bench_case *c, bench_plan *plan, bool is_input, bool is_output) {
    return bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, is_input, is_output,
                             -4.0, 4.0);
}

static int add_row(const bench_case *c, bench_plan *plan, int64_t count, double low, double high) {
    return bench_add_operand(plan, c->dtype, 1, &count, true, false, low, high);
}

static void plan_rows(const bench_case *c, bench_plan *plan) {
    plan->row_count = rows_of(c);
    plan->row_length = cols_of(c);
    plan->row_cost = 2;
    plan->whole_rows = true;
}

static double value(const bench_segment *s, int operand, int64_t column) {
    return bench_value(s->input[operand], s->c->dtype, s->row * cols_of(s->c) + column);
}

/* layer_norm: x weight bias y */
static void plan_layer_norm(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, true, false);
    add_row(c, plan, cols_of(c), 0.5, 1.5);
    add_row(c, plan, cols_of(c), -1.0, 1.0);
    add_matrix(c, plan, false, true);
    plan_rows(c, plan);
}

static tdm_status call_layer_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    tdm_tensor *t = set->tensor;
    return tdm_layer_norm(queue, &t[0], &t[1], &t[2], epsilon, &t[3]);
}

static void reference_layer_norm(const bench_segment *s) {
    const tdm_dtype dtype = s->c->dtype;
    long double sum = 0.0L, absolute = 0.0L, squares = 0.0L;
    for (int64_t i = 0; i < s->count; i++) {
        sum += value(s, X, i);
        absolute += fabs(value(s, X, i));
    }
    /* the mean's own error is relative to the mean magnitude, however small the mean is */
    const long double mean = sum / s->count;
    const double magnitude = (double)(absolute / s->count);
    for (int64_t i = 0; i < s->count; i++) {
        const long double centred = value(s, X, i) - mean;
        squares += centred * centred;
    }
    const double factor = (double)(1.0L / sqrtl(squares / s->count + (long double)epsilon));
    for (int64_t i = 0; i < s->count; i++) {
        const double x = value(s, X, i);
        const double weight = bench_value(s->input[1], dtype, i);
        const double bias = bench_value(s->input[2], dtype, i);
        s->y[i] = (double)(x - mean) * factor * weight + bias;
        s->scale[i] = (fabs(x) + magnitude) * factor * fabs(weight) + fabs(bias);
    }
}

/* rms_norm: x weight y, or x weight y residual sum */
enum { RMS_X, RMS_WEIGHT, RMS_Y, RMS_RESIDUAL, RMS_SUM };

static void plan_rms_norm(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, true, false);
    add_row(c, plan, cols_of(c), 0.5, 1.5);
    add_matrix(c, plan, false, true);
    if (c->op->variant) {
        add_matrix(c, plan, true, false);
        add_matrix(c, plan, false, true);
    }
    plan_rows(c, plan);
}

static tdm_status call_rms_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    if (!c->op->variant)
        return tdm_rms_norm(queue, &t[RMS_X], NULL, &t[RMS_WEIGHT], epsilon, NULL, &t[RMS_Y]);
    return tdm_rms_norm(queue, &t[RMS_X], &t[RMS_RESIDUAL], &t[RMS_WEIGHT], epsilon, &t[RMS_SUM],
                        &t[RMS_Y]);
}

static void reference_rms_norm(const bench_segment *s) {
    const bool residual = s->c->op->variant != 0;
    long double squares = 0.0L;
    /* y is computed from the rounded sum, whose rounding the scale's second term allows for */
    for (int64_t i = 0; i < s->count; i++) {
        double x = value(s, RMS_X, i);
        double r = residual ? value(s, RMS_RESIDUAL, i) : 0.0;
        s->y[i] = x + r;
        s->scale[i] = residual ? fabs(x) + fabs(r) : fabs(x);
        squares += (long double)s->y[i] * s->y[i];
    }
    if (s->output == RMS_SUM) return;
    const double factor = (double)(1.0L / sqrtl(squares / s->count + (long double)epsilon));
    for (int64_t i = 0; i < s->count; i++) {
        const double weight = bench_value(s->input[RMS_WEIGHT], s->c->dtype, i);
        s->y[i] *= factor * weight;
        s->scale[i] *= factor * fabs(weight);
    }
}

/* batch_norm: x mean variance weight bias y; x is N x C, or N x C x S */
static void plan_batch_norm(const bench_case *c, bench_plan *plan) {
    const int64_t channels = c->shape.extents == 3 ? c->shape.extent[1] : cols_of(c);
    add_matrix(c, plan, true, false);
    add_row(c, plan, channels, -1.0, 1.0);
    add_row(c, plan, channels, 0.5, 1.5);
    add_row(c, plan, channels, 0.5, 1.5);
    add_row(c, plan, channels, -1.0, 1.0);
    add_matrix(c, plan, false, true);
    plan_rows(c, plan);
    if (c->shape.extents == 3) plan->row_count = c->shape.extent[0] * c->shape.extent[1];
}

static tdm_status call_batch_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    tdm_tensor *t = set->tensor;
    return tdm_batch_norm(queue, &t[0], &t[1], &t[2], &t[3], &t[4], epsilon, &t[5]);
}

static void reference_batch_norm(const bench_segment *s) {
    const tdm_dtype dtype = s->c->dtype;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t channel = s->c->shape.extents == 3 ? s->row % s->c->shape.extent[1] : i;
        const double x = value(s, X, i), mean = bench_value(s->input[1], dtype, channel);
        const double factor = bench_value(s->input[3], dtype, channel) /
                              sqrt(bench_value(s->input[2], dtype, channel) + epsilon);
        const double bias = bench_value(s->input[4], dtype, channel);
        s->y[i] = (x - mean) * factor + bias;
        s->scale[i] = (fabs(x) + fabs(mean)) * fabs(factor) + fabs(bias);
    }
}

static void plan_two(const bench_case *c, bench_plan *plan) {
    add_matrix(c, plan, true, false);
    add_matrix(c, plan, false, true);
    plan_rows(c, plan);
}

static tdm_status call_l2_normalize(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_l2_normalize(queue, &set->tensor[X], epsilon, &set->tensor[Y]);
}

static void reference_l2_normalize(const bench_segment *s) {
    long double squares = 0.0L;
    for (int64_t i = 0; i < s->count; i++) {
        const long double x = value(s, X, i);
        squares += x * x;
    }
    const double norm = fmax((double)sqrtl(squares), epsilon);
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = value(s, X, i) / norm;
        s->scale[i] = fabs(s->y[i]);
    }
}

static tdm_status call_softmax(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_softmax(queue, &set->tensor[X], &set->tensor[Y]);
}

static void reference_softmax(const bench_segment *s) {
    double largest = value(s, X, 0);
    for (int64_t i = 1; i < s->count; i++)
        largest = fmax(largest, value(s, X, i));
    long double sum = 0.0L;
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = exp(value(s, X, i) - largest);
        sum += s->y[i];
    }
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = (double)(s->y[i] / sum);
        s->scale[i] = s->y[i];
    }
}

/* norm: x out; the variant is the kind, and WHOLE when all of x has one norm */
enum { WHOLE = 16 };

static void plan_norm(const bench_case *c, bench_plan *plan) {
    const bool half = c->dtype == TDM_F16 || c->dtype == TDM_BF16;
    const int64_t norms = c->op->variant & WHOLE ? 1 : rows_of(c);
    add_matrix(c, plan, true, false);
    bench_add_operand(plan, half ? TDM_F32 : c->dtype, 1, &norms, false, true, 0.0, 0.0);
    plan->row_count = norms;
    plan->row_length = 1;
    plan->row_cost = rows_of(c) * cols_of(c) / norms;
}

static tdm_status call_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_norm_kind kind = (tdm_norm_kind)(c->op->variant & ~WHOLE);
    if (c->op->variant & WHOLE) return tdm_norm(queue, kind, &set->tensor[X], &set->tensor[Y]);
    return tdm_row_norm(queue, kind, &set->tensor[X], &set->tensor[Y]);
}

static void reference_norm(const bench_segment *s) {
    const int kind = s->c->op->variant & ~WHOLE;
    const int64_t length = s->plan->row_cost;
    long double sum = 0.0L;
    for (int64_t i = s->row * length; i < (s->row + 1) * length; i++) {
        const long double x = fabs(bench_value(s->input[X], s->c->dtype, i));
        if (kind == TDM_NORM_L1)
            sum += x;
        else if (kind == TDM_NORM_L2)
            sum += x * x;
        else if (x > sum)
            sum = x;
    }
    s->y[0] = (double)(kind == TDM_NORM_L2 ? sqrtl(sum) : sum);
    s->scale[0] = s->y[0];
}

#define ROWS(name, variant, ulps, what)                                                            \
    { name, variant, BENCH_BASELINE_MOVE, ulps, plan_##what, call_##what, reference_##what, NULL }

const bench_op bench_ops_rows[] = {
    ROWS("layer_norm", 0, 16.0, layer_norm),
    ROWS("rms_norm", 0, 32.0, rms_norm),
    ROWS("rms_norm+residual", 1, 32.0, rms_norm),
    ROWS("batch_norm", 0, 16.0, batch_norm),
    {"l2_normalize", 0, BENCH_BASELINE_MOVE, 32.0, plan_two, call_l2_normalize,
     reference_l2_normalize, NULL},
    {"softmax", 0, BENCH_BASELINE_MOVE, 32.0, plan_two, call_softmax, reference_softmax, NULL},
    ROWS("norm_l1", TDM_NORM_L1, 64.0, norm),
    ROWS("norm_l2", TDM_NORM_L2, 64.0, norm),
    ROWS("norm_inf", TDM_NORM_INF, 0.0, norm),
    ROWS("norm_l1+whole", TDM_NORM_L1 | WHOLE, 64.0, norm),
    ROWS("norm_l2+whole", TDM_NORM_L2 | WHOLE, 64.0, norm),
    ROWS("norm_inf+whole", TDM_NORM_INF | WHOLE, 0.0, norm),
};
const size_t bench_ops_rows_count = sizeof bench_ops_rows / sizeof *bench_ops_rows;
