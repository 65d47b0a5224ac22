/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* scatter_add_rows: the indices are sorted, by counting where a group has one lane, so that each row of y finds its
 * own, and adds them up in order. */
#include <tandem/arrays.h>

#include "indexed.h"
#include "sort.h"

static const char function[] = "tdm_scatter_add_rows";

static tdm_status check_shapes(const tdm_tensor *source, const tdm_tensor *indices,
                               const tdm_tensor *y) {
    TDMI_TRY(tdmi_check_indices(function, "indices", indices));
    TDMI_TRY(tdmi_check_joined_shape(function, "source", source, indices, y, 1));
    if (tdm_tensor_get_count(indices) <= INT32_MAX && y->shape[0] <= INT32_MAX) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: y has %lld rows, and there are %lld indices; allowed are fewer than 2^31 "
                     "of each",
                     function, (long long)y->shape[0], (long long)tdm_tensor_get_count(indices));
}

/* The sorted words of all indices. */
static tdm_status sort_indices(tdm_queue *queue, const tdm_tensor *indices, const tdmi_run *run,
                               const tdmi_mem **scratch, tdm_scatter_args *args) {
    TDMI_TRY(tdmi_queue_scratch(queue, tdmi_sort_bytes(indices->dtype, run->count), scratch));
    tdm_sort_args sort = {.rows = 1,
                          .x_offset = indices->offset,
                          .x_step = run->stride,
                          .limit = args->rows,
                          .cols = (tdm_u32)run->count,
                          .keep = (tdm_u32)run->count};
    TDMI_TRY(tdmi_sort_rows(queue, indices->dtype, tdmi_mem_of(indices), *scratch, &sort));
    args->words = sort.from;
    return TDM_OK;
}

/* Lists of indices: each part of the rows is one core's, which reads all indices. */
static tdm_status list_indices(tdm_queue *queue, const tdm_tensor *indices, const tdmi_run *run,
                               const tdmi_mem **scratch, const tdm_scatter_args *args) {
    enum { LEAST_INDICES = 4096, LINE = 64 / sizeof(tdm_i32) };
    const int64_t units = queue->device->facts->info.compute_units;
    const int64_t worth = run->count / LEAST_INDICES + 1, parts = worth < units ? worth : units;
    const int64_t part = ((args->rows + parts - 1) / parts + LINE - 1) / LINE * LINE;
    const tdm_scatter_order_args order = {.rows = args->rows,
                                          .count = run->count,
                                          .parts = (args->rows + part - 1) / part,
                                          .part = part,
                                          .index_offset = indices->offset,
                                          .index_stride = run->stride,
                                          .wide = indices->dtype == TDM_I64};
    const size_t bytes = (size_t)(args->rows + run->count) * sizeof(tdm_i32);
    TDMI_TRY(tdmi_queue_scratch(queue, bytes, scratch));
    const tdmi_mem *const mems[] = {*scratch, tdmi_mem_of(indices)};
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_SCATTER_ORDER, .t = TDM_U32, .u = TDM_U32};
    return tdmi_launch_items(queue, variant, order.parts, run->count, mems, &order);
}

tdm_status tdm_scatter_add_rows(tdm_queue *queue, const tdm_tensor *source,
                                const tdm_tensor *indices, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"source", source, 0, 0},
                             {"indices", indices, TDMI_ARG_MOVED | TDMI_ARG_ANY_DTYPE, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 3));
    TDMI_TRY(check_shapes(source, indices, y));
    if (tdm_tensor_get_count(source) == 0 || tdm_tensor_get_count(y) == 0) return TDM_OK;
    tdmi_run from, of_indices;
    int64_t cols, y_cols;
    TDMI_TRY(tdmi_run_of(function, "indices", indices, 0, indices->ndim, &of_indices));
    TDMI_TRY(tdmi_run_of(function, "source", source, 0, indices->ndim, &from));
    TDMI_TRY(tdmi_elements_of(function, "source", source, indices->ndim, &cols));
    TDMI_TRY(tdmi_elements_of(function, "y", y, 1, &y_cols));
    tdm_scatter_args kernel_args = {
        .rows = y->shape[0],
        .count = of_indices.count,
        .words = -1,
        .source_offset = source->offset,
        .source_stride = from.stride,
        .y_offset = y->offset,
        .y_stride = tdmi_row_step(y->shape[0], y->strides[0]),
        .cols = (tdm_u32)cols,
    };
    const tdmi_mem *mems[] = {tdmi_mem_of(y), tdmi_mem_of(source), NULL};
    if (queue->device->facts->row_loops)
        TDMI_TRY(list_indices(queue, indices, &of_indices, &mems[2], &kernel_args));
    else
        TDMI_TRY(sort_indices(queue, indices, &of_indices, &mems[2], &kernel_args));
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_SCATTER_ADD_ROWS, .t = (uint8_t)y->dtype, .u = (uint8_t)y->dtype};
    return tdmi_launch_cut(queue, variant, kernel_args.rows, cols, mems, &kernel_args,
                           &kernel_args.chunk, &kernel_args.chunks);
}
