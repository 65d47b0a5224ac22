/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_add, tdm_sub, tdm_mul, tdm_scale, tdm_axpy and tdm_fill. */
#include <math.h>

#include "operations/list.h"
#include "reference/bounds.h"

enum { A, B, Y };
enum { ADD, SUB, MUL, SCALE, AXPY, FILL };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    switch (c->op->variant) {
    case ADD:
        return tdm_add(queue, t[A], t[B], t[Y]);
    case SUB:
        return tdm_sub(queue, t[A], t[B], t[Y]);
    case MUL:
        return tdm_mul(queue, t[A], t[B], t[Y]);
    case SCALE:
        return tdm_scale(queue, c->number, t[A], t[Y]);
    case AXPY:
        return tdm_axpy(queue, c->number, t[A], t[Y]);
    default:
        return tdm_fill(queue, c->number, t[Y]);
    }
}

/* One operation, rounded once, so that it is exact. Through long double f64 would be rounded twice. */
static void refer(const op_part *p) {
    const bool f64 = p->c->dtype == TDM_F64;
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const double a = p->x[A][i], b = p->x[B][i];
        const long double u = (long double)a, w = (long double)b;
        const int kind = p->c->op->variant;
        const double narrow = kind == ADD ? a + b : kind == SUB ? a - b : a * b;
        const long double wide = kind == ADD ? u + w : kind == SUB ? u - w : u * w;
        p->y[Y][i] = f64 ? narrow : rounded(p->c->dtype, (double)wide);
    }
}

/* alpha is rounded to f32 first, and axpy rounds twice. */
static void refer_scaled(const op_part *p) {
    const double eps = compute_eps(p->c->dtype);
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const double added = p->c->op->variant == AXPY ? p->x[Y][i] : 0.0;
        const long double scaled = (long double)p->x[A][i] * (long double)p->c->number;
        const double y = (double)(scaled + (long double)added);
        const double error = 1.5 * eps * (fabs((double)scaled) + fabs(added));
        const bool exact = !(error > 0.0); /* NaN is no bound */
        p->y[Y][i] = exact ? rounded(p->c->dtype, y) : y;
        p->bound[Y][i] = exact ? 0.0 : error + half_ulp(p->c->dtype, fabs(y) + error);
    }
}

static void refer_fill(const op_part *p) {
    for (int64_t i = 0; i < p->rows * p->cols; i++)
        p->y[Y][i] = rounded(p->c->dtype, p->c->number);
}

#define ELEMENTS .layout = OP_ANY_STRIDES, .unit = OP_BY_ELEMENT, .call = call
#define OPERAND(title)                                                                             \
    { title, OP_IN, OP_ALL, .low = -2, .high = 2 }
#define OF_TWO(title, kind)                                                                        \
    {                                                                                              \
        .name = title, .function = "tdm_" title, .variant = kind,                                  \
        .operand = {[A] = OPERAND("a"),                                                            \
                    [B] = OPERAND("b"),                                                            \
                    [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(A) | OP_BIT(B)}},                   \
        ELEMENTS, .reference = refer                                                               \
    }
/* A small factor, so that y stays finite while axpy is repeated in place. */
#define OF_ONE(title, kind, role)                                                                  \
    {                                                                                              \
        .name = title, .function = "tdm_" title, .variant = kind,                                  \
        .operand = {[A] = OPERAND("x"),                                                            \
                    [Y] = {"y", role, OP_ALL, .low = -2, .high = 2, .over = OP_BIT(A)}},           \
        .number = {"alpha", 0x1p-10, true}, .in_tensor_type = true, ELEMENTS,                      \
        .reference = refer_scaled                                                                  \
    }

static const operation pages[] = {
    OF_TWO("add", ADD),
    OF_TWO("sub", SUB),
    OF_TWO("mul", MUL),
    OF_ONE("scale", SCALE, OP_OUT),
    OF_ONE("axpy", AXPY, OP_IN | OP_OUT),
    {.name = "fill",
     .function = "tdm_fill",
     .variant = FILL,
     .operand = {[Y] = {"y", OP_OUT, OP_ALL, .dtype = OP_SAME}},
     .number = {"value", 0.375, true},
     .takes_f64 = true,
     .layout = OP_ANY_STRIDES,
     .unit = OP_BY_ELEMENT,
     .call = call,
     .reference = refer_fill},
};
const op_list op_arithmetic = OP_LIST(pages);
