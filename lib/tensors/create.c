/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Making tensors. */
#include "create.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "core.h"

/* The queue's device; NULL, which tdmi_empty refuses with a message, cannot happen after this. */
static tdm_status create_on(const char *function, const tdm_queue *queue, tdm_dtype dtype, int ndim,
                            const int64_t *shape, tdm_tensor *tensor) {
    if (tensor) memset(tensor, 0, sizeof *tensor);
    TDMI_NOT_NULL(function, queue);
    return tdmi_empty(function, queue->device, dtype, ndim, shape, tensor);
}

/* The same where the device is to compute the content. */
static tdm_status create_to_compute(const char *function, const tdm_queue *queue, tdm_dtype dtype,
                                    int ndim, const int64_t *shape, tdm_tensor *tensor) {
    if (tensor) memset(tensor, 0, sizeof *tensor);
    if (queue) TDMI_TRY(tdmi_check_computes(function, queue->device, "dtype", dtype));
    return create_on(function, queue, dtype, ndim, shape, tensor);
}

/* The end of a function that made a tensor and filled it. */
static tdm_status filled(const char *function, tdm_status status, tdm_tensor *tensor) {
    if (status == TDM_OK) return TDM_OK;
    tdm_tensor_release(tensor);
    return tdmi_fail_in(status, "%s", function);
}

tdm_status tdm_empty(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                     tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    return create_on(__func__, queue, dtype, ndim, shape, tensor);
}

static tdm_status full(const char *function, tdm_queue *queue, double value, tdm_dtype dtype,
                       int ndim, const int64_t *shape, tdm_tensor *tensor) {
    TDMI_TRY(create_on(function, queue, dtype, ndim, shape, tensor));
    return filled(function, tdm_fill(queue, value, tensor), tensor);
}

tdm_status tdm_full(tdm_queue *queue, double value, tdm_dtype dtype, int ndim, const int64_t *shape,
                    tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    return full("tdm_full", queue, value, dtype, ndim, shape, tensor);
}

tdm_status tdm_zeros(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                     tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    return full("tdm_zeros", queue, 0, dtype, ndim, shape, tensor);
}

tdm_status tdm_ones(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                    tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    return full("tdm_ones", queue, 1, dtype, ndim, shape, tensor);
}

tdm_status tdm_arange(tdm_queue *queue, double start, double end, double step, tdm_dtype dtype,
                      tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    if (tensor) memset(tensor, 0, sizeof *tensor);
    if (!isfinite(start) || !isfinite(end) || !isfinite(end - start) || !isfinite(step) ||
        step == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: start %g, end %g, end - start and step %g must be finite, and step "
                         "not 0",
                         __func__, start, end, step);
    double count = ceil((end - start) / step);
    if (!(count > 0)) count = 0;
    if (count >= 9007199254740992.0)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: from %g to %g by %g are %g elements",
                         __func__, start, end, step, count);
    const int64_t shape[] = {(int64_t)count};
    TDMI_TRY(create_to_compute(__func__, queue, dtype, 1, shape, tensor));
    return filled(__func__, tdm_fill_range(queue, start, step, tensor), tensor);
}

tdm_status tdm_linspace(tdm_queue *queue, double start, double end, int64_t count, bool endpoint,
                        tdm_dtype dtype, tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    if (tensor) memset(tensor, 0, sizeof *tensor);
    if (!isfinite(start) || !isfinite(end) || !isfinite(end - start))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: start %g and end %g must be finite, and so must their difference",
                         __func__, start, end);
    if ((unsigned)dtype < TDM_DTYPE_COUNT && !tdm_dtype_is_float(dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %s, it must be a float", __func__,
                         tdm_dtype_name(dtype));
    TDMI_TRY(tdmi_check_finite(__func__, "start", start, dtype));
    TDMI_TRY(tdmi_check_finite(__func__, "end", end, dtype));
    const int64_t shape[] = {count};
    TDMI_TRY(create_to_compute(__func__, queue, dtype, 1, shape, tensor));
    const int64_t steps = endpoint ? count - 1 : count;
    /* a single step may be more than f32 has */
    tdm_status status = steps > 1
                            ? tdm_fill_range(queue, start, (end - start) / (double)steps, tensor)
                        : count > 0 ? tdm_fill(queue, start, tensor)
                                    : TDM_OK;
    tdm_tensor last = *tensor;
    last.shape[0] = 1;
    last.offset = count - 1;
    if (status == TDM_OK && endpoint && count > 1) status = tdm_fill(queue, end, &last);
    return filled(__func__, status, tensor);
}

tdm_status tdm_eye(tdm_queue *queue, int64_t rows, int64_t cols, int64_t diagonal, tdm_dtype dtype,
                   tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    const int64_t shape[] = {rows, cols};
    TDMI_TRY(full(__func__, queue, 0, dtype, 2, shape, tensor));
    if (rows == 0 || diagonal >= cols || diagonal <= -rows) return TDM_OK;
    const int64_t row = diagonal < 0 ? -diagonal : 0, col = diagonal > 0 ? diagonal : 0;
    tdm_tensor ones = *tensor;
    ones.ndim = 1;
    ones.offset = row * cols + col;
    ones.shape[0] = rows - row < cols - col ? rows - row : cols - col;
    ones.strides[0] = cols + 1;
    return filled(__func__, tdm_fill(queue, 1, &ones), tensor);
}

tdm_status tdm_rand(tdm_queue *queue, tdm_generator *generator, tdm_dtype dtype, int ndim,
                    const int64_t *shape, tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(create_to_compute(__func__, queue, dtype, ndim, shape, tensor));
    return filled(__func__, tdm_fill_uniform(queue, generator, 0, 1, tensor), tensor);
}

tdm_status tdm_randn(tdm_queue *queue, tdm_generator *generator, tdm_dtype dtype, int ndim,
                     const int64_t *shape, tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(create_to_compute(__func__, queue, dtype, ndim, shape, tensor));
    return filled(__func__, tdm_fill_normal(queue, generator, 0, 1, tensor), tensor);
}

tdm_status tdm_from_host(tdm_queue *queue, const void *data, tdm_dtype dtype, int ndim,
                         const int64_t *shape, tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(create_on(__func__, queue, dtype, ndim, shape, tensor));
    if (!data && tdm_tensor_get_count(tensor) > 0) {
        tdm_tensor_release(tensor);
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: data is NULL", __func__);
    }
    return filled(
        __func__,
        tdm_buffer_write(queue, tensor->buffer, 0, data, tdm_buffer_get_size(tensor->buffer)),
        tensor);
}

size_t tdmi_bytes_of(const tdm_tensor *x) {
    return (size_t)tdm_tensor_get_count(x) * tdm_dtype_size(x->dtype);
}

tdm_status tdmi_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) {
    if (tdm_tensor_is_contiguous(x)) {
        *packed = *x;
        (void)tdm_buffer_retain(x->buffer);
        return TDM_OK;
    }
    TDMI_TRY(tdm_empty(queue, x->dtype, x->ndim, x->shape, packed));
    const tdm_status status = tdm_cast(queue, x, packed);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}
