/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_cast to each floating dtype. */
#include "operations/list.h"
#include "reference/values.h"

enum { X, Y };

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    (void)c;
    return tdm_cast(queue, t[X], t[Y]);
}

static void refer(const op_part *p) {
    for (int64_t i = 0; i < p->rows * p->cols; i++)
        p->y[Y][i] = rounded(op_dtype_of(p->c, Y), p->x[X][i]);
}

#define CAST(title, to)                                                                            \
    {                                                                                              \
        .name = title, .function = "tdm_cast", .variant = to,                                      \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -4, .high = 4},                              \
                    [Y] = {"y", OP_OUT, OP_ALL, .dtype = OP_GIVEN}},                               \
        .layout = OP_ANY_STRIDES, .unit = OP_BY_ELEMENT, .is_cold = true, .call = call,            \
        .reference = refer                                                                         \
    }
static const operation pages[] = {
    CAST("cast+f32", TDM_F32),
    CAST("cast+f64", TDM_F64),
    CAST("cast+f16", TDM_F16),
    CAST("cast+bf16", TDM_BF16),
};
const op_list op_cast = OP_LIST(pages);
