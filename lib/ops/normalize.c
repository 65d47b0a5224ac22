/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* layer_norm and rms_norm, also of a sum, and l2_normalize: each row by itself, one pass over its statistics
 * and one over its output. */
#include "normalize.h"

#include "verify.h"

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
        .vectors = tdmi_reduced_vectors(places, size),
        .stream = tdmi_stores(queue, rows->rows, rows->cols, size, x->buffer == y->buffer)};
}

tdm_status tdmi_launch_rows(tdm_queue *queue, tdmi_variant variant, int64_t rows, int64_t cols,
                            const tdmi_mem **mems, int partial, size_t numbers, const void *args,
                            tdm_cut *cut) {
    const tdm_dtype dtype = (tdm_dtype)variant.t;
    const size_t accumulator = dtype == TDM_F64 ? sizeof(double) : sizeof(float);
    const int64_t kept = TDM_KEPT_BYTES / (int64_t)accumulator;
    const bool keeps = variant.kernel == TDMI_KERNEL_SOFTMAX && queue->device->facts->row_loops;
    *cut = tdmi_cut_chunks(queue, rows, cols, keeps ? kept : 0, tdm_dtype_size(dtype));
    if (cut->pieces == 1) return tdmi_launch_items(queue, variant, rows, cols, mems, args);
    TDMI_TRY(tdmi_queue_scratch(queue, (size_t)rows * cut->chunks * numbers * accumulator,
                                &mems[partial]));
    cut->phase = TDM_ROWS_SUMS;
    TDMI_TRY(tdmi_launch_groups(queue, variant, rows * cut->pieces, cols, mems, args));
    cut->phase = TDM_ROWS_WRITES;
    const tdm_kernel_entry *kernel = &tdm_kernel_entries[variant.kernel];
    if (kernel->writes == 0 || tdm_has_op(kernel->results, variant.op)) {
        cut->pieces = 1;
        return tdmi_launch_items(queue, variant, rows, cols, mems, args);
    }
    return tdmi_launch_groups(queue, variant, rows * cut->pieces, cols, mems, args);
}

/* The operands of layer_norm and rms_norm; the latter has no bias. */
typedef struct operands {
    const tdm_tensor *x, *residual, *weight, *bias, *sum, *y;
} operands;

typedef struct operand_rows {
    tdmi_rows x, residual, sum, y;
} operand_rows;

static tdm_status rows_of_operands(const char *function, const operands *o, operand_rows *rows) {
    if (o->sum && !o->residual)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: sum is given, but residual is NULL",
                         function);
    TDMI_TRY(tdmi_rows_of_both(function, o->x, o->y, &rows->x, &rows->y));
    rows->residual = rows->sum = rows->x;
    if (o->residual)
        TDMI_TRY(tdmi_rows_of_residual(function, o->x, o->residual, rows->x.rows, &rows->residual));
    if (o->sum) {
        TDMI_TRY(tdmi_check_same_shape(function, "x", o->x, "sum", o->sum));
        TDMI_TRY(tdmi_rows_of(function, "sum", o->sum, &rows->sum));
    }
    if (o->weight) TDMI_TRY(tdmi_check_vector(function, "weight", o->weight, rows->x.cols));
    if (o->bias) TDMI_TRY(tdmi_check_vector(function, "bias", o->bias, rows->x.cols));
    return TDM_OK;
}

static int64_t offset_of(const tdm_tensor *tensor) { return tensor ? tensor->offset : 0; }

/* Whether an output may be an input: then it does not pass the cache by. */
static bool in_place(const operands *o) {
    const tdm_tensor *const outputs[] = {o->y, o->sum};
    for (int i = 0; i < 2; i++)
        if (outputs[i] && (outputs[i]->buffer == o->x->buffer ||
                           (o->residual && outputs[i]->buffer == o->residual->buffer)))
            return true;
    return false;
}

