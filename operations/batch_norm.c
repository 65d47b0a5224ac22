/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_batch_norm: y = (x - mean) / √(variance + epsilon) · weight + bias, of channels, at inference. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"

enum { X, MEAN, VARIANCE, WEIGHT, BIAS, Y };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_batch_norm(queue, t[X], t[MEAN], t[VARIANCE], t[WEIGHT], t[BIAS], c->number, t[Y]);
}

/* The channel of an element: its column, or what the case's second extent says of its row. */
static int64_t channel_of(const op_part *p, int64_t i) {
    if (p->c->ndim == 2) return i % p->cols;
    const int64_t inside = op_rows(p->c) / (p->c->shape[0] * p->c->shape[1]);
    return (p->row + i / p->cols) / inside % p->c->shape[1];
}

static void refer(const op_part *p) {
    const double eps = compute_eps(p->c->dtype);
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const int64_t channel = channel_of(p, i);
        const double x = p->x[X][i], mean = p->x[MEAN][channel];
        const double w = p->x[WEIGHT] ? p->x[WEIGHT][channel] : 1.0;
        const double b = p->x[BIAS] ? p->x[BIAS][channel] : 0.0;
        const double scale = w / sqrt(p->x[VARIANCE][channel] + p->c->number);
        /* x·scale + shift is a right way to compute it, too. */
        const double error = 8.0 * eps * ((fabs(x) + fabs(mean)) * fabs(scale) + fabs(b));
        p->y[Y][i] = (x - mean) * scale + b;
        p->bound[Y][i] = stored(p->c->dtype, p->y[Y][i], error);
    }
}

static const operation pages[] = {
    {.name = "batch_norm",
     .function = "tdm_batch_norm",
     .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -3, .high = 3},
                 [MEAN] = {"mean", OP_IN, OP_CHANNELS, .low = -1, .high = 1},
                 [VARIANCE] = {"variance", OP_IN, OP_CHANNELS, .low = 0.1, .high = 2},
                 [WEIGHT] = {"weight", OP_IN | OP_OPTIONAL, OP_CHANNELS, .low = -2, .high = 2},
                 [BIAS] = {"bias", OP_IN | OP_OPTIONAL, OP_CHANNELS, .low = -1, .high = 1},
                 [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X)}},
     .number = {"epsilon", 1e-3, false},
     .layout = OP_CONTIGUOUS,
     .unit = OP_BY_ELEMENT,
     .in_tensor_type = true,
     .is_cold = true,
     .call = call,
     .reference = refer},
};
const op_list op_batch_norm = OP_LIST(pages);
