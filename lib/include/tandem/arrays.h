/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Operations that keep the data between products on the device.
 *
 * The rules of ops.h for all operations, for rows and for threads hold here as well. */
#ifndef TANDEM_ARRAYS_H
#define TANDEM_ARRAYS_H

#include <tandem/ops.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** How the scores of a softmax are scaled and masked. */
typedef struct tdm_softmax_options {
    size_t size;            /**< sizeof(tdm_softmax_options): see status.h */
    double scale;           /**< factor of x, finite in the arithmetic, f32 or f64 */
    const tdm_tensor *mask; /**< added to x · scale, or bool; or NULL. Borrowed for the call */
    bool causal;            /**< whether row i counts the columns j ≤ i + cols - rows alone */
} tdm_softmax_options;

/** scale 1, nothing else: tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS; */
/* clang-format off */
#define TDM_SOFTMAX_OPTIONS_DEFAULTS                                                               \
    { sizeof(tdm_softmax_options), 1.0, NULL, false }
/* clang-format on */

/** The same for languages without C's macros: writes the first `size` bytes, which are the struct's
 * size in the caller's language. */
TDM_API void tdm_softmax_options_init(tdm_softmax_options *options, size_t size);

/** y = softmax(x · scale + mask) of each row, the weights of attention (Vaswani et al. 2017), in one pass more
 * over the mask than tdm_softmax makes over x. x, y: rows. mask is broadcast to x's shape as in NumPy, but for its
 * last dimension, which is x's (else TDM_ERROR_UNSUPPORTED): [cols], [rows, cols] and [batch, 1, 1, cols] are. It is of
 * x's dtype, with stride 1 and -Inf where an element does not count, or bool, true where an element counts; for a bool
 * mask the call makes one of x's dtype first.
 *
 * causal: x is [..., rows, cols], and of row i the columns up to i + cols - rows count, so that the last row counts
 * all; the elements after them are ignored, whatever they are, and are 0 in y.
 *
 * A row of which nothing counts is NaN, as is one with a score x · scale + mask that is NaN or +Inf: a mask does not
 * leave out NaN. torch.softmax gives the same.
 * options NULL means TDM_SOFTMAX_OPTIONS_DEFAULTS, and tdm_softmax. In place: y may be x; y does not overlap the
 * mask. Error: as tdm_softmax of the scores t = x · scale + mask, and 4e·max(|x · scale| + |mask|)·y for the scores
 * themselves, where e·max(|x · scale| + |mask|) is below 1/4. */
TDM_API TDM_MUST_USE tdm_status tdm_softmax_scaled(tdm_queue *queue,
                                                   const tdm_softmax_options *options,
                                                   const tdm_tensor *x, tdm_tensor *y);

/** Rows of a table, as in looking up embeddings: y[i..., :] = table[indices[i...], :], bit by bit. table: [n, cols...],
 * any dtype; indices: i32 or i64, any shape; y: [indices..., cols...], the table's dtype. A row's elements are
 * adjacent, and the rows of y, the rows of the table and the indices each have one common stride, else
 * TDM_ERROR_UNSUPPORTED. An index that is negative, or n or more, reads nothing: its row of y is NaN, of dtypes that
 * are no floats 0. y overlaps neither of the others. Takes as long as copying y. */
TDM_API TDM_MUST_USE tdm_status tdm_gather_rows(tdm_queue *queue, const tdm_tensor *table,
                                                const tdm_tensor *indices, tdm_tensor *y);

/** y[indices[i...], :] += source[i..., :], what gather_rows' gradient needs. y: [n, cols...]; indices: i32 or i64, any
 * shape; source: [indices..., cols...], of y's dtype, a float. Strides as tdm_gather_rows. Rows with one index are
 * added to that of y in the order in which they come in source, one by one, rounded to the dtype once: no atomic
 * operations, so that results repeat bit for bit. Error, e as in ops.h, of a row to which m rows are added:
 * m · e/2 · (|y| + Σ|source|). Negative indices, and n or more, are left out. y overlaps neither of the others. The
 * indices are sorted first (see below how, and with how much memory); then the time is that of reading source once, but
 * where most indices are equal: a row of y is one group's work. Fewer than 2³¹ rows of y, and indices. */
TDM_API TDM_MUST_USE tdm_status tdm_scatter_add_rows(tdm_queue *queue, const tdm_tensor *source,
                                                     const tdm_tensor *indices, tdm_tensor *y);

/** y[i..., j] = 1 where j is indices[i...], else 0; an index that is no column's number gives a row of zeros.
 * indices: i32 or i64, any shape; y: [indices..., n], any dtype. Strides as tdm_gather_rows. Takes as long as filling
 * y. */
TDM_API TDM_MUST_USE tdm_status tdm_one_hot(tdm_queue *queue, const tdm_tensor *indices,
                                            tdm_tensor *y);

/* Copies, bit by bit: of any dtype, the same in all tensors, and of any strides. y overlaps no input. Each takes
 * as long as copying y, and a launch for each tensor. */

/** y = the tensors one after the other along dimension `dim`, in which y has as much as all of them; the other
 * dimensions are equal. count ≥ 1; a tensor may be empty, and may come several times. The array and the tensors
 * are borrowed for the call. */
TDM_API TDM_MUST_USE tdm_status tdm_concat(tdm_queue *queue, const tdm_tensor *const *tensors,
                                           size_t count, int dim, tdm_tensor *y);

