/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* sort and argsort: rows sorted as words, by merging. */
#include "sort.h"

#include <math.h>

#include <tandem/arrays.h>

#include "indexed.h"
#include "strided.h"

enum { PIECE_OF_ONE = 4096, PIECE_OF_MANY = 16, LANES = 256, ELEMENTS_PER_LANE = 4 };

static bool has_row_loops(const tdm_queue *queue) { return queue->device->facts->row_loops; }

/* Work for lanes that each take a unit of it at a time. */
static tdm_status launch_units(tdm_queue *queue, tdmi_kernel_id kernel, tdm_dtype t, int64_t units,
                               const tdmi_mem *const *mems, const tdm_sort_args *args) {
    const tdmi_variant variant = {.kernel = (uint8_t)kernel, .t = (uint8_t)t, .u = (uint8_t)t};
    const int64_t lanes =
        queue->device->facts->max_lanes < LANES ? queue->device->facts->max_lanes : LANES;
    const int64_t cols = has_row_loops(queue) ? args->piece : LANES * ELEMENTS_PER_LANE;
    return tdmi_launch_items(queue, variant, (units + lanes - 1) / lanes, cols, mems, args);
}

static tdm_status make_keys(tdm_queue *queue, tdm_dtype t, const tdmi_mem *x,
                            const tdmi_mem *scratch, tdm_sort_args *args) {
    const tdmi_mem *mems[] = {scratch, x};
    args->piece = args->run = TDM_SORT_RUN;
    const int64_t runs = ((int64_t)args->cols + TDM_SORT_RUN - 1) / TDM_SORT_RUN;
    return launch_units(queue, TDMI_KERNEL_SORT_KEYS, t, args->rows * runs, mems, args);
}

tdm_status tdmi_merge_runs(tdm_queue *queue, const tdmi_mem *scratch, int64_t spare, int64_t keep,
                           tdm_sort_args *args) {
    tdm_sort_args pass = *args;
    pass.from = args->to;
    pass.to = spare;
    pass.keep = (tdm_u32)keep;
    pass.piece = has_row_loops(queue) ? PIECE_OF_ONE : PIECE_OF_MANY;
    for (int64_t run = args->run; run < args->cols; run *= 2) {
        const int64_t pairs = (args->cols + 2 * run - 1) / (2 * run);
        const int64_t kept = 2 * run < keep ? 2 * run : keep;
        const int64_t pieces = (kept + pass.piece - 1) / pass.piece;
        pass.run = (tdm_u32)run;
        TDMI_TRY(launch_units(queue, TDMI_KERNEL_SORT_MERGE, TDM_U64, args->rows * pairs * pieces,
                              &scratch, &pass));
        const tdm_i64 swapped = pass.to;
        pass.to = pass.from;
        pass.from = swapped;
    }
    args->from = pass.from;
    return TDM_OK;
}

static bool sorts_twice(tdm_dtype dtype, const tdm_sort_args *args) {
    return tdm_dtype_size(dtype) == sizeof(uint64_t) && args->limit == 0;
}

size_t tdmi_sort_bytes(tdm_dtype dtype, int64_t words) {
    const uint64_t areas = tdm_dtype_size(dtype) == sizeof(uint64_t) ? 3 : 2;
    return tdmi_words_bytes(areas * (uint64_t)words);
}

tdm_status tdmi_sort_rows(tdm_queue *queue, tdm_dtype dtype, const tdmi_mem *x,
                          const tdmi_mem *scratch, tdm_sort_args *args) {
    const tdm_dtype t = tdmi_dtype_bits(dtype);
    const int64_t area = args->rows * args->cols;
    const bool twice = sorts_twice(dtype, args);
    args->second = 0;
    args->to = args->order = 0;
    TDMI_TRY(make_keys(queue, t, x, scratch, args));
    TDMI_TRY(tdmi_merge_runs(queue, scratch, area, twice ? args->cols : args->keep, args));
    if (!twice) return TDM_OK;
    args->order = args->from;
    args->second = 1;
    args->to = 2 * area;
    TDMI_TRY(make_keys(queue, t, x, scratch, args));
    return tdmi_merge_runs(queue, scratch, area - args->order, args->keep, args);
}

