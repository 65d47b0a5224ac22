/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* feed_forward: a transformer's block of two linear layers, z = LayerNorm(x + b2 + gelu(x W1ᵀ + b1) W2ᵀ), as a
 * program would write it with four calls. Shapes are rows x width x inner width. */
#include <math.h>
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
    plan->row_cost = 2 * inner; /* a piece takes its whole row of the hidden layer */
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

/* A row of numbers, and how far each may be off. */
typedef struct row {
    double *value, *bound;
} row;

static bool make_row(bench_segment *s, int64_t count, row *r) {
    r->value = bench_numbers(s, 2 * count);
    if (r->value) r->bound = r->value + count;
    return r->value;
}

/* `cols` columns of a row of the hidden layer. */
static bool compute_hidden(bench_segment *s, int64_t at, int64_t first, int64_t cols,
                           const row *hidden) {
    const int64_t width = width_of(s->c);
    const ref_gemm gemm = {.dtype = s->c->dtype,
                           .m = 1,
                           .n = cols,
                           .k = width,
                           .transpose_b = true,
                           .alpha = 1.0,
                           .a = bench_matrix(s, X, at * width, 1, 0, width),
                           .b = bench_matrix(s, W1, first * width, cols, width, width),
                           .bias = bench_matrix(s, B1, first, 1, 0, cols),
                           .activation = TDM_ACTIVATION_GELU};
    if (!gemm.a || !gemm.b || !gemm.bias) return false;
    ref_matmul(&gemm, hidden->value, hidden->bound);
    return true;
}

/* Adds the error of x, as it comes through a product with Wᵀ. */
static void add_through_product(int64_t n, int64_t k, const double *w, const double *x_bound,
                                double *bound) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            bound[i] += fabs(w[i * k + j]) * x_bound[j];
}

/* The sum that is normalised. */
static bool compute_sum(bench_segment *s, int64_t at, const row *sum) {
    const int64_t width = width_of(s->c), inner = inner_of(s->c);
    row hidden, product;
    if (!make_row(s, inner, &hidden) || !compute_hidden(s, at, 0, inner, &hidden)) return false;
    bench_segment inputs = {.c = s->c, .plan = s->plan, .input = s->input};
    const double *w = bench_matrix(&inputs, W2, 0, width, inner, inner),
                 *bias = bench_matrix(&inputs, B2, 0, 1, 0, width),
                 *x = bench_matrix(&inputs, X, at * width, 1, 0, width);
    const bool good = w && bias && x && make_row(&inputs, width, &product);
    if (good) {
        const ref_gemm gemm = {.dtype = s->c->dtype,
                               .m = 1,
                               .n = width,
                               .k = inner,
                               .transpose_b = true,
                               .alpha = 1.0,
                               .a = hidden.value,
                               .b = w};
        ref_matmul(&gemm, product.value, product.bound);
        add_through_product(width, inner, w, hidden.bound, product.bound);
        const double *const added[OP_OPERANDS] = {product.value, bias, x};
        op_refer(op_named("bias_add"), s->c->dtype, 1, width, 0, added, 3, sum->value, sum->bound);
        for (int64_t i = 0; i < width; i++)
            sum->bound[i] += product.bound[i];
    }
    bench_segment_free(&inputs);
    return good;
}

/* To first order: dz = g / σ (dx - mean(dx) - x̂ mean(x̂ dx)), where x̂ is x without mean and deviation. */
static void add_through_norm(int64_t n, const row *x, const double *gain, double *bound) {
    double mean = 0.0, variance = 0.0, shared = 0.0, along = 0.0;
    for (int64_t i = 0; i < n; i++)
        mean += x->value[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (x->value[i] - mean) * (x->value[i] - mean) / (double)n;
    const double scale = 1.0 / sqrt(variance + epsilon);
    for (int64_t i = 0; i < n; i++) {
        shared += x->bound[i] / (double)n;
        along += fabs(x->value[i] - mean) * scale * x->bound[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double unit = fabs(x->value[i] - mean) * scale;
        bound[i] += fabs(gain[i]) * scale * (x->bound[i] + shared + unit * along);
    }
}

/* Pieces of the hidden layer are told apart by their place in all of it: it is wider than the block. */
static bool reference_hidden(bench_segment *s) {
    const int64_t inner = inner_of(s->c);
    for (int64_t done = 0, cols; done < s->count; done += cols) {
        const int64_t at = s->row * s->plan->row_length + s->first + done;
        const int64_t rest = inner - at % inner, wanted = s->count - done;
        cols = rest < wanted ? rest : wanted;
        const row part = {s->y + done, s->bound + done};
        if (!compute_hidden(s, at / inner, at % inner, cols, &part)) return false;
        bench_segment_free(s);
    }
    return true;
}

static bool reference_feed_forward(bench_segment *s) {
    const int64_t width = width_of(s->c);
    if (s->output == HIDDEN) return reference_hidden(s);
    row sum, z;
    if (!make_row(s, width, &sum) || !make_row(s, width, &z) || !compute_sum(s, s->row, &sum))
        return false;
    if (s->output == Z) {
        const double *gain = bench_matrix(s, GAIN, 0, 1, 0, width),
                     *shift = bench_matrix(s, SHIFT, 0, 1, 0, width);
        if (!gain || !shift) return false;
        const double *const inputs[OP_OPERANDS] = {sum.value, NULL, gain, shift};
        op_refer(op_named("layer_norm"), s->c->dtype, 1, width, epsilon, inputs, 5, z.value,
                 z.bound);
        add_through_norm(width, &sum, gain, z.bound);
    }
    const row *result = s->output == Z ? &z : &sum;
    memcpy(s->y, result->value + s->first, (size_t)s->count * sizeof *s->y);
    memcpy(s->bound, result->bound + s->first, (size_t)s->count * sizeof *s->bound);
    return true;
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
