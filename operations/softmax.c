/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_softmax, and tdm_softmax_scaled with a mask or causal: y = exp(s - max) / Σexp(s - max) of rows of
 * s = x · scale + mask, where a causal row counts its first columns alone; tdm_log_softmax and tdm_logsumexp. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/sums.h"

enum { X, MASK, Y };
enum { PLAIN, MASKED, CAUSAL, LOG, LOG_SUM };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    if (c->op->variant == PLAIN) return tdm_softmax(queue, t[X], t[Y]);
    if (c->op->variant == LOG) return tdm_log_softmax(queue, t[X], t[Y]);
    if (c->op->variant == LOG_SUM) return tdm_logsumexp(queue, t[X], t[Y]);
    o.scale = c->number;
    o.mask = t[MASK];
    o.causal = c->op->variant == CAUSAL;
    return tdm_softmax_scaled(queue, &o, t[X], t[Y]);
}

/* How many columns of a row count. */
static int64_t counted(const op_part *p, int64_t row) {
    if (p->c->op->variant != CAUSAL) return p->cols;
    const int64_t rows = p->c->shape[p->c->ndim - 2], n = row % rows + 1 + p->cols - rows;
    return n < 0 ? 0 : n;
}

static void refer_row(const op_part *p, int64_t n, const double *x, double *y, double *bound) {
    const double eps = compute_eps(p->c->dtype), *mask = p->x[MASK];
    const bool rounds = eps > 1e-10 && p->c->op->variant != PLAIN;
    const double scale = p->c->op->variant == PLAIN ? 1.0
                         : rounds                   ? (double)(float)p->c->number
                                                    : p->c->number;
    long double most = -(long double)INFINITY, size = 0.0L;
    long_sum of_powers = {0};
    for (int64_t j = 0; j < n; j++) {
        const long double product = (long double)x[j] * scale, m = mask ? mask[j] : 0.0;
        if (isnan(product + m) || product + m > most) most = product + m;
        if (isnan(most)) break;
        if (isfinite(product + m)) size = fmaxl(size, fabsl(product) + fabsl(m));
    }
    for (int64_t j = 0; j < n; j++)
        long_sum_add(&of_powers, expl((long double)x[j] * scale + (mask ? mask[j] : 0.0) - most));
    const long double sum = long_sum_of(of_powers);
    for (int64_t j = 0; j < p->cols; j++) {
        const long double score = (long double)x[j] * scale + (mask ? mask[j] : 0.0);
        y[j] = n == 0 ? NAN : j < n ? (double)(expl(score - most) / sum) : isnan(sum) ? NAN : 0.0;
        const double far = fmin((double)fabsl(score - most), 800.0);
        const double scores = p->c->op->variant == PLAIN ? 0.0 : 4.0 * (double)size;
        const double error = eps * (sum_factor(p->cols) + far + scores) * y[j];
        bound[j] = stored(p->c->dtype, y[j], isfinite(error) ? error : 0.0);
    }
}

/* x - max - ln Σexp(x - max), and max + ln Σexp(x - max). */
static void refer_logs(const op_part *p) {
    const double eps = compute_eps(p->c->dtype), factor = sum_factor(p->cols);
    for (int64_t r = 0; r < p->rows; r++) {
        const double *x = p->x[X] + r * p->cols;
        long double most = -(long double)INFINITY;
        long_sum of_powers = {0};
        for (int64_t j = 0; j < p->cols; j++)
            if (isnan(x[j]) || x[j] > most) most = x[j];
        for (int64_t j = 0; j < p->cols; j++)
            long_sum_add(&of_powers, x[j] == most ? 1.0L : expl(x[j] - most));
        const long double sum = long_sum_of(of_powers);
        if (p->c->op->variant == LOG_SUM) {
            const double y = (double)(most + logl(sum));
            p->y[Y][r] = y;
            p->bound[Y][r] = stored(p->c->dtype, y, eps * (factor + fabs((double)most) + fabs(y)));
            continue;
        }
        for (int64_t j = 0; j < p->cols; j++) {
            const double far = (double)(most - x[j]), y = (double)(x[j] - most - logl(sum));
            p->y[Y][r * p->cols + j] = isinf(most) ? (double)NAN : y;
            p->bound[Y][r * p->cols + j] = stored(p->c->dtype, y, eps * (factor + far + fabs(y)));
        }
    }
}

static void refer(const op_part *p) {
    if (p->c->op->variant >= LOG) {
        refer_logs(p);
        return;
    }
    for (int64_t r = 0; r < p->rows; r++)
        refer_row(p, counted(p, p->row + r), p->x[X] + r * p->cols, p->y[Y] + r * p->cols,
                  p->bound[Y] + r * p->cols);
}

#define SOFTMAX(title, of, kind)                                                                   \
    .name = title, .function = of, .variant = kind, .layout = OP_ADJACENT, .unit = OP_BY_ROW,      \
    .contents = OP_EXPONENTS, .in_tensor_type = true, .cost = 8, .call = call, .reference = refer
#define OPERAND_X                                                                                  \
    { "x", OP_IN, OP_ALL, .low = -9, .high = 9 }
#define OPERAND_Y                                                                                  \
    { "y", OP_OUT, OP_ALL, .over = OP_BIT(X) }

static const operation pages[] = {
    {.operand = {[X] = OPERAND_X, [Y] = OPERAND_Y},
     .long_rows = {.reads = 3, .kept = 3},
     SOFTMAX("softmax", "tdm_softmax", PLAIN)},
    {.operand = {[X] = OPERAND_X,
                 [MASK] = {"mask", OP_IN | OP_OPTIONAL, OP_COLS, .low = -2, .high = 2},
                 [Y] = OPERAND_Y},
     .number = {"scale", 0.125, true},
     SOFTMAX("scaled_softmax", "tdm_softmax_scaled", MASKED)},
    {.operand = {[X] = OPERAND_X, [Y] = OPERAND_Y},
     .number = {"scale", 0.125, true},
     .of_matrices = true,
     SOFTMAX("scaled_softmax+causal", "tdm_softmax_scaled", CAUSAL)},
    {.operand = {[X] = OPERAND_X, [Y] = OPERAND_Y},
     .long_rows = {.reads = 3, .kept = 3},
     .is_cold = true,
     SOFTMAX("log_softmax", "tdm_log_softmax", LOG)},
    {.operand = {[X] = OPERAND_X, [Y] = {"y", OP_OUT, OP_ROWS, .dtype = OP_SAME}},
     .long_rows = {.reads = 2, .kept = 3},
     .is_cold = true,
     SOFTMAX("logsumexp", "tdm_logsumexp", LOG_SUM)},
};
const op_list op_softmax = OP_LIST(pages);
