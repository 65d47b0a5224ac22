/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_layer_norm and tdm_layer_norm_residual: y = (s - mean) / √(variance + epsilon) · weight + bias of rows of
 * s = x + residual. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/sums.h"

enum { X, RESIDUAL, WEIGHT, BIAS, SUM, Y };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_layer_norm(queue, t[X], t[WEIGHT], t[BIAS], c->number, t[Y]);
}

static tdm_status call_residual(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_layer_norm_residual(queue, t[X], t[WEIGHT], t[BIAS], c->number, t[RESIDUAL], t[SUM],
                                   t[Y]);
}

static void refer(const op_part *p) {
    const double eps = compute_eps(p->c->dtype);
    for (int64_t r = 0; r < p->rows; r++) {
        const double *row = op_sum_row(p, r, X, RESIDUAL, SUM);
        long_sum differences = {0}, squares = {0};
        double most = 0.0;
        for (int64_t j = 0; j < p->cols; j++) {
            /* so that of equal elements the mean is exact */
            long_sum_add(&differences, (long double)row[j] - row[0]);
            most = fmax(most, fabs(row[j]));
        }
        const long double mean = row[0] + long_sum_of(differences) / (long double)p->cols;
        for (int64_t j = 0; j < p->cols; j++) {
            const long double d = (long double)row[j] - mean;
            long_sum_add(&squares, d * d);
        }
        const long double variance = long_sum_of(squares) / (long double)p->cols;
        if (variance == 0.0L) most = 0.0; /* equal elements give the bias */
        const long double deviation = sqrtl(variance + (long double)p->c->number);
        for (int64_t j = 0; p->y[Y] && j < p->cols; j++) {
            const double w = p->x[WEIGHT] ? p->x[WEIGHT][j] : 1.0;
            const double b = p->x[BIAS] ? p->x[BIAS][j] : 0.0;
            const double unit = (double)(((long double)row[j] - mean) / deviation);
            const double y = unit * w + b;
            /* The mean is right to a few eps of the largest element; the rest is relative. */
            const double error = 16.0 * eps * most / (double)deviation * fabs(w) +
                                 sum_factor(p->cols) * eps * fabs(unit * w) +
                                 (variance == 0.0L ? 0.0 : 2.0 * eps * fabs(b));
            p->y[Y][r * p->cols + j] = y;
            p->bound[Y][r * p->cols + j] = variance == 0.0L ? 0.0 : stored(p->c->dtype, y, error);
        }
    }
}

#define OPERAND_X                                                                                  \
    { "x", OP_IN, OP_ALL, .low = -3, .high = 5 }
#define OPERAND_WEIGHT                                                                             \
    { "weight", OP_IN | OP_OPTIONAL, OP_COLS, .low = -2, .high = 2 }
#define OPERAND_BIAS                                                                               \
    { "bias", OP_IN | OP_OPTIONAL, OP_COLS, .low = -1, .high = 1 }
#define ROWS                                                                                       \
    .number = {"epsilon", 1e-5, false}, .layout = OP_ADJACENT, .unit = OP_BY_ROW,                  \
    .contents = OP_SQUARES | OP_MEANS, .in_tensor_type = true, .cost = 2, .reference = refer

static const operation pages[] = {
    {.name = "layer_norm",
     .function = "tdm_layer_norm",
     .operand = {[X] = OPERAND_X,
                 [WEIGHT] = OPERAND_WEIGHT,
                 [BIAS] = OPERAND_BIAS,
                 [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X)}},
     .long_rows = {.reads = 2, .kept = 5, .again = 3},
     .call = call,
     ROWS},
    {.name = "layer_norm+residual",
     .function = "tdm_layer_norm_residual",
     .operand = {[X] = OPERAND_X,
                 [RESIDUAL] = {"residual", OP_IN | OP_OPTIONAL, OP_ALL, .low = -2, .high = 1},
                 [WEIGHT] = OPERAND_WEIGHT,
                 [BIAS] = OPERAND_BIAS,
                 [SUM] = {"sum", OP_OUT | OP_OPTIONAL, OP_ALL, .over = OP_BIT(X) | OP_BIT(RESIDUAL),
                          .needs = OP_BIT(RESIDUAL)},
                 [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X) | OP_BIT(RESIDUAL)}},
     .long_rows = {.reads = 2, .kept = 5, .again = 3},
     .call = call_residual,
     ROWS},
};
const op_list op_layer_norm = OP_LIST(pages);
