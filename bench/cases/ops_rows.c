/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on rows: norms and normalisations. */
#include "cases/segment.h"
#include "reference/ops.h"

static const double epsilon = 1e-5;

enum { X, Y = 1 }; /* of the operations with two operands */

static int add_matrix(const bench_case *c, bench_plan *plan, bool is_input, bool is_output) {
    return bench_add_operand(plan, c->dtype, c->shape.extents, c->shape.extent, is_input, is_output,
                             -4.0, 4.0);
}

static int add_row(const bench_case *c, bench_plan *plan, int64_t count, double low, double high) {
    return bench_add_operand(plan, c->dtype, 1, &count, true, false, low, high);
}

static void plan_rows(const bench_case *c, bench_plan *plan) {
    plan->row_count = bench_rows(c);
    plan->row_length = bench_cols(c);
    plan->row_cost = 2;
    plan->whole_rows = true;
}

/* layer_norm: x weight bias y, rms_norm: x weight y; behind them residual sum, where x + residual is normalised */
enum { LAYER_WEIGHT = 1, LAYER_BIAS, LAYER_Y, LAYER_RESIDUAL, LAYER_SUM };
enum { RMS_WEIGHT = 1, RMS_Y, RMS_RESIDUAL, RMS_SUM };

static void plan_normalize(const bench_case *c, bench_plan *plan, bool has_bias) {
    add_matrix(c, plan, true, false);
    add_row(c, plan, bench_cols(c), 0.5, 1.5);
    if (has_bias) add_row(c, plan, bench_cols(c), -1.0, 1.0);
    add_matrix(c, plan, false, true);
    if (c->op->variant) {
        add_matrix(c, plan, true, false);
        add_matrix(c, plan, false, true);
    }
    plan_rows(c, plan);
}

/* The sum that is normalised, or x; into s->y where it is the output at hand: it is one addition, rounded once. */
static double *reference_sum(bench_segment *s, int residual) {
    const bool is_sum = s->output == residual + 1;
    const double *x = bench_same(s, X), *other = NULL;
    double *sum = is_sum ? s->y : bench_numbers(s, s->count);
    if (s->c->op->variant && !(other = bench_same(s, residual))) return NULL;
    if (!x || !sum) return NULL;
    ref_residual_sum(s->c->dtype, s->count, x, other, sum);
    for (int64_t i = 0; is_sum && i < s->count; i++)
        s->bound[i] = 0.0;
    return sum;
}

static void plan_layer_norm(const bench_case *c, bench_plan *plan) {
    plan_normalize(c, plan, true);
}

static tdm_status call_layer_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    if (!c->op->variant)
        return tdm_layer_norm(queue, &t[X], &t[LAYER_WEIGHT], &t[LAYER_BIAS], epsilon, &t[LAYER_Y]);
    return tdm_layer_norm_residual(queue, &t[X], &t[LAYER_RESIDUAL], &t[LAYER_WEIGHT],
                                   &t[LAYER_BIAS], epsilon, &t[LAYER_SUM], &t[LAYER_Y]);
}

static bool reference_layer_norm(bench_segment *s) {
    const double *sum = reference_sum(s, LAYER_RESIDUAL);
    const double *weight = bench_columns(s, LAYER_WEIGHT), *bias = bench_columns(s, LAYER_BIAS);
    if (!sum || !weight || !bias) return false;
    if (s->output == LAYER_Y)
        ref_layer_norm(s->c->dtype, 1, s->count, sum, weight, bias, epsilon, s->y, s->bound);
    return true;
}

static void plan_rms_norm(const bench_case *c, bench_plan *plan) { plan_normalize(c, plan, false); }

static tdm_status call_rms_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_tensor *t = set->tensor;
    if (!c->op->variant)
        return tdm_rms_norm(queue, &t[X], NULL, &t[RMS_WEIGHT], epsilon, NULL, &t[RMS_Y]);
    return tdm_rms_norm(queue, &t[X], &t[RMS_RESIDUAL], &t[RMS_WEIGHT], epsilon, &t[RMS_SUM],
                        &t[RMS_Y]);
}

static bool reference_rms_norm(bench_segment *s) {
    double *sum = reference_sum(s, RMS_RESIDUAL);
    const double *weight = bench_columns(s, RMS_WEIGHT);
    if (!sum || !weight) return false;
    if (s->output == RMS_Y)
        ref_rms_norm(s->c->dtype, 1, s->count, sum, NULL, weight, epsilon, sum, s->y, s->bound);
    return true;
}

