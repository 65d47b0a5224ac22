/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks of tensors, shared by all operations: each rejects with one sentence that names the
 * function, the argument, its value and what is allowed. */
#ifndef TDMI_CHECK_H
#define TDMI_CHECK_H

#include "base/fail.h"

#include <tandem/library.h>
#include <tandem/ops.h>

/* One tensor by itself: pointer, buffer, dtype, dimensions, strides, and that every element lies
 * inside the buffer, whose content may be packed for products. */
tdm_status tdmi_tensor_check_packed(const char *function, const char *name,
                                    const tdm_tensor *tensor) TDM_MUST_USE;

/* The same, and its content is not packed. */
tdm_status tdmi_tensor_check(const char *function, const char *name,
                             const tdm_tensor *tensor) TDM_MUST_USE;

/* The dtype and shape of a tensor that is to be made; its size in bytes, SIZE_MAX if that is
 * larger. */
tdm_status tdmi_check_shape(const char *function, tdm_dtype dtype, int ndim, const int64_t *shape,
                            size_t *bytes) TDM_MUST_USE;

/* view.c: tdm_empty, for a function that makes a tensor. */
tdm_status tdmi_empty(const char *function, tdm_device *device, tdm_dtype dtype, int ndim,
                      const int64_t *shape, tdm_tensor *tensor) TDM_MUST_USE;

enum {
    TDMI_ARG_OUTPUT = TDM_OPERAND_OUTPUT,
    TDMI_ARG_ANY_DTYPE = TDM_OPERAND_ANY_DTYPE,
    TDMI_ARG_OPTIONAL = TDM_OPERAND_OPTIONAL,
    TDMI_ARG_MOVED = TDM_OPERAND_MOVED,
    TDMI_ARG_PACKED = TDM_OPERAND_PACKED
};
typedef tdm_operand tdmi_arg;

/* The device computes with the dtype of what is called `name`: some have no f64 arithmetic. */
tdm_status tdmi_check_computes(const char *function, const tdm_device *device, const char *name,
                               tdm_dtype dtype) TDM_MUST_USE;

/* A number, called `name`, is finite in the arithmetic of a float dtype. */
tdm_status tdmi_check_finite(const char *function, const char *name, double value,
                             tdm_dtype dtype) TDM_MUST_USE;
tdm_status tdmi_check_epsilon(const char *function, double epsilon, tdm_dtype dtype) TDM_MUST_USE;

/* All arguments of an operation: the queue, each tensor by itself, one device, one dtype, outputs
 * writable and free of overlap. Then the queue comes after what may still use their memory (order.c). */
tdm_status tdmi_check_args(const char *function, tdm_queue *queue, const tdmi_arg *args,
                           int count) TDM_MUST_USE;

tdm_status tdmi_check_same_dtype(const char *function, const char *a_name, const tdm_tensor *a,
                                 const char *b_name, const tdm_tensor *b) TDM_MUST_USE;

bool tdmi_is_same_shape(const tdm_tensor *a, const tdm_tensor *b);
tdm_status tdmi_check_same_shape(const char *function, const char *a_name, const tdm_tensor *a,
                                 const char *b_name, const tdm_tensor *b) TDM_MUST_USE;

/* The shape of the tensor is that of `wanted`, which is no argument. */
tdm_status tdmi_check_wanted_shape(const char *function, const char *name, const tdm_tensor *tensor,
                                   const tdm_tensor *wanted) TDM_MUST_USE;

/* The argument `name`, a dimension of a tensor that has `ndim`; one that is counted from the end, -1 the last, becomes
 * that from the beginning. Another fails with the status. */
tdm_status tdmi_check_dim(const char *function, tdm_status status, const char *name, int *dim,
                          int ndim) TDM_MUST_USE;

/* Some dimensions of x, each at most once; named[d]: d, from the beginning, is one of them. `dims` is not read when
 * `count` is wrong. */
tdm_status tdmi_check_dims(const char *function, const tdm_tensor *x, const int *dims, size_t count,
                           bool named[TDM_MAX_DIMS]) TDM_MUST_USE;

/* The tensor with strides of 0 where it is repeated to a shape; false when it does not fit. */
bool tdmi_repeat(const tdm_tensor *tensor, int ndim, const int64_t *shape, tdm_tensor *view);

/* The tensor repeated to y's shape, as NumPy does. */
tdm_status tdmi_broadcast(const char *function, const char *name, const tdm_tensor *tensor,
                          const char *y_name, const tdm_tensor *y, tdm_tensor *view) TDM_MUST_USE;

/* A 1-D tensor of n elements with stride 1 (a bias, a weight). */
tdm_status tdmi_check_vector(const char *function, const char *name, const tdm_tensor *tensor,
                             int64_t n) TDM_MUST_USE;

/* "[2, 3]" into a buffer of 128 characters; returns it. */
const char *tdmi_shape_text(const tdm_tensor *tensor, char text[128]);

/* Dimensions [from, to) of a tensor as one, of *count elements; *stride stays as it is where there is one element.
 * Returns the last dimension that has no common stride with those after it, or -1; *count is then theirs. */
int tdmi_collapse(const tdm_tensor *tensor, int from, int to, int64_t *count, int64_t *stride);

/* A tensor seen as rows: the last dimension, adjacent, and the others collapsed. */
typedef struct tdmi_rows {
    int64_t rows, cols, stride; /* stride: from row to row, in elements */
} tdmi_rows;

tdm_status tdmi_rows_of(const char *function, const char *name, const tdm_tensor *tensor,
                        tdmi_rows *rows) TDM_MUST_USE;

/* The same of a residual, which is of x's shape or lacks x's first dimensions: the rows that x goes through in turn.
 * One row is as many as x has, at a stride of 0. */
tdm_status tdmi_rows_of_residual(const char *function, const tdm_tensor *x,
                                 const tdm_tensor *residual, int64_t x_rows,
                                 tdmi_rows *rows) TDM_MUST_USE;

/* tensor.c: a contiguous, row-major tensor; nothing is checked. */
tdm_tensor tdmi_tensor_contiguous(tdm_buffer *buffer, tdm_dtype dtype, int ndim,
                                  const int64_t *shape);

#endif
