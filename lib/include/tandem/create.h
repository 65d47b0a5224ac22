/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Making tensors: on a device, with content, from host arrays and back.
 *
 * Each function here that makes a tensor gives it a new buffer, contiguous and row-major,
 * and the caller one reference to it (tensor.h says what that means). On failure *tensor is all
 * zero (its buffer is NULL). Sizes: ndim is 1 to TDM_MAX_DIMS, extents are 0 or more.
 * TDM_SHAPE(2, 3) writes ndim and shape in one:
 *
 *     tdm_ones(queue, TDM_F32, TDM_SHAPE(2, 3), &x)
 *
 * The tensor is made on the queue's device, and the work that fills it is queued.
 * Where the device has no f64 arithmetic, tdm_arange, tdm_linspace, tdm_rand and tdm_randn make no f64 tensors.
 *
 * Threads: as the queue; tdm_empty, which queues nothing, and tdm_tensor_release from any thread. */
#ifndef TANDEM_CREATE_H
#define TANDEM_CREATE_H

#include <stdio.h>

#include <tandem/ops.h>

#if defined(__cplusplus)
#include <initializer_list>
/** ndim and shape, as two arguments; the array lasts to the end of the full expression. */
#define TDM_SHAPE(...)                                                                             \
    static_cast<int>(std::initializer_list<int64_t>{__VA_ARGS__}.size()),                          \
        std::initializer_list<int64_t>{__VA_ARGS__}.begin()
extern "C" {
#else
/** ndim and shape, as two arguments: TDM_SHAPE(2, 3). */
#define TDM_SHAPE(...)                                                                             \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {           \
        __VA_ARGS__                                                                                \
    }
#endif

/** Content undefined; nothing is queued. */
TDM_API TDM_MUST_USE tdm_status tdm_empty(tdm_queue *queue, tdm_dtype dtype, int ndim,
                                          const int64_t *shape, tdm_tensor *tensor);

/** All elements `value`, converted as tdm_fill does. */
TDM_API TDM_MUST_USE tdm_status tdm_full(tdm_queue *queue, double value, tdm_dtype dtype, int ndim,
                                         const int64_t *shape, tdm_tensor *tensor);
/** All elements 0. */
TDM_API TDM_MUST_USE tdm_status tdm_zeros(tdm_queue *queue, tdm_dtype dtype, int ndim,
                                          const int64_t *shape, tdm_tensor *tensor);
/** All elements 1. */
TDM_API TDM_MUST_USE tdm_status tdm_ones(tdm_queue *queue, tdm_dtype dtype, int ndim,
                                         const int64_t *shape, tdm_tensor *tensor);

/** start, start + step, … up to, not including, end: ⌈(end - start) / step⌉ elements, computed as
 * tdm_fill_range does. No element when end lies on the other side of start. TDM_ERROR_INVALID_ARGUMENT where step is 0
 * or start, end, end - start or step is not finite, TDM_ERROR_OUT_OF_RANGE for 2^53 elements or more. */
TDM_API TDM_MUST_USE tdm_status tdm_arange(tdm_queue *queue, double start, double end, double step,
                                           tdm_dtype dtype, tdm_tensor *tensor);

/** `count` numbers from start, in steps of (end - start) / (count - 1) up to end itself or, without `endpoint`, of
 * (end - start) / count; computed as tdm_fill_range does. dtype: a float. start, end and end - start are finite,
 * the first two in f32 as well where dtype is not f64.
 * Error, as in ops.h: e(|start| + 2|y - start| + |y|) / 2, and where the step is subnormal half of the smallest
 * subnormal number for each step up to y. A count of 1 gives start. */
TDM_API TDM_MUST_USE tdm_status tdm_linspace(tdm_queue *queue, double start, double end,
                                             int64_t count, bool endpoint, tdm_dtype dtype,
                                             tdm_tensor *tensor);

/** rows x cols elements, 1 where column = row + diagonal, else 0. */
TDM_API TDM_MUST_USE tdm_status tdm_eye(tdm_queue *queue, int64_t rows, int64_t cols,
                                        int64_t diagonal, tdm_dtype dtype, tdm_tensor *tensor);

/** Uniform in [0, 1) (integers: over the dtype's whole range), see tdm_fill_uniform. */
TDM_API TDM_MUST_USE tdm_status tdm_rand(tdm_queue *queue, tdm_generator *generator,
                                         tdm_dtype dtype, int ndim, const int64_t *shape,
                                         tdm_tensor *tensor);
/** Standard normal, see tdm_fill_normal. */
TDM_API TDM_MUST_USE tdm_status tdm_randn(tdm_queue *queue, tdm_generator *generator,
                                          tdm_dtype dtype, int ndim, const int64_t *shape,
                                          tdm_tensor *tensor);

/** From a host array of that dtype, row-major, which may go when the call returns. data may be NULL where there are no
 * elements, here and in tdm_write and tdm_to_host. */
TDM_API TDM_MUST_USE tdm_status tdm_from_host(tdm_queue *queue, const void *data, tdm_dtype dtype,
                                              int ndim, const int64_t *shape, tdm_tensor *tensor);

/** y = a host array of y's dtype, row-major whatever y's strides, which may go when the call returns: what
 * tdm_from_host does, into a tensor that is there. Waits for the queue. */
TDM_API TDM_MUST_USE tdm_status tdm_write(tdm_queue *queue, const void *data, tdm_tensor *y);

/** To a host array of x's dtype with room for all its elements, row-major whatever x's strides.
 * Waits for the queue. */
TDM_API TDM_MUST_USE tdm_status tdm_to_host(tdm_queue *queue, const tdm_tensor *x, void *data);

/** One more reference to the tensor's buffer, for the copy that is returned: it is released by
 * itself. NULL gives a tensor that is all zero. */
TDM_API tdm_tensor tdm_tensor_retain(const tdm_tensor *tensor);

/** Gives back one reference to the tensor's buffer and zeroes the tensor, so that releasing it again
 * does nothing. NULL and a zero tensor are allowed. */
TDM_API void tdm_tensor_release(tdm_tensor *tensor);

/** The tensor's device, borrowed; NULL for a tensor without a buffer. */
TDM_API tdm_device *tdm_tensor_get_device(const tdm_tensor *tensor);

/** Writes x as text the way PyTorch prints: values with four digits after the point (%e where they
 * differ too much), rows in brackets, and when x has more than 1000 elements only the first and
 * last three of each dimension (only those are read from the device); then shape, dtype and device:
 *
 *     tensor([[1., 1., 1.],
 *             [1., 1., 1.]], shape=[2, 3], dtype=f32, device=cpu:0)
 *
 * A bool is True or False. Numbers have a point whatever locale the program has set. As snprintf:
 * at most `capacity` bytes with the final 0 go to `text` (NULL when capacity is 0), and *length,
 * which may be NULL, is what all of it takes without that 0. Waits for the queue. */
TDM_API TDM_MUST_USE tdm_status tdm_format(tdm_queue *queue, const tdm_tensor *x, char *text,
                                           size_t capacity, size_t *length);

/** Prints "name = " (unless name is NULL), what tdm_format writes, aligned after it, and a line's end to `file`, as in
 * tdm_print(queue, "x", &x, stdout). Waits for the queue. TDM_ERROR_IO when the file cannot be written. */
TDM_API TDM_MUST_USE tdm_status tdm_print(tdm_queue *queue, const char *name, const tdm_tensor *x,
                                          FILE *file);

#if defined(__cplusplus)
}
#endif
#endif
