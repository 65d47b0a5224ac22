/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A linear layer: its parameters, and its application as one matmul. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tandem/layers.h>

#include "base/dtype.h"
#include "check.h"
#include "ops/bias_add.h"
#include "state_dict.h"

enum { NAME = 512 };

static tdm_status parameter_name(const char *function, const char *prefix, const char *which,
                                 char name[NAME]) {
    TDMI_NOT_NULL(function, prefix);
    if (snprintf(name, NAME, "%s%s", prefix, which) >= NAME)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: prefix has %zu bytes, at most %d",
                         function, strlen(prefix), NAME - 8);
    return TDM_OK;
}

static tdm_status make_parameter(tdm_queue *queue, tdm_generator *generator, double bound,
                                 tdm_dtype dtype, int ndim, const int64_t *shape,
                                 tdm_tensor *parameter) {
    TDMI_TRY(tdm_empty(queue, dtype, ndim, shape, parameter));
    return tdm_fill_uniform(queue, generator, -bound, bound, parameter);
}

tdm_status tdm_linear_create(tdm_queue *queue, tdm_generator *generator, const char *prefix,
                             int64_t in_features, int64_t out_features, bool bias, tdm_dtype dtype,
                             tdm_state_dict *dict) {
    TDMI_UNCANCELLED();
    char weight_name[NAME], bias_name[NAME];
    TDMI_NOT_NULL(__func__, queue);
    TDMI_NOT_NULL(__func__, generator);
    TDMI_NOT_NULL(__func__, dict);
    TDMI_TRY(parameter_name(__func__, prefix, "weight", weight_name));
    TDMI_TRY(parameter_name(__func__, prefix, "bias", bias_name));
    if (in_features < 1 || out_features < 1)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: in_features is %lld and out_features %lld, at least 1", __func__,
                         (long long)in_features, (long long)out_features);
    if (!tdm_dtype_is_float(dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %s, it must be one of %s", __func__,
                         tdm_dtype_name(dtype), tdmi_float_dtypes());
    TDMI_TRY(tdmi_check_computes(__func__, queue->device, "dtype", dtype));
    const int64_t shape[] = {out_features, in_features};
    const double bound = 1 / sqrt((double)in_features);
    /* Both are made before one is set, from a copy of the generator. */
    tdm_generator next = *generator;
    tdm_tensor weight_made = {0}, bias_made = {0};
    tdm_status status = make_parameter(queue, &next, bound, dtype, 2, shape, &weight_made);
    if (status == TDM_OK && bias)
        status = make_parameter(queue, &next, bound, dtype, 1, shape, &bias_made);
    if (status == TDM_OK) status = tdm_state_dict_set(dict, weight_name, &weight_made);
    if (status == TDM_OK && bias) status = tdm_state_dict_set(dict, bias_name, &bias_made);
    tdm_tensor_release(&weight_made);
    tdm_tensor_release(&bias_made);
    if (status != TDM_OK) return tdmi_fail_in(status, "%s", __func__);
    *generator = next;
    return TDM_OK;
}

/* [..., cols] as a matrix, which matmul takes without a batch. */
static tdm_status as_matrix(const char *function, const char *name, const tdm_tensor *x,
                            tdm_tensor *matrix) {
    tdmi_rows rows;
    TDMI_TRY(tdmi_rows_of(function, name, x, &rows));
    *matrix = *x;
    matrix->ndim = 2;
    matrix->shape[0] = rows.rows;
    matrix->shape[1] = rows.cols;
    matrix->strides[0] = rows.stride;
    matrix->strides[1] = 1;
    return TDM_OK;
}

static tdm_status check_shapes(const char *function, const tdm_tensor *x, const tdm_tensor *weight,
                               const tdm_tensor *y) {
    char a[128], b[128];
    int last = x->ndim - 1;
    if (weight->ndim != 2)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of weight is %s, it must be "
                         "[out, in]",
                         function, tdmi_shape_text(weight, a));
    if (x->shape[last] != weight->shape[1])
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: x %s has %lld columns and weight %s has %lld, which must be equal",
                         function, tdmi_shape_text(x, a), (long long)x->shape[last],
                         tdmi_shape_text(weight, b), (long long)weight->shape[1]);
    const int64_t out = weight->shape[0];
    tdm_tensor wanted = *x;
    wanted.shape[last] = out;
    if (tdmi_is_same_shape(y, &wanted)) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: the shape of y is %s; it must be that of x, %s, with %lld as its last "
                     "dimension",
                     function, tdmi_shape_text(y, a), tdmi_shape_text(x, b), (long long)out);
}

tdm_status tdm_linear(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                      const tdm_tensor *bias, tdm_activation activation, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    tdm_tensor x_rows, y_rows;
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"weight", weight, TDMI_ARG_PACKED, 0},
                             {"bias", bias, TDMI_ARG_OPTIONAL, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 4));
    TDMI_TRY(check_shapes(__func__, x, weight, y));
    if (bias) TDMI_TRY(tdmi_check_vector(__func__, "bias", bias, weight->shape[0]));
    TDMI_TRY(tdmi_check_activation(__func__, activation));
    TDMI_TRY(as_matrix(__func__, "x", x, &x_rows));
    TDMI_TRY(as_matrix(__func__, "y", y, &y_rows));
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    options.bias = bias;
    options.activation = activation;
    tdm_status status = tdm_matmul(queue, &options, &x_rows, weight, &y_rows);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}

tdm_status tdm_linear_prepare(tdm_queue *queue, const char *prefix, tdm_state_dict *dict) {
    TDMI_UNCANCELLED();
    char name[NAME];
    tdm_tensor weight, packed;
    TDMI_NOT_NULL(__func__, queue);
    TDMI_TRY(parameter_name(__func__, prefix, "weight", name));
    tdm_status status = tdm_state_dict_get(dict, name, &weight);
    if (status == TDM_OK && weight.buffer->packing != TDMI_NOT_PACKED) return TDM_OK;
    if (status == TDM_OK) status = tdm_pack_weight(queue, &weight, &packed);
    if (status != TDM_OK) return tdmi_fail_in(status, "%s", __func__);
    status = tdm_state_dict_set(dict, name, &packed);
    tdm_tensor_release(&packed);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}

tdm_status tdm_linear_apply(tdm_queue *queue, const tdm_state_dict *dict, const char *prefix,
                            const tdm_tensor *x, tdm_activation activation, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    char name[NAME];
    tdm_tensor weight;
    TDMI_TRY(parameter_name(__func__, prefix, "weight", name));
    tdm_status status = tdm_state_dict_get(dict, name, &weight);
    if (status != TDM_OK) return tdmi_fail_in(status, "%s", __func__);
    TDMI_TRY(parameter_name(__func__, prefix, "bias", name));
    const tdmi_dict_item *bias = tdmi_state_dict_find(dict, name);
    return tdm_linear(queue, x, &weight, bias ? &bias->tensor : NULL, activation, y);
}
