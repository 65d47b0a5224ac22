/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* softmax, plain, and of scores that are scaled and masked; its logarithm, and logsumexp. */
#include <math.h>

#include <tandem/arrays.h>

#include "normalize.h"
#include "reduce.h"
#include "softmax.h"
#include "verify.h"

/* The rows of the mask, repeated to x's shape, one for each row of x. */
static tdm_status describe_mask(const char *function, const tdm_tensor *mask, const tdm_tensor *x,
                                tdm_softmax_args *args) {
    tdm_tensor view;
    char text[128], x_text[128];
    const int last = x->ndim - 1;
    TDMI_TRY(tdmi_broadcast(function, "mask", mask, "x", x, &view));
    if (x->shape[last] > 1 && view.strides[last] != 1)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the last dimension of mask %s must be that of x %s, with stride 1",
                         function, tdmi_shape_text(mask, text), tdmi_shape_text(x, x_text));
    args->has_mask = 1;
    args->mask_offset = view.offset;
    for (int i = 0; i < last; i++) {
        if (x->shape[i] == 1) continue;
        const int n = args->mask_ndim;
        if (n > 0 && args->mask_stride[n - 1] == x->shape[i] * view.strides[i]) {
            args->mask_shape[n - 1] *= x->shape[i];
            args->mask_stride[n - 1] = view.strides[i];
        } else {
            args->mask_shape[n] = x->shape[i];
            args->mask_stride[n] = view.strides[i];
            args->mask_ndim++;
        }
    }
    return TDM_OK;
}

static tdm_status describe(const char *function, const tdm_softmax_options *o, const tdm_tensor *x,
                           tdm_softmax_args *args) {
    TDMI_TRY(tdmi_check_finite(function, "scale", o->scale, x->dtype));
    args->scale = tdmi_scalar(o->scale);
    if (o->causal) {
        if (x->ndim < 2)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                             "%s: x has one dimension, a causal softmax needs at least two",
                             function);
        args->causal_rows = x->shape[x->ndim - 2];
    }
    return o->mask ? describe_mask(function, o->mask, x, args) : TDM_OK;
}

static int64_t places_of_mask(const tdm_softmax_args *args) {
    int64_t places = args->mask_offset;
    for (int i = 0; i < args->mask_ndim; i++)
        places |= args->mask_stride[i];
    return places;
}

/* Fills in where rows lie, and launches. */
static tdm_status launch(tdm_queue *queue, unsigned op, const tdm_tensor *x, const tdmi_rows *xr,
                         const tdm_tensor *mask, const tdm_tensor *y, const tdmi_rows *yr,
                         tdm_softmax_args *args) {
    args->rows = xr->rows;
    args->x_offset = x->offset;
    args->x_stride = xr->stride;
    args->y_offset = y->offset;
    args->y_stride = yr->stride;
    const bool has_rows = op != TDM_OP_SOFTMAX_LOG_SUM; /* else y's elements lie anywhere */
    const int64_t of_y = has_rows ? y->offset | tdmi_row_step(xr->rows, yr->stride) : 0;
    const int64_t places =
        x->offset | of_y | tdmi_row_step(xr->rows, xr->stride) | places_of_mask(args);
    const tdmi_variant variant =
        tdmi_rows_variant(queue, TDMI_KERNEL_SOFTMAX, op, x, has_rows ? y : x, xr, places);
    const tdmi_mem *mems[] = {tdmi_mem_of(x), tdmi_mem_of(mask), NULL, tdmi_mem_of(y)};
    return tdmi_launch_rows(queue, variant, xr->rows, xr->cols, mems, 2, TDM_SUM_NUMBERS, args,
                            &args->cut);
}

static tdm_status run_again(const tdmi_verification *v, const char *function,
                            const tdm_softmax_options *o) {
    tdm_softmax_options again = *o;
    again.mask = v->t[1];
    return tdmi_softmax(function, v->queue, 0, &again, v->t[0], v->t[2]);
}

tdm_status tdmi_check_softmax(const char *function, const tdm_softmax_options *o,
                              const tdm_tensor *x, const tdm_tensor *y) {
    tdmi_rows xr, yr;
    tdm_softmax_args args = {0};
    TDMI_TRY(tdmi_rows_of_both(function, x, y, &xr, &yr));
    return describe(function, o, x, &args);
}

tdm_status tdmi_softmax(const char *function, tdm_queue *queue, unsigned op,
                        const tdm_softmax_options *o, const tdm_tensor *x, const tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"mask", o->mask, TDMI_ARG_OPTIONAL, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    const bool plain = !o->mask && !o->causal && o->scale == 1;
    if (op == 0)
        TDMI_VERIFY(function, queue, args, 3, run_again(v, function, o),
                    .kind = TDMI_VERIFY_SOFTMAX, .factor = plain ? 0 : 4, .number = o->scale)
    TDMI_TRY(tdmi_check_args(function, queue, args, 3));
    tdmi_rows xr, yr;
    tdm_softmax_args kernel_args = {0};
    TDMI_TRY(tdmi_rows_of_both(function, x, y, &xr, &yr));
    TDMI_TRY(describe(function, o, x, &kernel_args));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    if (o->mask || o->causal || o->scale != 1) op |= TDM_OP_SOFTMAX_SCALED;
    return launch(queue, op, x, &xr, o->mask, y, &yr, &kernel_args);
}

static const tdm_softmax_options plainly = TDM_SOFTMAX_OPTIONS_DEFAULTS;

tdm_status tdm_softmax(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return tdmi_softmax(__func__, queue, 0, &plainly, x, y);
}

tdm_status tdm_log_softmax(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return tdmi_softmax(__func__, queue, TDM_OP_SOFTMAX_LOG, &plainly, x, y);
}

tdm_status tdm_logsumexp(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"y", y, TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    const int last = x->ndim - 1;
    tdmi_reduced reduced;
    TDMI_TRY(tdmi_check_reduced(__func__, x, &last, 1, "y", y, &reduced));
    tdmi_rows xr, yr;
    tdm_tensor columns = *x; /* y as rows of one element */
    columns.shape[last] = columns.strides[last] = 1;
    for (int i = 0; i < last; i++)
        columns.strides[i] = y->strides[reduced.of_y[i]];
    TDMI_TRY(tdmi_rows_of(__func__, "x", x, &xr));
    TDMI_TRY(tdmi_rows_of(__func__, "y", &columns, &yr));
    if (xr.rows == 0) return TDM_OK;
    if (xr.cols == 0) return tdm_fill(queue, -INFINITY, y);
    return launch(queue, TDM_OP_SOFTMAX_LOG_SUM, x, &xr, NULL, y, &yr, &(tdm_softmax_args){0});
}
