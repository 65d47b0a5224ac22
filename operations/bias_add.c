/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_bias_add: y = activation(x + bias) + residual. */
#include <math.h>

#include "operations/formulas.h"
#include "operations/list.h"
#include "reference/bounds.h"

enum { X, BIAS, RESIDUAL, Y };

double ref_activation(tdm_activation activation, double x) {
    long double u = (long double)x;
    switch (activation) {
    case TDM_ACTIVATION_RELU:
        return isnan(x) ? x : (x > 0.0 ? x : 0.0);
    case TDM_ACTIVATION_GELU:
        /* x·Φ(x), with erfc so that the left tail keeps its digits. */
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        return (double)(0.5L * u * erfcl(-u / sqrtl(2.0L)));
    case TDM_ACTIVATION_GELU_TANH:
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        /* 1 + tanh w as 2 / (1 + exp(-2w)), for the left tail. */
        return (double)(u / (1.0L + expl(-2.0L * sqrtl(2.0L / acosl(-1.0L)) *
                                         (u + 0.044715L * u * u * u))));
    case TDM_ACTIVATION_SILU:
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        return (double)(u / (1.0L + expl(-u)));
    case TDM_ACTIVATION_SIGMOID:
        return (double)(1.0L / (1.0L + expl(-u)));
    case TDM_ACTIVATION_TANH:
        return (double)tanhl(u);
    case TDM_ACTIVATION_NONE:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return x;
}

double ref_activation_bound(tdm_activation activation, double x, double dx, double eps) {
    double y = fabs(ref_activation(activation, x));
    switch (activation) {
    case TDM_ACTIVATION_NONE:
        return dx;
    case TDM_ACTIVATION_RELU:
        return x < 0.0 ? 0.0 : dx;
    case TDM_ACTIVATION_GELU:
    case TDM_ACTIVATION_GELU_TANH:
    case TDM_ACTIVATION_SILU:
        /* slopes are below these; 1 + erf cancels on the left, which costs eps·|x| */
        return (activation == TDM_ACTIVATION_SILU ? 1.1 : 1.13) * dx + 4.0 * eps * (fabs(x) + y);
    case TDM_ACTIVATION_SIGMOID:
        return 0.25 * dx + 8.0 * eps * y * (1.0 + fmin(fabs(x), 1e4) * (1.0 - y));
    case TDM_ACTIVATION_TANH:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return dx + 8.0 * eps * y;
}

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_bias_add(queue, t[X], t[BIAS], (tdm_activation)c->op->variant, t[RESIDUAL], t[Y]);
}

static void refer(const op_part *p) {
    const tdm_activation activation = (tdm_activation)p->c->op->variant;
    const double eps = compute_eps(p->c->dtype);
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const double bias = p->x[BIAS] ? p->x[BIAS][i % p->cols] : 0.0;
        const double residual = p->x[RESIDUAL] ? p->x[RESIDUAL][i] : 0.0;
        const double u = (double)((long double)p->x[X][i] + (long double)bias);
        const double act = ref_activation(activation, u);
        const double error = ref_activation_bound(activation, u, eps * fabs(u), eps);
        const double y = (double)((long double)act + (long double)residual);
        p->y[Y][i] = y;
        p->bound[Y][i] = stored(p->c->dtype, y, error + eps * (fabs(act) + fabs(y)));
    }
}

_Static_assert(TDM_ACTIVATION_COUNT == 7, "each activation has a row here");
#define BIAS_ADD(title, activation)                                                                \
    {                                                                                              \
        .name = title, .function = "tdm_bias_add", .variant = (activation),                        \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -4, .high = 4},                              \
                    [BIAS] = {"bias", OP_IN | OP_OPTIONAL, OP_COLS, .low = -1, .high = 1},         \
                    [RESIDUAL] = {"residual", OP_IN | OP_OPTIONAL, OP_ALL, .low = -1, .high = 1},  \
                    [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X) | OP_BIT(RESIDUAL)}},            \
        .seldom = OP_BIT(RESIDUAL), .layout = OP_ADJACENT, .unit = OP_BY_ELEMENT,                  \
        .in_tensor_type = true, .cost = (activation) ? 8 : 1, .call = call, .reference = refer     \
    }
static const operation pages[] = {
    BIAS_ADD("bias_add", TDM_ACTIVATION_NONE),
    BIAS_ADD("bias_add+relu", TDM_ACTIVATION_RELU),
    BIAS_ADD("bias_add+gelu", TDM_ACTIVATION_GELU),
    BIAS_ADD("bias_add+gelu_tanh", TDM_ACTIVATION_GELU_TANH),
    BIAS_ADD("bias_add+silu", TDM_ACTIVATION_SILU),
    BIAS_ADD("bias_add+sigmoid", TDM_ACTIVATION_SIGMOID),
    BIAS_ADD("bias_add+tanh", TDM_ACTIVATION_TANH),
};
const op_list op_bias_add = OP_LIST(pages);
