/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a buffer and views of tensors, checked. */
#include <string.h>

#include <tandem/create.h>

#include "base/threads.h"
#include "check.h"

static tdm_status check_ndim(const char *function, int ndim, const int64_t *shape) {
    if (ndim < 1 || ndim > TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: ndim is %d, allowed are 1 to %d", function,
                         ndim, TDM_MAX_DIMS);
    TDMI_NOT_NULL(function, shape);
    return TDM_OK;
}

static tdm_status check_outputs(const char *function, const tdm_tensor *tensor,
                                const tdm_tensor *view) {
    TDMI_NOT_NULL(function, view);
    return tdmi_tensor_check(function, "tensor", tensor);
}

tdm_status tdm_tensor_init(tdm_buffer *buffer, tdm_dtype dtype, int ndim, const int64_t *shape,
                           int64_t offset, tdm_tensor *tensor) {
    TDMI_NOT_NULL(__func__, tensor);
    memset(tensor, 0, sizeof *tensor);
    TDMI_TRY(check_ndim(__func__, ndim, shape));
    tdm_tensor made = tdmi_tensor_contiguous(buffer, dtype, ndim, shape);
    made.offset = offset;
    TDMI_TRY(tdmi_tensor_check(__func__, "tensor", &made));
    *tensor = made;
    return TDM_OK;
}

tdm_status tdm_tensor_view(const tdm_tensor *tensor, int ndim, const int64_t *shape,
                           const int64_t *strides, int64_t offset, tdm_tensor *view) {
    TDMI_TRY(check_outputs(__func__, tensor, view));
    TDMI_TRY(check_ndim(__func__, ndim, shape));
    TDMI_NOT_NULL(__func__, strides);
    tdm_tensor made = tdmi_tensor_contiguous(tensor->buffer, tensor->dtype, ndim, shape);
    memcpy(made.strides, strides, (size_t)ndim * sizeof *strides);
    if (__builtin_add_overflow(tensor->offset, offset, &made.offset))
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: offset %lld overflows", __func__,
                         (long long)offset);
    TDMI_TRY(tdmi_tensor_check(__func__, "view", &made));
    *view = made;
    return TDM_OK;
}

tdm_status tdm_tensor_slice(const tdm_tensor *tensor, int dim, int64_t start, int64_t count,
                            int64_t step, tdm_tensor *view) {
    TDMI_TRY(check_outputs(__func__, tensor, view));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_OUT_OF_RANGE, "dim", &dim, tensor->ndim));
    int64_t extent = tensor->shape[dim];
    if (step < 1)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: step is %lld, at least 1", __func__,
                         (long long)step);
    bool inside = start >= 0 && count >= 0 && start <= extent &&
                  (count == 0 || (start < extent && (count - 1) <= (extent - 1 - start) / step));
    if (!inside)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: start %lld, count %lld, step %lld lies outside dimension %d, which "
                         "has %lld elements",
                         __func__, (long long)start, (long long)count, (long long)step, dim,
                         (long long)extent);
    tdm_tensor made = *tensor;
    made.shape[dim] = count;
    /* of an empty tensor neither need fit a number */
    bool empty = tdm_tensor_get_count(&made) == 0;
    if (!empty) made.offset += start * tensor->strides[dim];
    made.strides[dim] = !empty && count > 1 ? tensor->strides[dim] * step : tensor->strides[dim];
    *view = made;
    return TDM_OK;
}

tdm_status tdm_tensor_transpose(const tdm_tensor *tensor, int dim0, int dim1, tdm_tensor *view) {
    TDMI_TRY(check_outputs(__func__, tensor, view));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_OUT_OF_RANGE, "dim0", &dim0, tensor->ndim));
    TDMI_TRY(tdmi_check_dim(__func__, TDM_ERROR_OUT_OF_RANGE, "dim1", &dim1, tensor->ndim));
    tdm_tensor made = *tensor;
    made.shape[dim0] = tensor->shape[dim1];
    made.shape[dim1] = tensor->shape[dim0];
    made.strides[dim0] = tensor->strides[dim1];
    made.strides[dim1] = tensor->strides[dim0];
    *view = made;
    return TDM_OK;
}

/* The one extent that is -1 becomes what the others leave. */
static tdm_status infer_extent(const char *function, const tdm_tensor *tensor, int ndim,
                               int64_t *extents) {
    const int64_t count = tdm_tensor_get_count(tensor);
    int64_t rest = count;
    int at = -1;
    bool divides = true;
    for (int i = 0; i < ndim; i++) {
        if (extents[i] == -1 && at >= 0)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: shape has more than one -1", function);
        if (extents[i] == -1) {
            at = i;
            continue;
        }
        divides = divides && extents[i] > 0 && rest % extents[i] == 0;
        if (divides) rest /= extents[i];
    }
    if (at >= 0 && !divides)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: shape has -1 in dimension %d, but the tensor's %lld elements do not "
                         "divide by the others",
                         function, at, (long long)count);
    if (at >= 0) extents[at] = rest;
    return TDM_OK;
}

