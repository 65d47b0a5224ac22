/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* layer_norm, rms_norm and l2_normalize: each row by itself, one pass over its statistics and one over its
 * output. */
#include "normalize.h"

#include <math.h>

static tdm_status check_epsilon(const char *function, double epsilon) {
    if (!(epsilon >= 0) || isinf(epsilon))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: epsilon is %g, it must be at least 0 and finite", function, epsilon);
    return TDM_OK;
}

tdm_status tdmi_rows_of_both(const char *function, const tdm_tensor *x, const tdm_tensor *y,
                             tdmi_rows *xr, tdmi_rows *yr) {
    TDMI_TRY(tdmi_check_same_shape(function, "x", x, "y", y));
    TDMI_TRY(tdmi_rows_of(function, "x", x, xr));
    return tdmi_rows_of(function, "y", y, yr);
}

tdmi_variant tdmi_rows_variant(const tdm_queue *queue, tdmi_kernel_id kernel, unsigned op,
                               const tdm_tensor *x, const tdm_tensor *y, const tdmi_rows *rows,
                               int64_t places) {
    size_t size = tdm_dtype_size(x->dtype);
    return (tdmi_variant){
        .kernel = (uint8_t)kernel,
        .t = (uint8_t)x->dtype,
        .u = (uint8_t)x->dtype,
        .op = (uint8_t)op,
        .vectors = tdmi_is_aligned(places, size),
        .stream = tdmi_stores(queue, rows->rows, rows->cols, size, x->buffer == y->buffer)};
}

tdm_status tdmi_launch_rows(tdm_queue *queue, tdmi_variant variant, int64_t rows, int64_t cols,
                            const tdmi_mem **mems, int partial, size_t parts, const void *args,
                            tdmi_cut_args cut) {
    const tdm_dtype dtype = (tdm_dtype)variant.t;
    tdmi_pieces pieces = {(uint32_t)cols, 1};
    if (!tdmi_reads_rows_once(queue, variant, cols))
        pieces = tdmi_cut_rows(queue, rows, cols, tdm_dtype_size(dtype));
    *cut.chunk = pieces.chunk;
    *cut.chunks = pieces.chunks;
    *cut.phase = TDM_ROWS_WHOLE;
    if (pieces.chunks == 1) return tdmi_launch_items(queue, variant, rows, cols, mems, args);
    const int64_t items = rows * pieces.chunks;
    const size_t accumulator = dtype == TDM_F64 ? sizeof(double) : sizeof(float);
    TDMI_TRY(tdmi_queue_scratch(queue, (size_t)items * parts * accumulator, &mems[partial]));
    *cut.phase = TDM_ROWS_SUMS;
    TDMI_TRY(tdmi_launch_groups(queue, variant, items, cols, mems, args));
    *cut.phase = TDM_ROWS_WRITES;
    return tdmi_launch_groups(queue, variant, items, cols, mems, args);
}

tdm_status tdm_layer_norm(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                          const tdm_tensor *bias, double epsilon, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_layer_norm";
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"weight", weight, TDMI_ARG_OPTIONAL, 0},
                             {"bias", bias, TDMI_ARG_OPTIONAL, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 4));
    TDMI_TRY(check_epsilon(function, epsilon));
    tdmi_rows xr, yr;
    TDMI_TRY(tdmi_rows_of_both(function, x, y, &xr, &yr));
    if (weight) TDMI_TRY(tdmi_check_vector(function, "weight", weight, xr.cols));
    if (bias) TDMI_TRY(tdmi_check_vector(function, "bias", bias, xr.cols));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    tdm_normalize_args kernel_args = {
        .rows = xr.rows,
        .x_offset = x->offset,
        .x_stride = xr.stride,
        .weight_offset = weight ? weight->offset : 0,
        .bias_offset = bias ? bias->offset : 0,
        .y_offset = y->offset,
        .y_stride = yr.stride,
        .epsilon = tdmi_scalar(epsilon),
        .cols = (tdm_u32)xr.cols,
    };
    unsigned op = (weight ? TDM_OP_WEIGHT : 0u) | (bias ? TDM_OP_BIAS : 0u);
    const tdmi_mem *mems[] = {tdmi_mem_of(x), tdmi_mem_of(weight), tdmi_mem_of(bias), NULL,
                              tdmi_mem_of(y)};
    const int64_t places = x->offset | y->offset | kernel_args.weight_offset |
                           kernel_args.bias_offset | tdmi_row_step(xr.rows, xr.stride | yr.stride);
    return tdmi_launch_rows(
        queue, tdmi_rows_variant(queue, TDMI_KERNEL_LAYER_NORM, op, x, y, &xr, places), xr.rows,
        xr.cols, mems, 3, 4, &kernel_args,
        (tdmi_cut_args){&kernel_args.chunk, &kernel_args.chunks, &kernel_args.phase});
}

