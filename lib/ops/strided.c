/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plan of an elementwise kernel over strided tensors of one shape. */
#include "strided.h"

/* Longer inner dimensions are done in several launches: kernels index them with 32 bits. */
static const int64_t MAX_COLS = (int64_t)1 << 30;

typedef struct dims {
    int count;
    int64_t shape[TDM_MAX_DIMS];
    int64_t strides[3][TDM_MAX_DIMS];
} dims;

static void swap_dims(dims *d, int i, int j) {
    int64_t shape = d->shape[i];
    d->shape[i] = d->shape[j];
    d->shape[j] = shape;
    for (int k = 0; k < 3; k++) {
        int64_t stride = d->strides[k][i];
        d->strides[k][i] = d->strides[k][j];
        d->strides[k][j] = stride;
    }
}

/* Dimensions of extent above 1, those with the largest stride in y first. */
static dims sorted_dims(const tdm_tensor *const operands[3]) {
    const tdm_tensor *y = operands[0];
    dims d = {0};
    for (int i = 0; i < y->ndim; i++) {
        if (y->shape[i] == 1) continue;
        d.shape[d.count] = y->shape[i];
        for (int k = 0; k < 3; k++)
            d.strides[k][d.count] = operands[k] ? operands[k]->strides[i] : 0;
        d.count++;
    }
    for (int i = 1; i < d.count; i++)
        for (int j = i; j > 0 && d.strides[0][j - 1] < d.strides[0][j]; j--)
            swap_dims(&d, j - 1, j);
    return d;
}

static bool can_merge(const dims *d, int i, const tdm_tensor *const operands[3]) {
    for (int k = 0; k < 3; k++)
        if (operands[k] && d->strides[k][i] != d->strides[k][i + 1] * d->shape[i + 1]) return false;
    return true;
}

static void merge_dims(dims *d, const tdm_tensor *const operands[3]) {
    for (int i = d->count - 2; i >= 0; i--) {
        if (!can_merge(d, i, operands)) continue;
        d->shape[i] *= d->shape[i + 1];
        for (int k = 0; k < 3; k++)
            d->strides[k][i] = d->strides[k][i + 1];
        for (int j = i + 1; j + 1 < d->count; j++)
            swap_dims(d, j, j + 1);
        d->count--;
    }
}

static void describe(const dims *d, const tdm_tensor *const operands[3],
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
static bool is_aligned(const dims *d, const tdm_tensor *const operands[3]) {
    for (int k = 0; k < 3; k++) {
        if (!operands[k]) continue;
        int64_t places = operands[k]->offset;
        for (int i = 0; i < d->count - 1; i++)
            places |= d->strides[k][i];
        if (!tdmi_is_aligned(places, tdm_dtype_size(operands[k]->dtype))) return false;
    }
    return true;
}

tdm_status tdmi_run_strided(tdm_queue *queue, tdmi_variant variant,
                            const tdm_tensor *const operands[3], tdm_elementwise_args *args) {
    const tdm_tensor *y = operands[0];
    if (tdm_tensor_count(y) == 0) return TDM_OK;
    dims d = sorted_dims(operands);
    merge_dims(&d, operands);
    describe(&d, operands, args);
    int64_t cols = d.count > 0 ? d.shape[d.count - 1] : 1;
    size_t size = tdm_dtype_size(y->dtype);
    bool in_place = false;
    for (int k = 1; k < 3; k++)
        in_place = in_place || (operands[k] && operands[k]->buffer == y->buffer);
    const tdmi_mem *mems[] = {tdmi_mem_of(y), tdmi_mem_of(operands[1]), tdmi_mem_of(operands[2])};
    for (int64_t begin = 0; begin < cols; begin += MAX_COLS) {
        int64_t part = cols - begin < MAX_COLS ? cols - begin : MAX_COLS;
        tdmi_pieces pieces = tdmi_cut_rows(queue, args->rows, part, size);
        variant.stream = tdmi_stores(queue, args->rows, part, size, in_place || !args->unit_stride);
        variant.vectors = args->unit_stride && is_aligned(&d, operands);
        args->cols = (tdm_u32)part;
        args->chunk = pieces.chunk;
        args->chunks = pieces.chunks;
        TDMI_TRY(tdmi_launch_items(queue, variant, args->rows * pieces.chunks, pieces.chunk, mems,
                                   args));
        for (int k = 0; k < 3; k++)
            args->offset[k] += part * args->inner_stride[k];
    }
    return TDM_OK;
}
