/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Reductions over any dimensions: sums, means, extremes, norms, variances and where the extremes
 * are; and sums of the elements so far.
 *
 * The rules of ops.h for all operations and for threads hold here as well. `dims` names the `count`
 * dimensions of x that are reduced, in any order and none twice; NULL with count 0 means all of
 * them, and dims that is not NULL with count 0 is refused. y has x's shape without these, or with
 * extent 1 in their place: which, its number of dimensions says. When all are reduced it has one
 * element, of any number of dimensions. x and y may have any strides; y overlaps no input.
 * tdm_cumsum, which reduces nothing, says for itself what shape y has and what it may overlap.
 *
 * Reducing takes as long as reading x, in one pass over it; where no dimension of x has adjacent
 * elements, or where the header of a function says so, x is copied first. Each dimension of x
 * has fewer than 2³¹ elements.
 *
 * No atomic operations: a result depends on the device and on shapes, strides and offsets alone,
 * and repeats bit for bit. Along rows it does not depend on the batch either. "Error:" is as in ops.h, with its e and
 * k. */
#ifndef TANDEM_REDUCE_H
#define TANDEM_REDUCE_H

#include <tandem/ops.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Arithmetic. y is of x's dtype or, when x is f16 or bf16, f32 at will: these are computed in
 * f32, and rounded once. */

/** y = Σx; of nothing 0. Floats are added up in blocks, and the blocks with what each addition
 * lost (Kahan 1965). x is of any dtype: of one that is no float y is i64 or u64, and the sum
 * modulo 2⁶⁴; a bool counts 1 where it is true. Error: k·e·Σ|x|, at any length. */
TDM_API TDM_MUST_USE tdm_status tdm_sum(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                        size_t count, tdm_tensor *y);

/** y = Σx / n, of n elements each; of nothing NaN. x: a float; tdm_cast makes one of integers.
 * Error: k·e·Σ|x| / n + e|y|. */
TDM_API TDM_MUST_USE tdm_status tdm_mean(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                         size_t count, tdm_tensor *y);

/** y = Πx; of nothing 1. In no particular order, so what overflows in one may not in another. x
 * and y as tdm_sum has them. Error: n·e|y|. Where a product of some of the elements is subnormal, add n/2 of the
 * smallest subnormal number, multiplied by the product of the other elements if that is above 1. */
TDM_API TDM_MUST_USE tdm_status tdm_prod(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                         size_t count, tdm_tensor *y);

/** y = Σ(x - mean)² / (n - correction), of n elements each: correction 0 gives the variance of
 * what is there, 1 estimates that of what it was drawn from. Right however large the mean is, as
 * each block of x is read twice, from the cache, the second time around its own mean (Chan, Golub
 * & LeVeque 1982). NaN where n - correction is 0 or less. correction: finite, not negative. x: a
 * float. Error: e(2k·y + 4f(d + e·f) · n / (n - correction)), where d is the deviation √(Σ(x - mean)² / n),
 * and f is d and how far the first element is from the mean. The loss of subnormal squares is divided by n -
 * correction, too. */
TDM_API TDM_MUST_USE tdm_status tdm_variance(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                             size_t count, double correction, tdm_tensor *y);

/** y = the root of that, the standard deviation: infinite where the variance is. Error: that of the variance, with
 * what its squares lose where they are subnormal, divided by y, or the root of that error where it is less; and 4e·y.
 * So it may be 0 where √(Σ(x - mean)² / n) is up to 3·10⁻²³, in f64 3·10⁻¹⁶²; on devices that take
 * subnormal numbers for 0, up to 1.1·10⁻¹⁹ and 1.5·10⁻¹⁵⁴. */
TDM_API TDM_MUST_USE tdm_status tdm_standard_deviation(tdm_queue *queue, const tdm_tensor *x,
                                                       const int *dims, size_t count,
                                                       double correction, tdm_tensor *y);

/** y = how many elements are not 0, i64 or u64; of nothing 0. NaN is not 0. x: any dtype that the device computes
 * with; one of more than a byte is converted to bool first, in memory of the queue's for that. */
TDM_API TDM_MUST_USE tdm_status tdm_count_nonzero(tdm_queue *queue, const tdm_tensor *x,
                                                  const int *dims, size_t count, tdm_tensor *y);

/** y = the norm of x over the dimensions, as tdm_norm has it over all of them: L2 is right
 * wherever it fits the dtype. Of nothing 0. x: a float. Error as tdm_norm. */
TDM_API TDM_MUST_USE tdm_status tdm_norm_over(tdm_queue *queue, tdm_norm_kind kind,
                                              const tdm_tensor *x, const int *dims, size_t count,
                                              tdm_tensor *y);

/** y = Σab, of tensors of one shape and dtype, a float; y has one element. Strides other than
 * those of contiguous tensors take a copy. Error: k·e·Σ|ab|. */
TDM_API TDM_MUST_USE tdm_status tdm_dot(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y);

/** y[.., i, ..] = Σ x[.., j, ..] over j ≤ i along dimension `dim`, of x's shape: the sums of the
 * elements so far. x and y are of dtypes that tdm_sum has. Adding takes no particular order inside
 * a block of some elements, so what overflows in one may not in another; an element that is
 * infinite or NaN stays in all sums from there on, and changes none before it. y may be x itself;
 * it overlaps it in no other way. Where the elements of x and y are not adjacent in the same
 * dimension, what is not contiguous is copied, x before or y after. Few long lines are cut into
 * parts, so that the last bits depend on how many lines there are, and on cpu on how many threads.
 * Error: k·e·Σ|x|, of the elements so far. */
TDM_API TDM_MUST_USE tdm_status tdm_cumsum(tdm_queue *queue, const tdm_tensor *x, int dim,
                                           tdm_tensor *y);

/** The same of products, in no particular order either. Error: for element i, counted from 1, that of tdm_prod of i
 * elements. */
TDM_API TDM_MUST_USE tdm_status tdm_cumprod(tdm_queue *queue, const tdm_tensor *x, int dim,
                                            tdm_tensor *y);

/* Comparisons. x is of any dtype, f64 on every device. */

/** y = the largest element, of x's dtype. NaN, where there is one, as in NumPy. An extent of 0
 * among the reduced ones is refused with TDM_ERROR_INVALID_SHAPE unless y is empty, too: nothing
 * has no largest element. */
TDM_API TDM_MUST_USE tdm_status tdm_max(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                        size_t count, tdm_tensor *y);

/** The same of the smallest. */
TDM_API TDM_MUST_USE tdm_status tdm_min(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                        size_t count, tdm_tensor *y);

/** y, a bool: whether any element is not 0; of nothing false. NaN is not 0. */
TDM_API TDM_MUST_USE tdm_status tdm_any(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                        size_t count, tdm_tensor *y);

/** y, a bool: whether all elements are not 0; of nothing true. */
TDM_API TDM_MUST_USE tdm_status tdm_all(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                        size_t count, tdm_tensor *y);

/** Where along dimension `dim` the largest element is: the first of equal ones, of which -0 and 0
 * are; the first NaN, where there is one, as in NumPy. indices, i32 or i64, has the shape of y
 * above. An extent of 0 is refused as in tdm_max. */
TDM_API TDM_MUST_USE tdm_status tdm_argmax(tdm_queue *queue, const tdm_tensor *x, int dim,
                                           tdm_tensor *indices);

/** The same of the smallest. */
TDM_API TDM_MUST_USE tdm_status tdm_argmin(tdm_queue *queue, const tdm_tensor *x, int dim,
                                           tdm_tensor *indices);

#if defined(__cplusplus)
}
#endif
#endif
