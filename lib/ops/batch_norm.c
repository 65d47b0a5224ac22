/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation at inference. */
#include "launch.h"

static tdm_status check_shapes(const char *function, const tdm_tensor *x, const tdm_tensor *y,
                               const tdmi_arg *vectors, int count) {
    char text[128];
    if (x->ndim < 2)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of x is %s, it must be [N, C, ...]", function,
                         tdmi_shape_text(x, text));
    TDMI_TRY(tdmi_check_same_shape(function, "x", x, "y", y));
    for (int i = 0; i < count; i++)
        if (vectors[i].tensor)
            TDMI_TRY(tdmi_check_vector(function, vectors[i].name, vectors[i].tensor, x->shape[1]));
    const tdm_tensor *const both[] = {x, y};
    for (int i = 0; i < 2; i++)
        if (!tdm_tensor_is_contiguous(both[i]))
            return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                             "%s: %s is not contiguous; tdm_cast copies it into a tensor that is",
                             function, i ? "y" : "x");
    return TDM_OK;
}

tdm_status tdm_batch_norm(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *mean,
                          const tdm_tensor *variance, const tdm_tensor *weight,
                          const tdm_tensor *bias, double epsilon, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"mean", mean, 0, 0},
                             {"variance", variance, 0, 0},
                             {"weight", weight, TDMI_ARG_OPTIONAL, 0},
                             {"bias", bias, TDMI_ARG_OPTIONAL, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 6));
    TDMI_TRY(tdmi_check_epsilon(__func__, epsilon, x->dtype));
    TDMI_TRY(check_shapes(__func__, x, y, args + 1, 4));
    if (tdm_tensor_get_count(x) == 0) return TDM_OK;
    int64_t channels = x->shape[1], spatial = 1;
    for (int i = 2; i < x->ndim; i++)
        spatial *= x->shape[i];
    bool by_column = spatial == 1;
    int64_t rows = by_column ? x->shape[0] : x->shape[0] * channels;
    int64_t cols = by_column ? channels : spatial;
    if (cols > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: x has %lld elements in a channel, allowed are fewer than 2^31",
                         __func__, (long long)cols);
    size_t size = tdm_dtype_size(x->dtype);
    tdm_batch_norm_args kernel_args = {
        .rows = rows,
        .channels = channels,
        .x_offset = x->offset,
        .mean_offset = mean->offset,
        .variance_offset = variance->offset,
        .weight_offset = weight ? weight->offset : 0,
        .bias_offset = bias ? bias->offset : 0,
        .y_offset = y->offset,
        .epsilon = tdmi_scalar(epsilon),
        .cols = (tdm_u32)cols,
    };
    tdmi_variant variant = {
        .kernel = by_column ? TDMI_KERNEL_BATCH_NORM_COLS : TDMI_KERNEL_BATCH_NORM,
        .t = (uint8_t)x->dtype,
        .u = (uint8_t)x->dtype,
        .op = (uint8_t)((weight ? TDM_OP_WEIGHT : 0u) | (bias ? TDM_OP_BIAS : 0u)),
        .stream = tdmi_stores(queue, rows, cols, size, x->buffer == y->buffer),
    };
    int64_t places = x->offset | y->offset | tdmi_row_step(rows, cols);
    if (by_column)
        places |= kernel_args.mean_offset | kernel_args.variance_offset |
                  kernel_args.weight_offset | kernel_args.bias_offset;
    variant.vectors = tdmi_is_aligned(places, size);
    const tdmi_mem *mems[] = {tdmi_mem_of(x),      tdmi_mem_of(mean), tdmi_mem_of(variance),
                              tdmi_mem_of(weight), tdmi_mem_of(bias), tdmi_mem_of(y)};
    return tdmi_launch_cut(queue, variant, rows, cols, mems, &kernel_args, &kernel_args.chunk,
                           &kernel_args.chunks);
}
