/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_rms_norm: y = s / √(mean(s²) + epsilon) · weight of rows of s = x + residual. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/sums.h"

enum { X, RESIDUAL, WEIGHT, SUM, Y };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_rms_norm(queue, t[X], t[WEIGHT], c->number, t[RESIDUAL], t[SUM], t[Y]);
}

static void refer(const op_part *p) {
    const double eps = compute_eps(p->c->dtype);
    for (int64_t r = 0; r < p->rows; r++) {
        const double *row = op_sum_row(p, r, X, RESIDUAL, SUM);
        long_sum squares = {0};
        for (int64_t j = 0; j < p->cols; j++)
            long_sum_add(&squares, (long double)row[j] * (long double)row[j]);
        const long double mean = long_sum_of(squares) / (long double)p->cols;
        const long double root = sqrtl(mean + (long double)p->c->number);
        for (int64_t j = 0; p->y[Y] && j < p->cols; j++) {
            const double w = p->x[WEIGHT] ? p->x[WEIGHT][j] : 1.0;
            const double y = (double)((long double)row[j] / root * (long double)w);
            p->y[Y][r * p->cols + j] = y;
            p->bound[Y][r * p->cols + j] =
                stored(p->c->dtype, y, sum_factor(p->cols) * eps * fabs(y));
        }
    }
}

#define RMS_NORM(title, without)                                                                   \
    {                                                                                              \
        .name = title, .function = "tdm_rms_norm",                                                 \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -3, .high = 3},                              \
                    [RESIDUAL] = {"residual", OP_IN | OP_OPTIONAL, OP_ALL, .low = -1, .high = 1},  \
                    [WEIGHT] = {"weight", OP_IN | OP_OPTIONAL, OP_COLS, .low = -2, .high = 2},     \
                    [SUM] = {"sum", OP_OUT | OP_OPTIONAL, OP_ALL,                                  \
                             .over = OP_BIT(X) | OP_BIT(RESIDUAL), .needs = OP_BIT(RESIDUAL)},     \
                    [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X) | OP_BIT(RESIDUAL)}},            \
        .seldom = (without), .number = {"epsilon", 1e-6, false}, .layout = OP_ADJACENT,            \
        .unit = OP_BY_ROW, .contents = OP_SQUARES, .in_tensor_type = true,                         \
        .long_rows = {.reads = 2, .kept = 3}, .cost = 2, .call = call, .reference = refer          \
    }
static const operation pages[] = {
    RMS_NORM("rms_norm", OP_BIT(RESIDUAL) | OP_BIT(SUM)),
    RMS_NORM("rms_norm+residual", 0),
};
const op_list op_rms_norm = OP_LIST(pages);
