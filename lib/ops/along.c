/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations made of expressions and other operations: triangles, isin, differences and elements that indices name
 * along a dimension. */
#include <tandem/arrays.h>

#include "elementwise.h"
#include "indexed.h"
#include "reduce.h"
#include "strided.h"
#include "temporary.h"

static tdm_status triangle(const char *function, tdm_queue *queue, int which, const char *text,
                           const tdm_tensor *x, int64_t diagonal, const tdm_tensor *y) {
    TDMI_TRY(tdmi_check_alike(function, queue, x, y, true));
    TDMI_TRY(tdmi_check_same_shape(function, "x", x, "y", y));
    if (x->ndim < 2)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: x has one dimension, a matrix has at least two", function);
    tdm_tensor from = *x, to = *y; /* by their bits: of any dtype, and on any device */
    from.dtype = to.dtype = tdmi_dtype_bits(x->dtype);
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &from),
                                      TDM_WITH_INTEGER("rows", x->shape[x->ndim - 2]),
                                      TDM_WITH_INTEGER("k", diagonal), TDM_WITH_TENSOR("y", &to)};
    return tdmi_call_texts(function, queue, which, &(tdmi_texts){.statements = text}, arguments, 4,
                           1u << 1 | 1u << 2, TDM_PARAMETER_INTEGER);
}

tdm_status tdm_tril(tdm_queue *queue, const tdm_tensor *x, int64_t diagonal, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return triangle("tdm_tril", queue, TDMI_TRIL, "y = column - row % rows <= k ? x : 0", x,
                    diagonal, y);
}

tdm_status tdm_triu(tdm_queue *queue, const tdm_tensor *x, int64_t diagonal, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return triangle("tdm_triu", queue, TDMI_TRIU, "y = column - row % rows >= k ? x : 0", x,
                    diagonal, y);
}

tdm_status tdm_isin(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *values,
                    tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const tdmi_texts texts = {.map = "x == v", .finish = "r > 0", .combine = TDM_MAX};
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_ANY_DTYPE, 0},
                             {"values", values, TDMI_ARG_ANY_DTYPE, 0},
                             {"y", y, TDMI_ARG_ANY_DTYPE | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    TDMI_TRY(tdmi_check_same_shape(__func__, "x", x, "y", y));
    if (values->ndim != 1 || x->ndim == TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: x has %d dimensions and values %d, allowed are %d at most and 1",
                         __func__, x->ndim, values->ndim, TDM_MAX_DIMS - 1);
    tdm_tensor rows = *x; /* each element with all values */
    rows.shape[rows.ndim] = 1;
    rows.strides[rows.ndim++] = 1;
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &rows), TDM_WITH_TENSOR("v", values),
                                      TDM_WITH_TENSOR("y", y)};
    return tdmi_call_texts(__func__, queue, TDMI_IS_IN, &texts, arguments, 3, 0,
                           TDM_PARAMETER_TENSOR);
}

/* to[.., i, ..] = x[.., i + 1, ..] - x[.., i, ..] */
static tdm_status difference(const char *function, tdm_queue *queue, const tdm_tensor *x, int dim,
                             const tdm_tensor *to) {
    tdm_tensor next = *x, now = *x;
    next.offset += x->strides[dim];
    next.shape[dim] = now.shape[dim] = to->shape[dim];
    if (tdm_dtype_is_float(x->dtype))
        return tdmi_combine_alike(function, queue, TDM_OP_SUB, &next, &now, to);
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("a", &next), TDM_WITH_TENSOR("b", &now),
                                      TDM_WITH_TENSOR("y", to)};
    return tdmi_call_texts(function, queue, TDM_FUNCTION_SUB,
                           &(tdmi_texts){.statements = "y = a - b"}, arguments, 3, 0,
                           TDM_PARAMETER_TENSOR);
}

