/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* feed_forward: a transformer's block of two linear layers, z = LayerNorm(x + b2 + gelu(x W1ᵀ + b1) W2ᵀ), as a
 * program would write it with four calls. Shapes are rows x width x inner width. */
#include <string.h>

#include "cases/segment.h"
#include "operations/formulas.h"
#include "operations/list.h"

/* Its baseline knows the first three. */
enum { X, W1, W2, B1, B2, GAIN, SHIFT, HIDDEN, SUM, Z };

static const double epsilon = 1e-5;

static int64_t rows_of(const bench_case *c) { return c->shape.extent[0]; }
static int64_t width_of(const bench_case *c) { return c->shape.extent[1]; }
static int64_t inner_of(const bench_case *c) { return c->shape.extent[2]; }

static void add_input(const bench_case *c, bench_plan *plan, int64_t rows, int64_t cols, double low,
                      double high) {
    const int64_t shape[2] = {rows, cols};
    bench_add_operand(plan, c->dtype, 2, shape, true, false, low, high);
}

static void add_row(const bench_case *c, bench_plan *plan, int64_t cols, double low, double high) {
    bench_add_operand(plan, c->dtype, 1, &cols, true, false, low, high);
}

static void add_output(const bench_case *c, bench_plan *plan, int64_t cols) {
    const int64_t shape[2] = {rows_of(c), cols};
    bench_add_operand(plan, c->dtype, 2, shape, false, true, 0.0, 0.0);
}

/* Weights as small as a network's, or GELU would see nothing but numbers that it leaves or drops. */
static void plan_feed_forward(const bench_case *c, bench_plan *plan) {
    const int64_t rows = rows_of(c), width = width_of(c), inner = inner_of(c);
    add_input(c, plan, rows, width, -1.0, 1.0);
    add_input(c, plan, inner, width, -0.125, 0.125);
    add_input(c, plan, width, inner, -0.125, 0.125);
    add_row(c, plan, inner, -1.0, 1.0);
    add_row(c, plan, width, -1.0, 1.0);
    add_row(c, plan, width, 0.5, 1.5);
    add_row(c, plan, width, -1.0, 1.0);
    add_output(c, plan, inner);
    add_output(c, plan, width);
    add_output(c, plan, width);
    plan->flops = 4.0 * (double)rows * (double)width * (double)inner;
    plan->transpose_b = true;
    plan->row_count = rows;
    plan->row_length = width;
    plan->row_cost = inner;
}

static tdm_status call_feed_forward(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    tdm_tensor *t = set->tensor;
    tdm_matmul_options first = TDM_MATMUL_OPTIONS_DEFAULTS, second = first;
    first.transpose_b = second.transpose_b = true;
    first.bias = &t[B1];
    first.activation = TDM_ACTIVATION_GELU;
    tdm_status status = tdm_matmul(queue, &first, &t[X], &t[W1], &t[HIDDEN]);
    if (status == TDM_OK) status = tdm_matmul(queue, &second, &t[HIDDEN], &t[W2], &t[SUM]);
    if (status == TDM_OK)
        status = tdm_bias_add(queue, &t[SUM], &t[B2], TDM_ACTIVATION_NONE, &t[X], &t[SUM]);
    if (status != TDM_OK) return status;
    return tdm_layer_norm(queue, &t[SUM], &t[GAIN], &t[SHIFT], epsilon, &t[Z]);
}

/* The segment's columns of a Wᵀ, or of gelu(a Wᵀ + bias), for its row of a, which has k columns. */
static bool multiply(bench_segment *s, int a, int w, int64_t k, const double *bias, double *y,
                     double *bound) {
    const ref_gemm gemm = {.dtype = s->c->dtype,
                           .m = 1,
                           .n = s->count,
                           .k = k,
                           .transpose_b = true,
                           .alpha = 1.0,
                           .a = bench_matrix(s, a, s->row * k, 1, 0, k),
                           .b = bench_matrix(s, w, s->first * k, s->count, k, k),
                           .bias = bias,
                           .activation = bias ? TDM_ACTIVATION_GELU : TDM_ACTIVATION_NONE};
    if (!gemm.a || !gemm.b) return false;
    ref_matmul(&gemm, y, bound);
    return true;
}

static bool reference_sum(bench_segment *s) {
    double *const product = bench_numbers(s, s->count), *const off = bench_numbers(s, s->count);
    const double *const added[OP_OPERANDS] = {
        product, bench_matrix(s, B2, s->first, 1, 0, s->count), bench_same(s, X)};
    if (!product || !off || !added[1] || !added[2] ||
        !multiply(s, HIDDEN, W2, inner_of(s->c), NULL, product, off))
        return false;
    op_refer(op_named("bias_add"), s->c->dtype, 1, s->count, 0, added, 3, s->y, s->bound);
    for (int64_t i = 0; i < s->count; i++)
        s->bound[i] += off[i];
    return true;
}

static bool reference_z(bench_segment *s) {
    const int64_t width = width_of(s->c);
    double *const z = bench_numbers(s, width), *const bound = bench_numbers(s, width);
    const double *const inputs[OP_OPERANDS] = {bench_matrix(s, SUM, s->row * width, 1, 0, width),
                                               NULL, bench_matrix(s, GAIN, 0, 1, 0, width),
                                               bench_matrix(s, SHIFT, 0, 1, 0, width)};
    if (!z || !bound || !inputs[0] || !inputs[2] || !inputs[3]) return false;
    op_refer(op_named("layer_norm"), s->c->dtype, 1, width, epsilon, inputs, 5, z, bound);
    memcpy(s->y, z + s->first, (size_t)s->count * sizeof *s->y);
    memcpy(s->bound, bound + s->first, (size_t)s->count * sizeof *s->bound);
    return true;
}

/* Each call's result, from what the call before it left. */
static bool reference_feed_forward(bench_segment *s) {
    if (s->output == SUM) return reference_sum(s);
    if (s->output == Z) return reference_z(s);
    const double *const bias = bench_matrix(s, B1, s->first, 1, 0, s->count);
    return bias && multiply(s, X, W1, width_of(s->c), bias, s->y, s->bound);
}

const bench_op bench_ops_feed_forward[] = {
    {.name = "feed_forward",
     .baseline = BENCH_BASELINE_TWO_GEMMS,
     .plan = plan_feed_forward,
     .call = call_feed_forward,
     .reference = reference_feed_forward,
     .peers = "feed_forward"},
    {0},
};
