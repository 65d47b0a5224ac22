/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* bias_add: y = activation(x + bias) + residual. */
#include "bias_add.h"

#include "verify.h"

const char *tdm_activation_name(tdm_activation activation) {
    static const char *const names[] = {
#define ACTIVATION_NAME(NAME, name) name,
        TDM_ACTIVATION_LIST(ACTIVATION_NAME)};
    return (unsigned)activation < TDM_ACTIVATION_COUNT ? names[activation] : "unknown";
}

#define SAME_VALUE(NAME, name)                                                                     \
    _Static_assert((int)TDM_ACT_##NAME == (int)TDM_ACTIVATION_##NAME, "TDM_ACT_LIST");
TDM_ACTIVATION_LIST(SAME_VALUE)
_Static_assert((int)TDM_ACT_COUNT == (int)TDM_ACTIVATION_COUNT, "TDM_ACT_LIST");
_Static_assert((int)TDM_ACT_COUNT <= TDM_OP_ACTIVATION + 1, "OP has no room for more activations");

tdm_status tdmi_check_activation(const char *function, tdm_activation activation) {
#define AND_NAME(NAME, name) ", _" #NAME
    static const char allowed[] = TDM_ACTIVATION_LIST(AND_NAME);
    if ((unsigned)activation < TDM_ACTIVATION_COUNT) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "%s: activation is %d, allowed are TDM_ACTIVATION%s", function,
                     (int)activation, allowed + 2);
}

/* Without a bias, rows that follow each other without gaps are one long row. */
static void join_rows(tdm_bias_add_args *args) {
    int64_t cols = args->cols;
    if (args->bias_kind != TDM_BIAS_NONE || args->gap != 0 || args->rows > INT32_MAX / cols) return;
    if (args->x_stride != cols || args->residual_stride != cols || args->y_stride != cols) return;
    args->cols *= (uint32_t)args->rows;
    args->rows = 1;
}

tdm_status tdmi_run_bias_add(tdm_queue *queue, tdmi_variant variant, bool in_place,
                             const tdmi_mem *const mems[4], tdm_bias_add_args *args) {
    join_rows(args);
    size_t size = tdm_dtype_size((tdm_dtype)variant.t);
    variant.kernel = TDMI_KERNEL_BIAS_ADD;
    variant.u = variant.t;
    if (args->bias_kind == TDM_BIAS_OF_COLS) variant.op |= TDM_OP_COLS_BIAS;
    variant.stream = tdmi_stores(queue, args->rows, args->cols, size, in_place);
    variant.vectors = tdmi_is_aligned(
        args->x_offset | args->y_offset | args->residual_offset | args->gap |
            (args->bias_kind == TDM_BIAS_OF_COLS ? args->bias_offset : 0) |
            tdmi_row_step(args->rows, args->x_stride | args->y_stride | args->residual_stride),
        size);
    return tdmi_launch_cut(queue, variant, args->rows, args->cols, mems, args, &args->chunk,
                           &args->chunks);
}

tdm_status tdm_bias_add(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *bias,
                        tdm_activation activation, const tdm_tensor *residual, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"bias", bias, TDMI_ARG_OPTIONAL, 0},
                             {"residual", residual, TDMI_ARG_OPTIONAL, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0 | 1u << 2}};
    TDMI_VERIFY(__func__, queue, args, 4,
                tdm_bias_add(v->queue, v->t[0], v->t[1],
                             v->sizes ? TDM_ACTIVATION_NONE : activation, v->t[2], v->t[3]),
                .kind = TDMI_VERIFY_SIZES, .factor = activation == TDM_ACTIVATION_NONE ? 3 : 28)
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 4));
    TDMI_TRY(tdmi_check_activation(__func__, activation));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    tdmi_rows xr, rr, yr;
    TDMI_TRY(tdmi_rows_of(__func__, "x", x, &xr));
    TDMI_TRY(tdmi_rows_of(__func__, "y", y, &yr));
    rr = xr;
    if (residual) TDMI_TRY(tdmi_rows_of_residual(__func__, x, residual, xr.rows, &rr));
    if (bias) TDMI_TRY(tdmi_check_vector(__func__, "bias", bias, xr.cols));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    const tdm_bias_add_args all = {
        .rows = rr.rows,
        .x_offset = x->offset,
        .x_stride = xr.stride,
        .bias_offset = bias ? bias->offset : 0,
        .residual_offset = residual ? residual->offset : 0,
        .residual_stride = rr.stride,
        .y_offset = y->offset,
        .y_stride = yr.stride,
        .matrix = rr.rows,
        .cols = (tdm_u32)xr.cols,
        .bias_kind = bias ? TDM_BIAS_OF_COLS : TDM_BIAS_NONE,
    };
    tdmi_variant variant = {
        .t = (uint8_t)x->dtype,
        .op = (uint8_t)((unsigned)activation | (residual ? TDM_OP_RESIDUAL : 0u)),
    };
    const tdmi_mem *mems[] = {tdmi_mem_of(x), tdmi_mem_of(bias), tdmi_mem_of(residual),
                              tdmi_mem_of(y)};
    bool in_place = y->buffer == x->buffer || (residual && y->buffer == residual->buffer);
    for (int64_t first = 0; first < xr.rows; first += rr.rows) {
        tdm_bias_add_args kernel_args = all;
        kernel_args.x_offset += first * xr.stride;
        kernel_args.y_offset += first * yr.stride;
        TDMI_TRY(tdmi_run_bias_add(queue, variant, in_place, mems, &kernel_args));
    }
    return TDM_OK;
}