tdm_status tdmi_sorting_of(const char *function, const tdm_tensor *x, bool descending, int64_t keep,
                           const tdm_tensor *values, const tdm_tensor *indices,
                           tdmi_sorting *sorting) {
    tdmi_rows xr, vr = {0}, ir = {0};
    TDMI_TRY(tdmi_rows_of(function, "x", x, &xr));
    if (values) TDMI_TRY(tdmi_rows_of(function, "values", values, &vr));
    if (indices) TDMI_TRY(tdmi_rows_of(function, "indices", indices, &ir));
    const bool is_float = tdm_dtype_is_float(x->dtype);
    *sorting = (tdmi_sorting){
        .x = x,
        .values = values,
        .indices = indices,
        .rows = xr.rows,
        .cols = xr.cols,
        .keep = keep,
        .args = {.x_offset = x->offset,
                 .x_stride = xr.stride,
                 .x_step = 1,
                 .values_offset = values ? values->offset : 0,
                 .values_stride = vr.stride,
                 .indices_offset = indices ? indices->offset : 0,
                 .indices_stride = ir.stride,
                 .infinity = is_float ? (tdm_i64)tdmi_element_bits(x->dtype, INFINITY) : 0,
                 .cols = (tdm_u32)xr.cols,
                 .keep = (tdm_u32)keep,
                 .kind = (tdm_i32)tdmi_dtype_kind_of(x->dtype),
                 .descending = descending,
                 .wide = indices && indices->dtype == TDM_I64,
                 .has_values = values ? 1 : 0,
                 .has_indices = indices ? 1 : 0}};
    return TDM_OK;
}

tdm_status tdmi_take_sorted(tdm_queue *queue, const tdmi_mem *scratch, tdmi_sorting *sorting) {
    tdm_sort_args *const args = &sorting->args;
    const uint8_t bits = (uint8_t)tdmi_dtype_bits(sorting->x->dtype);
    const tdmi_variant take = {.kernel = TDMI_KERNEL_SORT_TAKE, .t = bits, .u = bits};
    const tdmi_mem *mems[] = {tdmi_mem_of(sorting->indices), tdmi_mem_of(sorting->values),
                              tdmi_mem_of(sorting->x), scratch};
    const tdmi_pieces pieces = tdmi_cut_rows(queue, args->rows, sorting->keep, sizeof(uint64_t));
    args->piece = pieces.chunk;
    TDMI_TRY(tdmi_launch_items(queue, take, args->rows * pieces.chunks, pieces.chunk, mems, args));
    args->x_offset += args->rows * args->x_stride;
    args->values_offset += args->rows * args->values_stride;
    args->indices_offset += args->rows * args->indices_stride;
    return TDM_OK;
}

tdm_status tdmi_sort_and_take(tdm_queue *queue, tdmi_sorting *sorting) {
    const int64_t rows = sorting->rows, cols = sorting->cols;
    if (rows == 0 || cols == 0 || sorting->keep == 0) return TDM_OK;
    const int64_t fitting = TDMI_SLAB_WORDS / cols > 0 ? TDMI_SLAB_WORDS / cols : 1;
    const int64_t slab = fitting < rows ? fitting : rows;
    const tdm_dtype dtype = sorting->x->dtype;
    const tdmi_mem *scratch;
    TDMI_TRY(tdmi_queue_scratch(queue, tdmi_sort_bytes(dtype, slab * cols), &scratch));
    for (int64_t row = 0; row < rows; row += slab) {
        sorting->args.rows = rows - row < slab ? rows - row : slab;
        TDMI_TRY(tdmi_sort_rows(queue, dtype, tdmi_mem_of(sorting->x), scratch, &sorting->args));
        TDMI_TRY(tdmi_take_sorted(queue, scratch, sorting));
    }
    return TDM_OK;
}

tdm_status tdm_sort(tdm_queue *queue, const tdm_tensor *x, bool descending, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    tdmi_sorting sorting;
    TDMI_TRY(tdmi_sorting_of(__func__, x, descending, x->shape[x->ndim - 1], y, NULL, &sorting));
    return tdmi_sort_and_take(queue, &sorting);
}

tdm_status tdm_argsort(tdm_queue *queue, const tdm_tensor *x, bool descending,
                       tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"indices", indices, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 2));
    TDMI_TRY(tdmi_check_indices(__func__, "indices", indices));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "indices", indices));
    tdmi_sorting sorting;
    TDMI_TRY(
        tdmi_sorting_of(__func__, x, descending, x->shape[x->ndim - 1], NULL, indices, &sorting));
    return tdmi_sort_and_take(queue, &sorting);
}
