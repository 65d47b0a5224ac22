/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plan of an elementwise kernel over strided tensors of one shape. */
#include "strided.h"

/* Longer inner dimensions are done in several launches: kernels index them with 32 bits. */
static const int64_t MAX_COLS = (int64_t)1 << 30;

/* Dimensions of extent above 1, those with the largest stride in y first, merged where all operands allow it. */
static tdmi_dims find_dims(const tdm_tensor *const operands[3]) {
    const tdm_tensor *y = operands[0];
    tdmi_dims d = {.operands = 3};
    for (int i = 0; i < y->ndim; i++) {
        if (y->shape[i] == 1) continue;
        d.shape[d.count] = y->shape[i];
        for (int k = 0; k < 3; k++)
            d.strides[k][d.count] = operands[k] ? operands[k]->strides[i] : 0;
        d.count++;
    }
    tdmi_dims_sort(&d, 0);
    tdmi_dims_merge(&d, INT64_MAX);
    return d;
}

static void describe(const tdmi_dims *d, const tdm_tensor *const operands[3],
                     tdm_elementwise_args *args) {
    int outer = d->count > 0 ? d->count - 1 : 0;
    args->rows = 1;
    args->outer_ndim = outer;
    args->unit_stride = 1;
    for (int i = 0; i < outer; i++) {
        args->rows *= d->shape[i];
        args->outer_shape[i] = d->shape[i];
    }
    for (int k = 0; k < 3; k++) {
        if (!operands[k]) continue;
        args->offset[k] = operands[k]->offset;
        args->inner_stride[k] = d->count > 0 ? d->strides[k][outer] : 1;
        if (args->inner_stride[k] != 1) args->unit_stride = 0;
        for (int i = 0; i < outer; i++)
            args->outer_stride[k][i] = d->strides[k][i];
    }
}

/* Do all rows of all operands begin at multiples of 16 bytes? */
static bool is_aligned(const tdmi_dims *d, const tdm_tensor *const operands[3]) {
    for (int k = 0; k < 3; k++) {
        if (!operands[k]) continue;
        int64_t places = operands[k]->offset;
        for (int i = 0; i < d->count - 1; i++)
            places |= d->strides[k][i];
        if (!tdmi_is_aligned(places, tdm_dtype_size(operands[k]->dtype))) return false;
    }
    return true;
}

/* Fewer elements to a row or a column are as fast without tiles. */
enum { LEAST_TILE_BYTES = 32 };

/* Is y, in rows that lie along memory, a copy of columns of a that do? Then `row` is y's dimension of these. */
static bool is_transposed(const tdmi_dims *d, tdmi_variant variant, int *row) {
    const int last = d->count - 1;
    const int64_t least = LEAST_TILE_BYTES / (int64_t)tdm_dtype_size((tdm_dtype)variant.t);
    if (variant.kernel != TDMI_KERNEL_CAST || variant.t != variant.u || last < 1) return false;
    for (int i = 0; i < last; i++)
        if (d->strides[1][i] == 1) *row = i;
    return d->strides[0][last] == 1 && d->strides[1][last] != 1 && *row >= 0 &&
           d->shape[last] >= least && d->shape[*row] >= least;
}

static tdm_status run_transposed(tdm_queue *queue, tdmi_variant variant, const tdmi_dims *d,
                                 int row, const tdm_tensor *const operands[3]) {
    const int last = d->count - 1;
    tdm_transpose_args args = {.matrices = 1,
                               .rows = d->shape[row],
                               .cols = d->shape[last],
                               .y_offset = operands[0]->offset,
                               .y_step = d->strides[0][row],
                               .a_offset = operands[1]->offset,
                               .a_step = d->strides[1][last]};
    for (int i = 0; i < last; i++) {
        if (i == row) continue;
        args.matrices *= d->shape[i];
        args.outer_shape[args.outer_ndim] = d->shape[i];
        for (int k = 0; k < 2; k++)
            args.outer_stride[k][args.outer_ndim] = d->strides[k][i];
        args.outer_ndim++;
    }
    const int64_t size = (int64_t)tdm_dtype_size((tdm_dtype)variant.t);
    const int64_t side = TDM_TILE_SIDE(queue->device->facts->row_loops, size);
    variant.kernel = TDMI_KERNEL_TRANSPOSE;
    variant.stream = tdmi_stores(queue, args.matrices * args.rows, args.cols, (size_t)size, false);
    const int64_t tiles = (args.rows + side - 1) / side * ((args.cols + side - 1) / side);
    const tdmi_mem *mems[] = {tdmi_mem_of(operands[0]), tdmi_mem_of(operands[1])};
    return tdmi_launch_items(queue, variant, args.matrices * tiles, side * side, mems, &args);
}

tdm_status tdmi_run_strided(tdm_queue *queue, tdmi_variant variant,
                            const tdm_tensor *const operands[3], tdm_elementwise_args *args) {
    const tdm_tensor *y = operands[0];
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    const tdmi_dims d = find_dims(operands);
    int row = -1;
    if (is_transposed(&d, variant, &row)) return run_transposed(queue, variant, &d, row, operands);
    describe(&d, operands, args);
    int64_t cols = d.count > 0 ? d.shape[d.count - 1] : 1;
    size_t size = tdm_dtype_size(y->dtype);
    /* rows that are copied from their end back are written as others are */
    const bool in_rows =
        args->unit_stride || (variant.kernel == TDMI_KERNEL_CAST && variant.t == variant.u &&
                              args->inner_stride[0] == 1 && args->inner_stride[1] == -1);
    bool in_place = false;
    for (int k = 1; k < 3; k++)
        in_place = in_place || (operands[k] && operands[k]->buffer == y->buffer);
    const tdmi_mem *mems[] = {tdmi_mem_of(y), tdmi_mem_of(operands[1]), tdmi_mem_of(operands[2])};
    for (int64_t begin = 0; begin < cols; begin += MAX_COLS) {
        int64_t part = cols - begin < MAX_COLS ? cols - begin : MAX_COLS;
        variant.stream = tdmi_stores(queue, args->rows, part, size, in_place || !in_rows);
        variant.vectors = args->unit_stride && is_aligned(&d, operands);
        args->cols = (tdm_u32)part;
        TDMI_TRY(tdmi_launch_cut(queue, variant, args->rows, part, mems, args, &args->chunk,
                                 &args->chunks));
        for (int k = 0; k < 3; k++)
            args->offset[k] += part * args->inner_stride[k];
    }
    return TDM_OK;
}

tdm_status tdmi_check_alike(const char *function, tdm_queue *queue, const tdm_tensor *x,
                            const tdm_tensor *y, bool may_be_same) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, may_be_same ? 1u : 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    return tdmi_check_same_dtype(function, "x", x, "y", y);
}

tdm_status tdmi_copy_into(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *y) {
    tdm_elementwise_args args = {.alpha = tdmi_scalar(1)};
    const tdm_tensor *operands[3] = {y, x, NULL};
    /* another operation may have begun since y was checked */
    TDMI_TRY(tdmi_order(queue, y->buffer, true));
    return tdmi_run_strided(queue, tdmi_cast_variant(y->dtype, x->dtype), operands, &args);
}