/** y = the tensors, which have one shape, along a dimension `dim` of y that is new and as long as there are
 * tensors. The rest as tdm_concat. */
TDM_API TDM_MUST_USE tdm_status tdm_stack(tdm_queue *queue, const tdm_tensor *const *tensors,
                                          size_t count, int dim, tdm_tensor *y);

/** y = x, the last elements first along each of the `count` dimensions that `dims` names, none of them twice. y has x's
 * shape. count 0: a copy. */
TDM_API TDM_MUST_USE tdm_status tdm_flip(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                         size_t count, tdm_tensor *y);

/** y = x, moved on by shifts[i] elements along each of the `count` dimensions that `dims` names, none of them twice:
 * what leaves at the end comes in at the beginning. A negative shift moves it back. y has x's shape. Takes 2^count
 * launches. */
TDM_API TDM_MUST_USE tdm_status tdm_roll(tdm_queue *queue, const tdm_tensor *x,
                                         const int64_t *shifts, const int *dims, size_t count,
                                         tdm_tensor *y);

/** y = x several times over, side by side: each extent of y is a multiple of x's; y may have more dimensions, before
 * x's. A dimension that is repeated and longer than 1 counts twice among the TDM_MAX_DIMS that y may have. */
TDM_API TDM_MUST_USE tdm_status tdm_tile(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);

/** y = x, each element several times in a row along dimension `dim`, in which y's extent is a multiple of x's. The
 * dimension counts as for tdm_tile. */
TDM_API TDM_MUST_USE tdm_status tdm_repeat(tdm_queue *queue, const tdm_tensor *x, int dim,
                                           tdm_tensor *y);

/** y = the part of each matrix x, its last two dimensions, on and below the diagonal: x[.., i, j] where j ≤ i +
 * diagonal, else 0. y has x's shape and may be exactly the same view. A kernel of functions.h. */
TDM_API TDM_MUST_USE tdm_status tdm_tril(tdm_queue *queue, const tdm_tensor *x, int64_t diagonal,
                                         tdm_tensor *y);

/** The same on and above the diagonal: where j ≥ i + diagonal. */
TDM_API TDM_MUST_USE tdm_status tdm_triu(tdm_queue *queue, const tdm_tensor *x, int64_t diagonal,
                                         tdm_tensor *y);

/* Of strides of any kind. */

/** y = the differences x[.., i + 1, ..] - x[.., i, ..] along dimension `dim`, taken n times, each rounded to the dtype;
 * y, of x's dtype, has n elements fewer there, or none. Integers wrap; a bool is whether two differ. n 0: a copy. The
 * results of all steps but the last are in temporary memory of the queue. */
TDM_API TDM_MUST_USE tdm_status tdm_diff(tdm_queue *queue, const tdm_tensor *x, int dim, int64_t n,
                                         tdm_tensor *y);

/** y = x[.., indices[.., i, ..], ..] along dimension `dim`, in which x may have another extent than the others have. x:
 * any dtype, y's; indices: i32 or i64, of y's shape. An index that is negative, or not below that extent, gives NaN, of
 * dtypes that are no floats 0. Takes temporary memory of the queue: 8 bytes for each element of y, and copies of x
 * and y where they are not contiguous. */
TDM_API TDM_MUST_USE tdm_status tdm_take_along_axis(tdm_queue *queue, const tdm_tensor *x,
                                                    const tdm_tensor *indices, int dim,
                                                    tdm_tensor *y);

/** y, a bool or any other dtype, of x's shape: whether each element of x equals, as in tdm_equal, one of `values`,
 * which has one dimension; NaN equals none. x has at most TDM_MAX_DIMS - 1 dimensions. Each element is compared with
 * all values, so it is for few of them. */
TDM_API TDM_MUST_USE tdm_status tdm_isin(tdm_queue *queue, const tdm_tensor *x,
                                         const tdm_tensor *values, tdm_tensor *y);

/* Sorting: rows of any dtype, compared as numbers on every device. NaN is above all numbers, and -0 equal to 0; of
 * equal elements the one with the lower index comes first, whichever way they are sorted. By merging (Merge Path, Green
 * et al. 2012), in log₂(cols / 16) launches, twice as many for elements of 64 bits; with memory of the queue's for 16
 * bytes an element, 24 for those of 64 bits, of some rows at a time: 2²⁴ elements, if one row has no more. */

/** y = the elements of each row of x, the smallest one first or, with `descending`, the largest (NaN, that is). x:
 * rows; y: rows of x's shape and dtype. */
TDM_API TDM_MUST_USE tdm_status tdm_sort(tdm_queue *queue, const tdm_tensor *x, bool descending,
                                         tdm_tensor *y);

/** The order of each row's elements: indices[..., i] is where the i-th of them is in x, the smallest one first or, with
 * `descending`, the largest (NaN, that is). x: rows; indices: rows of x's shape, i32 or i64. */
TDM_API TDM_MUST_USE tdm_status tdm_argsort(tdm_queue *queue, const tdm_tensor *x, bool descending,
                                            tdm_tensor *indices);

/** The k largest elements of each row, the largest (NaN, that is) first, and where they are in x. values, of x's
 * dtype, and indices, i32 or i64, are rows of x's shape but for the last dimension, which is k, x's at most. One of
 * them may be NULL. Of each pair of runs only k words are kept, so that few are left for the later launches. */
TDM_API TDM_MUST_USE tdm_status tdm_top_k(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *values,
                                          tdm_tensor *indices);

#if defined(__cplusplus)
}
#endif
#endif
