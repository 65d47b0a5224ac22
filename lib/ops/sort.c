/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* argsort and top_k: rows sorted as words, by merging. */
#include "sort.h"

#include <math.h>

#include <tandem/arrays.h>

#include "indexed.h"

enum { PIECE_OF_ONE = 4096, PIECE_OF_MANY = 16, LANES = 256, ELEMENTS_PER_LANE = 4 };

/* So many rows at a time that their words take no more than this, if one row's do not. */
static const int64_t SLAB_WORDS = (int64_t)1 << 24;

static bool has_one_lane(const tdm_queue *queue) { return queue->device->facts->max_lanes == 1; }

/* Work for lanes that each take a unit of it at a time. */
static tdm_status launch_units(tdm_queue *queue, tdmi_kernel_id kernel, tdm_dtype t, int64_t units,
                               const tdmi_mem *const *mems, const tdm_sort_args *args) {
    const tdmi_variant variant = {.kernel = (uint8_t)kernel, .t = (uint8_t)t, .u = (uint8_t)t};
    const int64_t lanes =
        queue->device->facts->max_lanes < LANES ? queue->device->facts->max_lanes : LANES;
    const int64_t cols = has_one_lane(queue) ? args->piece : LANES * ELEMENTS_PER_LANE;
    return tdmi_launch_items(queue, variant, (units + lanes - 1) / lanes, cols, mems, args);
}

static tdm_status make_keys(tdm_queue *queue, tdm_dtype t, const tdmi_mem *x,
                            const tdmi_mem *scratch, tdm_sort_args *args) {
    const tdmi_mem *mems[] = {scratch, x};
    args->piece = TDM_SORT_RUN;
    const int64_t runs = ((int64_t)args->cols + TDM_SORT_RUN - 1) / TDM_SORT_RUN;
    return launch_units(queue, TDMI_KERNEL_SORT_KEYS, t, args->rows * runs, mems, args);
}

