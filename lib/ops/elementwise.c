/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elementwise: two floats of one dtype combined, scale, axpy; cast; fill. */
#include "elementwise.h"

#include <math.h>

#include "strided.h"
#include "verify.h"

static tdm_status run(tdm_queue *queue, unsigned op, double alpha, const tdm_tensor *a,
                      const tdm_tensor *b, const tdm_tensor *y) {
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_ELEMENTWISE,
                                  .t = (uint8_t)y->dtype,
                                  .u = (uint8_t)y->dtype,
                                  .op = (uint8_t)op};
    tdm_elementwise_args args = {.alpha = tdmi_scalar(alpha)};
    const tdm_tensor *const operands[3] = {y, a, b};
    return tdmi_run_strided(queue, variant, operands, &args);
}

tdm_status tdmi_combine_alike(const char *function, tdm_queue *queue, unsigned op,
                              const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *y) {
    const tdmi_arg args[] = {{"a", a, 0, 0}, {"b", b, 0, 0}, {"y", y, TDMI_ARG_OUTPUT, 1u | 2u}};
    TDMI_VERIFY(function, queue, args, 3,
                tdmi_combine_alike(function, v->queue, op, v->t[0], v->t[1], v->t[2]),
                .kind = TDMI_VERIFY_ULPS, .factor = 0.5)
    TDMI_TRY(tdmi_check_args(function, queue, args, 3));
    tdm_tensor a_view, b_view;
    TDMI_TRY(tdmi_broadcast(function, "a", a, "y", y, &a_view));
    TDMI_TRY(tdmi_broadcast(function, "b", b, "y", y, &b_view));
    return run(queue, op, 1, &a_view, &b_view, y);
}

static tdm_status unary(const char *function, tdm_queue *queue, unsigned op, double alpha,
                        const tdm_tensor *x, const tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"y", y, TDMI_ARG_OUTPUT, 1u}};
    TDMI_VERIFY(function, queue, args, 2,
                unary(function, v->queue, op, v->sizes ? fabs(alpha) : alpha, v->t[0], v->t[1]),
                .kind = TDMI_VERIFY_SIZES, .factor = 3)
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    tdm_tensor view;
    TDMI_TRY(tdmi_broadcast(function, "x", x, "y", y, &view));
    return run(queue, op, alpha, &view, op == TDM_OP_AXPY ? y : NULL, y);
}

tdm_status tdm_scale(tdm_queue *queue, double alpha, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return unary("tdm_scale", queue, TDM_OP_SCALE, alpha, x, y);
}

tdm_status tdm_axpy(tdm_queue *queue, double alpha, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return unary("tdm_axpy", queue, TDM_OP_AXPY, alpha, x, y);
}

tdm_status tdm_cast(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const unsigned any = x && y && x->dtype == y->dtype ? TDMI_ARG_MOVED : TDMI_ARG_ANY_DTYPE;
    const tdmi_arg args[] = {{"x", x, any, 0}, {"y", y, TDMI_ARG_OUTPUT | any, 0}};
    TDMI_VERIFY(__func__, queue, args, 2, tdm_cast(v->queue, v->t[0], v->t[1]),
                .kind = any == TDMI_ARG_MOVED ? TDMI_VERIFY_MOVED : TDMI_VERIFY_EXACT)
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    return tdmi_copy_into(queue, x, y);
}

tdm_status tdm_fill(tdm_queue *queue, double value, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"y", y, TDMI_ARG_OUTPUT | TDMI_ARG_MOVED, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 1));
    tdm_elementwise_args kernel_args = {.bits = (tdm_i64)tdmi_element_bits(y->dtype, value)};
    const uint8_t bits = (uint8_t)tdmi_dtype_bits(y->dtype);
    tdmi_variant variant = {.kernel = TDMI_KERNEL_FILL, .t = bits, .u = bits};
    const tdm_tensor *operands[3] = {y, NULL, NULL};
    return tdmi_run_strided(queue, variant, operands, &kernel_args);
}
