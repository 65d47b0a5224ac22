/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms of tensors and of rows. Long rows are cut into pieces whose partial results are combined by
 * a second kernel. */
#include "launch.h"
#include "temporary.h"

static tdm_status check_kind(const char *function, tdm_norm_kind kind) {
    if ((unsigned)kind >= TDM_NORM_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: kind is %d, allowed are TDM_NORM_L1, TDM_NORM_L2 and TDM_NORM_INF",
                         function, (int)kind);
    return TDM_OK;
}

static tdm_status check_out_dtype(const char *function, const tdm_tensor *x,
                                  const tdm_tensor *out) {
    bool narrow = x->dtype == TDM_F16 || x->dtype == TDM_BF16;
    if (out->dtype == x->dtype || (narrow && out->dtype == TDM_F32)) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                     "%s: the dtype of out is %s, for x of %s it must be %s%s", function,
                     tdm_dtype_name(out->dtype), tdm_dtype_name(x->dtype), tdm_dtype_name(x->dtype),
                     narrow ? " or f32" : "");
}

/* Norms of `rows` rows into adjacent elements of out. */
static tdm_status norm_rows(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x,
                            tdmi_rows rows, const tdm_tensor *out) {
    const size_t size = tdm_dtype_size(x->dtype);
    tdm_norm_args kernel_args = {
        .rows = rows.rows,
        .x_offset = x->offset,
        .x_stride = rows.stride,
        .out_offset = out->offset,
        .cut = tdmi_cut_chunks(queue, rows.rows, rows.cols, 0, size),
    };
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_NORM,
        .t = (uint8_t)x->dtype,
        .u = (uint8_t)out->dtype,
        .op = (uint8_t)kind,
        .stream = tdmi_stores(queue, rows.rows, rows.cols, size, true),
        .vectors = tdmi_reduced_vectors(x->offset | tdmi_row_step(rows.rows, rows.stride), size)};
    tdm_cut *const cut = &kernel_args.cut;
    const tdmi_mem *mems[] = {tdmi_mem_of(x), NULL, tdmi_mem_of(out)};
    if (cut->pieces == 1)
        return tdmi_launch_items(queue, variant, rows.rows, rows.cols, mems, &kernel_args);
    const size_t state = 2 * (x->dtype == TDM_F64 ? sizeof(double) : sizeof(float));
    TDMI_TRY(tdmi_queue_scratch(queue, (size_t)rows.rows * cut->chunks * state, &mems[1]));
    cut->phase = TDM_ROWS_SUMS;
    TDMI_TRY(
        tdmi_launch_groups(queue, variant, rows.rows * cut->pieces, rows.cols, mems, &kernel_args));
    cut->phase = TDM_ROWS_WRITES;
    cut->pieces = 1;
    return tdmi_launch_items(queue, variant, rows.rows, rows.cols, mems, &kernel_args);
}

static tdm_status fill_zero(tdm_queue *queue, tdm_tensor *out) {
    return tdm_tensor_count(out) == 0 ? TDM_OK : tdm_fill(queue, 0, out);
}

tdm_status tdm_row_norm(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x,
                        tdm_tensor *out) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"out", out, TDMI_ARG_OUTPUT | TDMI_ARG_ANY_DTYPE, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(check_kind(__func__, kind));
    TDMI_TRY(check_out_dtype(__func__, x, out));
    bool fits = x->ndim == 1 ? tdm_tensor_count(out) == 1 : out->ndim == x->ndim - 1;
    for (int i = 0; fits && x->ndim > 1 && i < out->ndim; i++)
        fits = out->shape[i] == x->shape[i];
    if (!fits) {
        char x_text[128], out_text[128];
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of out is %s, it must be that of x, %s, without its last "
                         "dimension",
                         __func__, tdmi_shape_text(out, out_text), tdmi_shape_text(x, x_text));
    }
    if (!tdm_tensor_is_contiguous(out))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: out is not contiguous", __func__);
    tdmi_rows rows;
    TDMI_TRY(tdmi_rows_of(__func__, "x", x, &rows));
    if (rows.rows == 0 || rows.cols == 0) return fill_zero(queue, out);
    return norm_rows(queue, kind, x, rows, out);
}

/* The norm of the norms: for L1 and L2 the norm of a vector of row norms is the norm of all, and so
 * it is for the infinity norm. Used when the rows of x do not lie end to end. */
/* Of one row; to the dtype of a narrower x it is rounded once. */
static tdm_status norm_of_row(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *row,
                              const tdm_tensor *out) {
    const tdmi_rows one = {1, row->shape[0], row->shape[0]};
    if (out->dtype == row->dtype) return norm_rows(queue, kind, row, one, out);
    const int64_t single = 1;
    tdm_tensor result, flat_out = tdm_tensor_1d(out->buffer, out->dtype, 1);
    flat_out.offset = out->offset;
    TDMI_TRY(tdmi_temporary(queue, row->dtype, 1, &single, &result));
    tdm_status status = norm_rows(queue, kind, row, one, &result);
    if (status == TDM_OK) status = tdm_cast(queue, &result, &flat_out);
    tdm_tensor_release(&result);
    return status;
}

static tdm_status norm_of_row_norms(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x,
                                    tdmi_rows rows, const tdm_tensor *out) {
    tdm_tensor norms;
    TDMI_TRY(tdmi_temporary(queue, x->dtype == TDM_F64 ? TDM_F64 : TDM_F32, 1, &rows.rows, &norms));
    tdm_status status = norm_rows(queue, kind, x, rows, &norms);
    if (status == TDM_OK) status = norm_of_row(queue, kind, &norms, out);
    tdm_tensor_release(&norms);
    return status;
}

tdm_status tdm_norm(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x, tdm_tensor *out) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0}, {"out", out, TDMI_ARG_OUTPUT | TDMI_ARG_ANY_DTYPE, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(check_kind(__func__, kind));
    TDMI_TRY(check_out_dtype(__func__, x, out));
    char text[128];
    if (tdm_tensor_count(out) != 1)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: the shape of out is %s, it must be [1]",
                         __func__, tdmi_shape_text(out, text));
    int64_t count = tdm_tensor_count(x);
    if (count == 0) return fill_zero(queue, out);
    if (tdm_tensor_is_contiguous(x) && count <= INT32_MAX)
        return norm_rows(queue, kind, x, (tdmi_rows){1, count, count}, out);
    tdmi_rows rows;
    TDMI_TRY(tdmi_rows_of(__func__, "x", x, &rows));
    if (rows.rows > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: x has %lld rows, allowed are fewer than 2^31",
                         __func__, (long long)rows.rows);
    return norm_of_row_norms(queue, kind, x, rows, out);
}