static tdm_status normalize(const char *function, tdm_queue *queue, tdmi_kernel_id kernel,
                            const operands *o, double epsilon) {
    enum { X = 1u << 0, RESIDUAL = 1u << 1 };
    const tdmi_arg args[] = {{"x", o->x, 0, 0},
                             {"residual", o->residual, TDMI_ARG_OPTIONAL, 0},
                             {"weight", o->weight, TDMI_ARG_OPTIONAL, 0},
                             {"bias", o->bias, TDMI_ARG_OPTIONAL, 0},
                             {"sum", o->sum, TDMI_ARG_OPTIONAL | TDMI_ARG_OUTPUT, X | RESIDUAL},
                             {"y", o->y, TDMI_ARG_OUTPUT, X | RESIDUAL}};
    TDMI_VERIFY(
        function, queue, args, 6,
        normalize(function, v->queue, kernel,
                  &(operands){v->t[0], v->t[1], v->t[2], v->t[3], v->t[4], v->t[5]}, epsilon),
        .kind = kernel == TDMI_KERNEL_LAYER_NORM ? TDMI_VERIFY_LAYER_NORM : TDMI_VERIFY_TERMS,
        .number = epsilon, .adds_residual = true)
    TDMI_TRY(tdmi_check_args(function, queue, args, 6));
    TDMI_TRY(tdmi_check_epsilon(function, epsilon, o->x->dtype));
    operand_rows rows;
    TDMI_TRY(rows_of_operands(function, o, &rows));
    /* of each launch: there is one for each time that the residual is added */
    const int64_t count = rows.residual.rows, cols = rows.x.cols;
    if (count == 0 || cols == 0) return TDM_OK;
    tdm_normalize_args kernel_args = {
        .rows = count,
        .x_offset = o->x->offset,
        .x_stride = rows.x.stride,
        .residual_offset = offset_of(o->residual),
        .residual_stride = rows.residual.stride,
        .weight_offset = offset_of(o->weight),
        .bias_offset = offset_of(o->bias),
        .sum_offset = offset_of(o->sum),
        .sum_stride = rows.sum.stride,
        .y_offset = o->y->offset,
        .y_stride = rows.y.stride,
        .epsilon = tdmi_scalar(epsilon),
    };
    const unsigned op = (o->weight ? TDM_OP_ROW_WEIGHT : 0u) | (o->bias ? TDM_OP_ROW_BIAS : 0u) |
                        (o->residual ? TDM_OP_ROW_RESIDUAL : 0u) | (o->sum ? TDM_OP_ROW_SUM : 0u);
    const int64_t strides = rows.x.stride | rows.residual.stride | rows.sum.stride | rows.y.stride;
    const int64_t places = o->x->offset | kernel_args.residual_offset | kernel_args.weight_offset |
                           kernel_args.bias_offset | kernel_args.sum_offset | o->y->offset |
                           tdmi_row_step(count, strides);
    tdmi_variant variant = tdmi_rows_variant(queue, kernel, op, o->x, o->y, &rows.x, places);
    variant.stream = tdmi_stores(queue, count, cols, tdm_dtype_size(o->x->dtype), in_place(o));
    /* in the order of the kernel's buffers */
    const bool is_layer_norm = kernel == TDMI_KERNEL_LAYER_NORM;
    const tdmi_mem *mems[7] = {tdmi_mem_of(o->x), tdmi_mem_of(o->residual), tdmi_mem_of(o->weight)};
    const int partial = is_layer_norm ? 4 : 3;
    const size_t numbers = is_layer_norm ? TDM_MOMENTS_NUMBERS : TDM_SUM_NUMBERS;
    if (is_layer_norm) mems[3] = tdmi_mem_of(o->bias);
    mems[partial + 1] = tdmi_mem_of(o->sum);
    mems[partial + 2] = tdmi_mem_of(o->y);
    for (int64_t first = 0; first < rows.x.rows; first += count) {
        TDMI_TRY(tdmi_launch_rows(queue, variant, count, cols, mems, partial, numbers, &kernel_args,
                                  &kernel_args.cut));
        kernel_args.x_offset += count * rows.x.stride;
        kernel_args.sum_offset += count * rows.sum.stride;
        kernel_args.y_offset += count * rows.y.stride;
    }
    return TDM_OK;
}

tdm_status tdm_layer_norm(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                          const tdm_tensor *bias, double epsilon, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return normalize("tdm_layer_norm", queue, TDMI_KERNEL_LAYER_NORM,
                     &(operands){.x = x, .weight = weight, .bias = bias, .y = y}, epsilon);
}

tdm_status tdm_layer_norm_residual(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                                   const tdm_tensor *bias, double epsilon,
                                   const tdm_tensor *residual, tdm_tensor *sum, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return normalize("tdm_layer_norm_residual", queue, TDMI_KERNEL_LAYER_NORM,
                     &(operands){x, residual, weight, bias, sum, y}, epsilon);
}

tdm_status tdm_rms_norm(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                        double epsilon, const tdm_tensor *residual, tdm_tensor *sum,
                        tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return normalize("tdm_rms_norm", queue, TDMI_KERNEL_RMS_NORM,
                     &(operands){x, residual, weight, NULL, sum, y}, epsilon);
}

tdm_status tdm_l2_normalize(tdm_queue *queue, const tdm_tensor *x, double epsilon, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    TDMI_VERIFY(__func__, queue, args, 2, tdm_l2_normalize(v->queue, v->t[0], epsilon, v->t[1]),
                .kind = TDMI_VERIFY_TERMS)
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(tdmi_check_epsilon(__func__, epsilon, x->dtype));
    tdmi_rows xr, yr;
    TDMI_TRY(tdmi_rows_of_both(__func__, x, y, &xr, &yr));
    if (xr.rows == 0 || xr.cols == 0) return TDM_OK;
    tdm_rows_args kernel_args = {
        .rows = xr.rows,
        .x_offset = x->offset,
        .x_stride = xr.stride,
        .y_offset = y->offset,
        .y_stride = yr.stride,
        .epsilon = tdmi_scalar(epsilon),
    };
    const int64_t places = x->offset | y->offset | tdmi_row_step(xr.rows, xr.stride | yr.stride);
    const tdmi_variant variant =
        tdmi_rows_variant(queue, TDMI_KERNEL_L2_NORMALIZE, 0, x, y, &xr, places);
    const tdmi_mem *mems[] = {tdmi_mem_of(x), NULL, tdmi_mem_of(y)};
    return tdmi_launch_rows(queue, variant, xr.rows, xr.cols, mems, 1, TDM_SUM_NUMBERS,
                            &kernel_args, &kernel_args.cut);
}