/* batch_norm: x mean variance weight bias y; x is N x C, or N x C x S */
static void plan_batch_norm(const bench_case *c, bench_plan *plan) {
    const int64_t channels = c->shape.extents == 3 ? c->shape.extent[1] : bench_cols(c);
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

static bool reference_batch_norm(bench_segment *s) {
    enum { MEAN = 1, VARIANCE, WEIGHT, BIAS };
    const bool whole = s->c->shape.extents == 3; /* the segment is of one channel */
    const int64_t channels = whole ? 1 : s->count;
    const int64_t first = whole ? s->row % s->c->shape.extent[1] : s->first;
    const double *x = bench_same(s, X), *of[BIAS + 1];
    for (int i = MEAN; i <= BIAS; i++) {
        of[i] = bench_matrix(s, i, first, 1, 0, channels);
        if (!of[i]) return false;
    }
    if (!x) return false;
    const ref_channels all = {of[MEAN], of[VARIANCE], of[WEIGHT], of[BIAS], epsilon};
    ref_batch_norm(s->c->dtype, 1, channels, s->count / channels, x, &all, s->y, s->bound);
    return true;
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

static bool reference_l2_normalize(bench_segment *s) {
    const double *x = bench_same(s, X);
    if (x) ref_l2_normalize(s->c->dtype, 1, s->count, x, epsilon, s->y, s->bound);
    return x;
}

static tdm_status call_softmax(const bench_case *c, tdm_queue *queue, bench_set *set) {
    (void)c;
    return tdm_softmax(queue, &set->tensor[X], &set->tensor[Y]);
}

static bool reference_softmax(bench_segment *s) {
    const double *x = bench_same(s, X);
    if (x) ref_softmax(s->c->dtype, 1, s->count, x, s->y, s->bound);
    return x;
}

/* norm: x out; the variant is the kind, and WHOLE when all of x has one norm, or OWN_KERNEL */
enum { WHOLE = 16, OWN_KERNEL = 32 | TDM_NORM_L2 };

static tdm_norm_kind kind_of(const bench_case *c) {
    return (tdm_norm_kind)(c->op->variant & (WHOLE - 1));
}

static void plan_norm(const bench_case *c, bench_plan *plan) {
    const bool half = c->dtype == TDM_F16 || c->dtype == TDM_BF16;
    const int64_t norms = c->op->variant & WHOLE ? 1 : bench_rows(c);
    add_matrix(c, plan, true, false);
    bench_add_operand(plan, half ? TDM_F32 : c->dtype, 1, &norms, false, true, 0.0, 0.0);
    plan->row_count = norms;
    plan->row_length = 1;
    plan->row_cost = bench_rows(c) * bench_cols(c) / norms;
}

/* The L2 norm of each row by a kernel of one's own, made anew each time as a program may do it. */
static tdm_status run_own_kernel(tdm_queue *queue, bench_set *set) {
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x * x", .finish = "sqrt(r)");
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &set->tensor[X]),
                                      TDM_WITH_TENSOR("y", &set->tensor[Y])};
    tdm_kernel *kernel;
    tdm_status status =
        tdm_kernel_rows(tdm_queue_get_device(queue), &texts, parameters, 2, &kernel);
    if (status == TDM_OK) status = tdm_kernel_run(queue, kernel, arguments, 2);
    tdm_kernel_release(kernel);
    return status;
}

static tdm_status call_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_norm_kind kind = kind_of(c);
    if (c->op->variant == OWN_KERNEL) return run_own_kernel(queue, set);
    if (c->op->variant & WHOLE) return tdm_norm(queue, kind, &set->tensor[X], &set->tensor[Y]);
    return tdm_row_norm(queue, kind, &set->tensor[X], &set->tensor[Y]);
}

static bool reference_norm(bench_segment *s) {
    const int64_t length = s->plan->row_cost;
    const double *x = bench_matrix(s, X, s->row * length, 1, 0, length);
    if (!x) return false;
    s->y[0] =
        ref_norm(s->c->dtype, s->plan->operand[Y].tensor.dtype, kind_of(s->c), length, x, s->bound);
    return true;
}

#define ROWS(name, variant, what)                                                                  \
    { name, variant, BENCH_BASELINE_MOVE, plan_##what, call_##what, reference_##what, NULL }

const bench_op bench_ops_rows[] = {
    ROWS("layer_norm", 0, layer_norm),
    ROWS("layer_norm+residual", 1, layer_norm),
    ROWS("rms_norm", 0, rms_norm),
    ROWS("rms_norm+residual", 1, rms_norm),
    ROWS("batch_norm", 0, batch_norm),
    {"l2_normalize", 0, BENCH_BASELINE_MOVE, plan_two, call_l2_normalize, reference_l2_normalize,
     NULL},
    {"softmax", 0, BENCH_BASELINE_MOVE, plan_two, call_softmax, reference_softmax, NULL},
    ROWS("norm_l1", TDM_NORM_L1, norm),
    ROWS("norm_l2", TDM_NORM_L2, norm),
    ROWS("norm_inf", TDM_NORM_INF, norm),
    ROWS("norm_l2+own_kernel", OWN_KERNEL, norm),
    ROWS("norm_l1+whole", TDM_NORM_L1 | WHOLE, norm),
    ROWS("norm_l2+whole", TDM_NORM_L2 | WHOLE, norm),
    ROWS("norm_inf+whole", TDM_NORM_INF | WHOLE, norm),
};
const size_t bench_ops_rows_count = sizeof bench_ops_rows / sizeof *bench_ops_rows;
