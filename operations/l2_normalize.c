/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_l2_normalize: y = x / max(‖x‖₂, epsilon) of rows. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/sums.h"

enum { X, Y };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_l2_normalize(queue, t[X], c->number, t[Y]);
}

static void refer(const op_part *p) {
    const double eps = compute_eps(p->c->dtype);
    const long double epsilon = (long double)p->c->number;
    for (int64_t r = 0; r < p->rows; r++) {
        const double *row = p->x[X] + r * p->cols;
        long_sum squares = {0};
        for (int64_t j = 0; j < p->cols; j++)
            long_sum_add(&squares, (long double)row[j] * (long double)row[j]);
        const long double norm = sqrtl(long_sum_of(squares));
        const long double divisor = norm > epsilon || isnan(norm) ? norm : epsilon;
        for (int64_t j = 0; j < p->cols; j++) {
            const double y = (double)((long double)row[j] / divisor);
            p->y[Y][r * p->cols + j] = y;
            p->bound[Y][r * p->cols + j] =
                stored(p->c->dtype, y, sum_factor(p->cols) * eps * fabs(y));
        }
    }
}

static const operation pages[] = {
    {.name = "l2_normalize",
     .function = "tdm_l2_normalize",
     .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -4, .high = 4},
                 [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X)}},
     .number = {"epsilon", 1e-12, false},
     .layout = OP_ADJACENT,
     .unit = OP_BY_ROW,
     .contents = OP_SQUARES,
     .in_tensor_type = true,
     .long_rows = {.reads = 2, .kept = 3},
     .cost = 2,
     .call = call,
     .reference = refer},
};
const op_list op_l2_normalize = OP_LIST(pages);
