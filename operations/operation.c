/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "operations/operation.h"

#include "reference/values.h"

int op_shape(const op_case *c, int operand, int64_t *shape) {
    int ndim = c->ndim;
    switch (c->op->operand[operand].extent) {
    case OP_ROWS:
        ndim--;
        break;
    case OP_COLS:
        shape[0] = c->shape[c->ndim - 1];
        return 1;
    case OP_CHANNELS:
        shape[0] = c->shape[1];
        return 1;
    case OP_ONE:
        ndim = 0;
        break;
    case OP_ALL:
        break;
    }
    shape[0] = 1;
    for (int d = 0; d < ndim; d++)
        shape[d] = c->shape[d];
    return ndim > 0 ? ndim : 1;
}

tdm_dtype op_dtype_of(const op_case *c, int operand) {
    switch (c->op->operand[operand].dtype) {
    case OP_WIDE:
        return tdm_dtype_size(c->dtype) == 2 ? TDM_F32 : c->dtype;
    case OP_BOOL:
        return TDM_BOOL;
    case OP_PLACE:
        return TDM_I32;
    case OP_GIVEN:
        return (tdm_dtype)c->op->variant;
    case OP_SAME:
        break;
    }
    return c->dtype;
}

int64_t op_cols(const op_case *c) { return c->shape[c->ndim - 1]; }

int64_t op_rows(const op_case *c) {
    int64_t rows = 1;
    for (int d = 0; d < c->ndim - 1; d++)
        rows *= c->shape[d];
    return rows;
}

unsigned op_all(const operation *op) {
    unsigned all = 0;
    for (int i = 0; i < OP_OPERANDS; i++)
        if (op->operand[i].name) all |= OP_BIT(i);
    return all;
}

unsigned op_required(const operation *op) {
    unsigned required = op_all(op);
    for (int i = 0; i < OP_OPERANDS; i++)
        if (op->operand[i].role & OP_OPTIONAL) required &= ~OP_BIT(i);
    return required;
}

unsigned op_usual(const operation *op) { return op_all(op) & ~op->seldom; }

bool op_allows(const operation *op, unsigned given) {
    const unsigned all = op_all(op), required = op_required(op);
    if ((given & ~all) || (given & required) != required) return false;
    for (int i = 0; i < OP_OPERANDS; i++)
        if ((given & OP_BIT(i)) && (given & op->operand[i].needs) != op->operand[i].needs)
            return false;
    return true;
}

void op_refer(const operation *op, tdm_dtype dtype, int64_t rows, int64_t cols, double number,
              const double *const *x, int output, double *y, double *bound) {
    const op_case c = {
        .op = op, .dtype = dtype, .ndim = 2, .shape = {rows, cols}, .number = number};
    op_part p = {.c = &c, .rows = rows, .cols = cols};
    for (int i = 0; i < OP_OPERANDS; i++)
        p.x[i] = op->operand[i].name ? x[i] : 0;
    p.y[output] = y;
    p.bound[output] = bound;
    op->reference(&p);
}

const double *op_sum_row(const op_part *p, int64_t r, int x, int residual, int sum) {
    const double *of_x = p->x[x] + r * p->cols;
    if (!p->x[residual]) return of_x;
    const double *added = p->x[residual] + r * p->cols;
    for (int64_t j = 0; j < p->cols; j++) {
        p->scratch[j] = rounded(p->c->dtype, of_x[j] + added[j]);
        if (p->y[sum]) p->y[sum][r * p->cols + j] = p->scratch[j];
    }
    return p->scratch;
}