tdm_status tdm_rms_norm(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *residual,
                        const tdm_tensor *weight, double epsilon, tdm_tensor *sum, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_rms_norm";
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"residual", residual, TDMI_ARG_OPTIONAL, 0},
                             {"weight", weight, TDMI_ARG_OPTIONAL, 0},
                             {"sum", sum, TDMI_ARG_OPTIONAL | TDMI_ARG_OUTPUT, 1u << 0 | 1u << 1},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0 | 1u << 1}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 5));
    TDMI_TRY(check_epsilon(function, epsilon));
    if (sum && !residual)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: sum is given, but residual is NULL",
                         function);
    tdmi_rows xr, yr, rr, sr;
    TDMI_TRY(tdmi_rows_of_both(function, x, y, &xr, &yr));
    rr = sr = xr;
    if (residual) {
        TDMI_TRY(tdmi_check_same_shape(function, "x", x, "residual", residual));
        TDMI_TRY(tdmi_rows_of(function, "residual", residual, &rr));
    }
    if (sum) {
        TDMI_TRY(tdmi_check_same_shape(function, "x", x, "sum", sum));
        TDMI_TRY(tdmi_rows_of(function, "sum", sum, &sr));
    }
    if (weight) TDMI_TRY(tdmi_check_vector(function, "weight", weight, xr.cols));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    tdm_normalize_args kernel_args = {
        .rows = xr.rows,
        .x_offset = x->offset,
        .x_stride = xr.stride,
        .residual_offset = residual ? residual->offset : 0,
        .residual_stride = rr.stride,
        .weight_offset = weight ? weight->offset : 0,
        .sum_offset = sum ? sum->offset : 0,
        .sum_stride = sr.stride,
        .y_offset = y->offset,
        .y_stride = yr.stride,
        .epsilon = tdmi_scalar(epsilon),
        .cols = (tdm_u32)xr.cols,
    };
    unsigned op = (weight ? TDM_OP_WEIGHT : 0u) | (residual ? TDM_OP_RMS_RESIDUAL : 0u) |
                  (sum ? TDM_OP_RMS_SUM : 0u);
    const int64_t places = x->offset | y->offset | kernel_args.residual_offset |
                           kernel_args.weight_offset | kernel_args.sum_offset |
                           tdmi_row_step(xr.rows, xr.stride | yr.stride | rr.stride | sr.stride);
    tdmi_variant variant = tdmi_rows_variant(queue, TDMI_KERNEL_RMS_NORM, op, x, y, &xr, places);
    if (residual && (residual->buffer == y->buffer ||
                     (sum && (sum->buffer == residual->buffer || sum->buffer == x->buffer))))
        variant.stream = tdmi_stores(queue, xr.rows, xr.cols, tdm_dtype_size(x->dtype), true);
    const tdmi_mem *mems[] = {tdmi_mem_of(x), tdmi_mem_of(residual), tdmi_mem_of(weight),
                              NULL,           tdmi_mem_of(sum),      tdmi_mem_of(y)};
    return tdmi_launch_rows(
        queue, variant, xr.rows, xr.cols, mems, 3, 2, &kernel_args,
        (tdmi_cut_args){&kernel_args.chunk, &kernel_args.chunks, &kernel_args.phase});
}

/* `parts` as in tdmi_launch_rows; 0 for a kernel that takes whole rows alone, and has no buffer in between. */
static tdm_status by_rows(const char *function, tdm_queue *queue, tdmi_kernel_id kernel,
                          size_t parts, const tdm_tensor *x, double epsilon, const tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    TDMI_TRY(check_epsilon(function, epsilon));
    tdmi_rows xr, yr;
    TDMI_TRY(tdmi_rows_of_both(function, x, y, &xr, &yr));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    tdm_rows_args kernel_args = {
        .rows = xr.rows,
        .x_offset = x->offset,
        .x_stride = xr.stride,
        .y_offset = y->offset,
        .y_stride = yr.stride,
        .epsilon = tdmi_scalar(epsilon),
        .cols = (tdm_u32)xr.cols,
    };
    const int64_t places = x->offset | y->offset | tdmi_row_step(xr.rows, xr.stride | yr.stride);
    const tdmi_variant variant = tdmi_rows_variant(queue, kernel, 0, x, y, &xr, places);
    const tdmi_mem *whole[] = {tdmi_mem_of(x), tdmi_mem_of(y)},
                   *mems[] = {whole[0], NULL, whole[1]};
    if (parts == 0) return tdmi_launch_items(queue, variant, xr.rows, xr.cols, whole, &kernel_args);
    return tdmi_launch_rows(
        queue, variant, xr.rows, xr.cols, mems, 1, parts, &kernel_args,
        (tdmi_cut_args){&kernel_args.chunk, &kernel_args.chunks, &kernel_args.phase});
}

tdm_status tdm_l2_normalize(tdm_queue *queue, const tdm_tensor *x, double epsilon, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return by_rows("tdm_l2_normalize", queue, TDMI_KERNEL_L2_NORMALIZE, 2, x, epsilon, y);
}
