/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_row_norm and tdm_norm: Σ|x|, √Σx² or max|x|, of each row or of all elements. */
#include <math.h>

#include "operations/formulas.h"
#include "operations/list.h"
#include "reference/bounds.h"

enum { X, OUT };

double ref_norm(tdm_dtype dtype, tdm_dtype out, tdm_norm_kind kind, int64_t count, const double *x,
                double *bound) {
    long double sum = 0.0L;
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) {
        long double u = fabsl((long double)x[i]);
        if (!(fabs(x[i]) <= most)) most = isnan(most) ? most : fabs(x[i]);
        sum += kind == TDM_NORM_L2 ? u * u : u;
    }
    double y = kind == TDM_NORM_INF ? most : (double)(kind == TDM_NORM_L2 ? sqrtl(sum) : sum);
    double error = kind == TDM_NORM_INF ? 0.0 : sum_factor(count) * compute_eps(dtype) * y;
    *bound = kind == TDM_NORM_INF ? 0.0 : stored(out, y, error);
    return y;
}

static tdm_status call_rows(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_row_norm(queue, (tdm_norm_kind)c->op->variant, t[X], t[OUT]);
}

static tdm_status call_whole(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_norm(queue, (tdm_norm_kind)c->op->variant, t[X], t[OUT]);
}

static void refer(const op_part *p) {
    for (int64_t r = 0; r < p->rows; r++)
        p->y[OUT][r] =
            ref_norm(p->c->dtype, op_dtype_of(p->c, OUT), (tdm_norm_kind)p->c->op->variant, p->cols,
                     p->x[X] + r * p->cols, &p->bound[OUT][r]);
}

#define NORM(title, of, kind, left, part, how)                                                     \
    {                                                                                              \
        .name = title, .function = of, .variant = kind,                                            \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -2, .high = 2},                              \
                    [OUT] = {"out", OP_OUT, left, .dtype = OP_WIDE}},                              \
        .layout = OP_ADJACENT, .unit = part, .contents = OP_SQUARES, .in_tensor_type = true,       \
        .is_cold = (kind) != TDM_NORM_L2,                                                          \
        .long_rows = {.reads = 1, .kept = (kind) == TDM_NORM_L2 ? 2 : 1}, .call = how,             \
        .reference = refer                                                                         \
    }
#define NORMS(title, kind)                                                                         \
    NORM(title, "tdm_row_norm", kind, OP_ROWS, OP_BY_ROW, call_rows),                              \
        NORM(title "+whole", "tdm_norm", kind, OP_ONE, OP_WHOLE, call_whole)

static const operation pages[] = {
    NORMS("norm_l1", TDM_NORM_L1),
    NORMS("norm_l2", TDM_NORM_L2),
    NORMS("norm_inf", TDM_NORM_INF),
};
const op_list op_norm = OP_LIST(pages);
