/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* gather_rows and one_hot: rows that indices name. */
#include <math.h>

#include <tandem/arrays.h>

#include "indexed.h"
#include "verify.h"

/* Indices and the rows of y, one for each; then a launch over the pieces of y's rows. */
static tdm_status describe(const char *function, const tdm_tensor *indices, const tdm_tensor *y,
                           tdm_gather_args *args) {
    tdmi_run index, rows;
    int64_t cols;
    TDMI_TRY(tdmi_run_of(function, "indices", indices, 0, indices->ndim, &index));
    TDMI_TRY(tdmi_run_of(function, "y", y, 0, indices->ndim, &rows));
    TDMI_TRY(tdmi_elements_of(function, "y", y, indices->ndim, &cols));
    args->rows = rows.count;
    args->index_offset = indices->offset;
    args->index_stride = index.stride;
    args->y_offset = y->offset;
    args->y_stride = rows.stride;
    args->cols = (tdm_u32)cols;
    args->wide = indices->dtype == TDM_I64;
    return TDM_OK;
}

static tdm_status launch(tdm_queue *queue, tdmi_kernel_id kernel, const tdm_tensor *y,
                         int64_t places, const tdmi_mem *const *mems, tdm_gather_args *args) {
    const size_t size = tdm_dtype_size(y->dtype);
    const uint8_t bits = (uint8_t)tdmi_dtype_bits(y->dtype);
    const tdmi_variant variant = {
        .kernel = (uint8_t)kernel,
        .t = bits,
        .u = bits,
        .vectors =
            tdmi_is_aligned(places | y->offset | tdmi_row_step(args->rows, args->y_stride), size),
        .stream = tdmi_stores(queue, args->rows, args->cols, size, false)};
    return tdmi_launch_cut(queue, variant, args->rows, args->cols, mems, args, &args->chunk,
                           &args->chunks);
}

tdm_status tdm_gather_rows(tdm_queue *queue, const tdm_tensor *table, const tdm_tensor *indices,
                           tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"table", table, TDMI_ARG_MOVED, 0},
                             {"indices", indices, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(__func__, queue, args, 3, tdm_gather_rows(v->queue, v->t[0], v->t[1], v->t[2]),
                .kind = TDMI_VERIFY_MOVED)
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    TDMI_TRY(tdmi_check_indices(__func__, "indices", indices));
    TDMI_TRY(tdmi_check_same_dtype(__func__, "table", table, "y", y));
    TDMI_TRY(tdmi_check_joined_shape(__func__, "y", y, indices, table, 1));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    tdm_gather_args kernel_args = {
        .table_rows = table->shape[0],
        .table_offset = table->offset,
        .table_stride = tdmi_row_step(table->shape[0], table->strides[0]),
        .bits = (tdm_i64)tdmi_element_bits(y->dtype, tdm_dtype_is_float(y->dtype) ? NAN : 0),
    };
    int64_t cols = 0;
    TDMI_TRY(describe(__func__, indices, y, &kernel_args));
    if (table->shape[0] > 0) TDMI_TRY(tdmi_elements_of(__func__, "table", table, 1, &cols));
    const tdmi_mem *mems[] = {tdmi_mem_of(y), tdmi_mem_of(table), tdmi_mem_of(indices)};
    return launch(queue, TDMI_KERNEL_GATHER_ROWS, y, table->offset | kernel_args.table_stride, mems,
                  &kernel_args);
}

tdm_status tdm_one_hot(tdm_queue *queue, const tdm_tensor *indices, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"indices", indices, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(tdmi_check_indices(__func__, "indices", indices));
    const tdm_tensor classes = {.ndim = 1, .shape = {y->shape[y->ndim - 1]}};
    TDMI_TRY(tdmi_check_joined_shape(__func__, "y", y, indices, &classes, 0));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    tdm_gather_args kernel_args = {.bits = (tdm_i64)tdmi_element_bits(y->dtype, 1)};
    TDMI_TRY(describe(__func__, indices, y, &kernel_args));
    const tdmi_mem *mems[] = {tdmi_mem_of(y), tdmi_mem_of(indices)};
    return launch(queue, TDMI_KERNEL_ONE_HOT, y, 0, mems, &kernel_args);
}