tdm_status tdm_diff(tdm_queue *queue, const tdm_tensor *x, int dim, int64_t n, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_check_alike(__func__, queue, x, y, false));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_INVALID_ARGUMENT, "dim", &dim, x->ndim));
    if (n < 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: n is %lld, at least 0", __func__,
                         (long long)n);
    tdm_tensor left = *x;
    left.shape[dim] = n < x->shape[dim] ? x->shape[dim] - n : 0;
    TDMI_TRY(tdmi_check_same_shape(__func__, "what is left of x", &left, "y", y));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    if (n == 0) return tdmi_copy_into(queue, x, y);
    tdm_tensor from = tdm_tensor_retain(x), to;
    tdm_status status = TDM_OK;
    for (; n > 0 && status == TDM_OK; n--) {
        left.shape[dim] = from.shape[dim] - 1;
        if (n == 1)
            to = tdm_tensor_retain(y);
        else
            status = tdmi_temporary(queue, y->dtype, y->ndim, left.shape, &to);
        if (status != TDM_OK) break;
        status = difference(__func__, queue, &from, dim, &to);
        tdm_tensor_release(&from);
        from = to;
    }
    tdm_tensor_release(&from);
    return status;
}

/* y[i] = x[places[i]] of a contiguous x, all of one dimension. */
static tdm_status take_flat(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *places,
                            tdm_tensor *y) {
    tdm_tensor line = *x, copy;
    line.ndim = 1;
    line.shape[0] = tdm_tensor_get_count(x);
    line.strides[0] = 1;
    if (tdm_tensor_is_contiguous(y)) return tdm_gather_rows(queue, &line, places, y);
    TDMI_TRY(tdmi_temporary(queue, y->dtype, y->ndim, y->shape, &copy));
    tdm_status status = tdm_gather_rows(queue, &line, places, &copy);
    if (status == TDM_OK) status = tdmi_copy_into(queue, &copy, y);
    tdm_tensor_release(&copy);
    return status;
}

tdm_status tdm_take_along_axis(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *indices,
                               int dim, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"indices", indices, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    TDMI_TRY(tdmi_check_indices(__func__, "indices", indices));
    TDMI_TRY(tdmi_check_same_dtype(__func__, "x", x, "y", y));
    TDMI_TRY(tdmi_check_same_shape(__func__, "indices", indices, "y", y));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_INVALID_ARGUMENT, "dim", &dim, x->ndim));
    tdm_tensor wanted = *x, places, copy;
    if (y->ndim == x->ndim) wanted.shape[dim] = y->shape[dim];
    TDMI_TRY(tdmi_check_same_shape(__func__, "indices", indices, "x but for dim", &wanted));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    int64_t inner = 1;
    for (int i = dim + 1; i < x->ndim; i++)
        inner *= x->shape[i];
    TDMI_TRY(tdmi_temporary(queue, TDM_I64, y->ndim, y->shape, &places));
    const tdm_argument arguments[] = {
        TDM_WITH_TENSOR("i", indices), TDM_WITH_INTEGER("inner", inner),
        TDM_WITH_INTEGER("taken", y->shape[dim]), TDM_WITH_INTEGER("count", x->shape[dim]),
        TDM_WITH_TENSOR("y", &places)};
    static const tdmi_texts texts = {
        .statements =
            "lines = index / inner / taken\n"
            "y = i < 0 || i64(i) >= count ? -1 : (lines * count + i) * inner + index % inner"};
    tdm_status status = tdmi_call_texts(__func__, queue, TDMI_FLAT_PLACE, &texts, arguments, 5,
                                        1u << 1 | 1u << 2 | 1u << 3, TDM_PARAMETER_INTEGER);
    const bool copies = !tdm_tensor_is_contiguous(x);
    if (status == TDM_OK && copies) status = tdmi_copy_of(queue, x, &copy);
    if (status == TDM_OK) {
        status = take_flat(queue, copies ? &copy : x, &places, y);
        if (copies) tdm_tensor_release(&copy);
    }
    tdm_tensor_release(&places);
    return status;
}