/* The strides with which a view of as many elements, at least one, walks over the tensor's in their order: each of its
 * extents is a part of dimensions of the tensor that lie as one. False where elements would have to move. */
static bool find_strides(const tdm_tensor *tensor, tdm_tensor *view) {
    int64_t left = 1,
            stride = 1; /* of dimensions that lie as one, what the view has yet to walk over */
    int from = tensor->ndim;
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->shape[i] > 1 && left == 1) {
            while (tensor->shape[from - 1] == 1)
                from--;
            left = tensor->shape[--from];
            stride = tensor->strides[from];
            while (from > 0 &&
                   (tensor->shape[from - 1] == 1 || tensor->strides[from - 1] == stride * left))
                left *= tensor->shape[--from];
        }
        if (left % view->shape[i] != 0) return false;
        view->strides[i] = stride;
        stride *= view->shape[i];
        left /= view->shape[i];
    }
    return true;
}

tdm_status tdm_tensor_reshape(const tdm_tensor *tensor, int ndim, const int64_t *shape,
                              tdm_tensor *view) {
    TDMI_TRY(check_outputs(__func__, tensor, view));
    TDMI_TRY(check_ndim(__func__, ndim, shape));
    int64_t extents[TDM_MAX_DIMS];
    memcpy(extents, shape, (size_t)ndim * sizeof *shape);
    TDMI_TRY(infer_extent(__func__, tensor, ndim, extents));
    tdm_tensor made = tdmi_tensor_contiguous(tensor->buffer, tensor->dtype, ndim, extents);
    made.offset = tensor->offset;
    size_t bytes;
    TDMI_TRY(tdmi_check_shape(__func__, made.dtype, ndim, extents, &bytes));
    if (tdm_tensor_get_count(&made) != tdm_tensor_get_count(tensor))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: shape has %lld elements, but the tensor has %lld", __func__,
                         (long long)tdm_tensor_get_count(&made),
                         (long long)tdm_tensor_get_count(tensor));
    if (!tdm_tensor_is_contiguous(tensor) && !find_strides(tensor, &made))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: elements of tensor do not lie as this shape needs them; tdm_cast "
                         "copies it into a contiguous one",
                         __func__);
    *view = made;
    return TDM_OK;
}

tdm_status tdm_tensor_broadcast(const tdm_tensor *tensor, int ndim, const int64_t *shape,
                                tdm_tensor *view) {
    TDMI_TRY(check_outputs(__func__, tensor, view));
    size_t bytes;
    TDMI_TRY(tdmi_check_shape(__func__, tensor->dtype, ndim, shape, &bytes));
    tdm_tensor y = {.ndim = ndim};
    memcpy(y.shape, shape, (size_t)ndim * sizeof *shape);
    return tdmi_broadcast(__func__, "tensor", tensor, "view", &y, view);
}

tdm_status tdm_broadcast_shape(const tdm_tensor *a, const tdm_tensor *b, int *ndim,
                               int64_t *shape) {
    TDMI_NOT_NULL(__func__, ndim);
    TDMI_NOT_NULL(__func__, shape);
    TDMI_NOT_NULL(__func__, a);
    TDMI_NOT_NULL(__func__, b);
    TDMI_TRY(check_ndim(__func__, a->ndim, a->shape));
    TDMI_TRY(check_ndim(__func__, b->ndim, b->shape));
    int most = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 1; i <= most; i++) {
        int64_t of_a = i <= a->ndim ? a->shape[a->ndim - i] : 1;
        int64_t of_b = i <= b->ndim ? b->shape[b->ndim - i] : 1;
        char a_text[128], b_text[128];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                             "%s: the shapes of a, %s, and b, %s, do not broadcast to each other",
                             __func__, tdmi_shape_text(a, a_text), tdmi_shape_text(b, b_text));
        shape[most - i] = of_a == 1 ? of_b : of_a;
    }
    *ndim = most;
    return TDM_OK;
}

tdm_status tdmi_empty(const char *function, tdm_device *device, tdm_dtype dtype, int ndim,
                      const int64_t *shape, tdm_tensor *tensor) {
    TDMI_NOT_NULL(function, tensor);
    memset(tensor, 0, sizeof *tensor);
    TDMI_NOT_NULL(function, device);
    size_t bytes = 0;
    TDMI_TRY(tdmi_check_shape(function, dtype, ndim, shape, &bytes));
    tdm_buffer *buffer;
    tdm_status status = tdm_buffer_create(device, bytes, &buffer);
    if (status != TDM_OK) return tdmi_fail_in(status, "%s", function);
    status = tdm_tensor_init(buffer, dtype, ndim, shape, 0, tensor);
    if (status != TDM_OK) tdm_buffer_release(buffer);
    return status;
}