/* The sorted words are at args->from; `spare` is where they may be in between. */
static tdm_status merge(tdm_queue *queue, const tdmi_mem *scratch, int64_t spare, int64_t keep,
                        tdm_sort_args *args) {
    tdm_sort_args pass = *args;
    pass.from = args->to;
    pass.to = spare;
    pass.keep = (tdm_u32)keep;
    pass.piece = has_one_lane(queue) ? PIECE_OF_ONE : PIECE_OF_MANY;
    for (int64_t run = TDM_SORT_RUN; run < args->cols; run *= 2) {
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
    const size_t areas = tdm_dtype_size(dtype) == sizeof(uint64_t) ? 3 : 2;
    return areas * (size_t)words * sizeof(uint64_t);
}

tdm_status tdmi_sort_rows(tdm_queue *queue, tdm_dtype dtype, const tdmi_mem *x,
                          const tdmi_mem *scratch, tdm_sort_args *args) {
    const tdm_dtype t = tdmi_dtype_bits(dtype);
    const int64_t area = args->rows * args->cols;
    const bool twice = sorts_twice(dtype, args);
    args->second = 0;
    args->to = args->order = 0;
    TDMI_TRY(make_keys(queue, t, x, scratch, args));
    TDMI_TRY(merge(queue, scratch, area, twice ? args->cols : args->keep, args));
    if (!twice) return TDM_OK;
    args->order = args->from;
    args->second = 1;
    args->to = 2 * area;
    TDMI_TRY(make_keys(queue, t, x, scratch, args));
    return merge(queue, scratch, area - args->order, args->keep, args);
}

/* The first `keep` of each row, as whose numbers and as which values; either may be NULL. */
static tdm_status sort_and_take(const char *function, tdm_queue *queue, const tdm_tensor *x,
                                bool descending, int64_t keep, const tdm_tensor *values,
                                const tdm_tensor *indices) {
    tdmi_rows xr, vr = {0}, ir = {0};
    TDMI_TRY(tdmi_rows_of(function, "x", x, &xr));
    if (values) TDMI_TRY(tdmi_rows_of(function, "values", values, &vr));
    if (indices) TDMI_TRY(tdmi_rows_of(function, "indices", indices, &ir));
    if (xr.rows == 0 || xr.cols == 0 || keep == 0) return TDM_OK;
    const int64_t fitting = SLAB_WORDS / xr.cols > 0 ? SLAB_WORDS / xr.cols : 1;
    const int64_t slab = fitting < xr.rows ? fitting : xr.rows;
    const tdmi_mem *scratch;
    TDMI_TRY(tdmi_queue_scratch(queue, tdmi_sort_bytes(x->dtype, slab * xr.cols), &scratch));
    const bool is_float = tdm_dtype_is_float(x->dtype);
    tdm_sort_args args = {
        .x_offset = x->offset,
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
        .has_indices = indices ? 1 : 0,
    };
    const uint8_t bits = (uint8_t)tdmi_dtype_bits(x->dtype);
    const tdmi_variant take = {.kernel = TDMI_KERNEL_SORT_TAKE, .t = bits, .u = bits};
    const tdmi_mem *mems[] = {tdmi_mem_of(indices), tdmi_mem_of(values), tdmi_mem_of(x), scratch};
    for (int64_t row = 0; row < xr.rows; row += slab) {
        args.rows = xr.rows - row < slab ? xr.rows - row : slab;
        TDMI_TRY(tdmi_sort_rows(queue, x->dtype, tdmi_mem_of(x), scratch, &args));
        const tdmi_pieces pieces = tdmi_cut_rows(queue, args.rows, keep, sizeof(uint64_t));
        args.piece = pieces.chunk;
        TDMI_TRY(
            tdmi_launch_items(queue, take, args.rows * pieces.chunks, pieces.chunk, mems, &args));
        args.x_offset += slab * xr.stride;
        args.values_offset += slab * vr.stride;
        args.indices_offset += slab * ir.stride;
    }
    return TDM_OK;
}

tdm_status tdm_argsort(tdm_queue *queue, const tdm_tensor *x, bool descending,
                       tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_argsort";
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"indices", indices, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    TDMI_TRY(tdmi_check_indices(function, "indices", indices));
    TDMI_TRY(tdmi_check_same_shape(function, "x", x, "indices", indices));
    return sort_and_take(function, queue, x, descending, x->shape[x->ndim - 1], NULL, indices);
}

/* An output of top_k: x's shape but for its last dimension, which gives k. */
static tdm_status check_kept(const char *function, const char *name, const tdm_tensor *kept,
                             const tdm_tensor *x, int64_t *k) {
    const int last = x->ndim - 1;
    tdm_tensor wanted = *x;
    if (kept->ndim == x->ndim) wanted.shape[last] = kept->shape[last];
    if (*k >= 0) wanted.shape[last] = *k;
    TDMI_TRY(tdmi_check_same_shape(function, name, kept, "what is kept of x", &wanted));
    *k = wanted.shape[last];
    if (*k <= x->shape[last]) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: %s has %lld elements of each row, but x has %lld", function, name,
                     (long long)*k, (long long)x->shape[last]);
}

tdm_status tdm_top_k(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *values,
                     tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    static const char function[] = "tdm_top_k";
    const unsigned output = TDMI_ARG_MOVED | TDMI_ARG_OUTPUT | TDMI_ARG_OPTIONAL;
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"values", values, output, 0},
                             {"indices", indices, output, 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 3));
    int64_t k = -1;
    if (!values && !indices)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: values and indices are both NULL",
                         function);
    if (values && values->dtype != x->dtype)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                         "%s: the dtype of values is %s, but that of x is %s; tdm_cast converts",
                         function, tdm_dtype_name(values->dtype), tdm_dtype_name(x->dtype));
    if (values) TDMI_TRY(check_kept(function, "values", values, x, &k));
    if (indices) TDMI_TRY(tdmi_check_indices(function, "indices", indices));
    if (indices) TDMI_TRY(check_kept(function, "indices", indices, x, &k));
    return sort_and_take(function, queue, x, true, k, values, indices);
}
