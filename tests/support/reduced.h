/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions of arrays over any dimensions, run and compared with the reference. */
#ifndef TEST_REDUCED_H
#define TEST_REDUCED_H

#include "array.h"
#include "operations/formulas.h"

extern const char *const reduction_names[REF_REDUCTIONS];

/* How a result is laid out. */
typedef enum layout { WITHOUT_DIMS, WITH_DIMS, WITH_GAPS } layout;

/* The default dtype of a reduction of x. */
tdm_dtype reduced_dtype(ref_reduction what, tdm_dtype dtype);

/* Does the library have it for this dtype? */
bool reduction_takes(ref_reduction what, tdm_dtype dtype);

/* Two rows or columns of n elements, the second half of which are the negatives of the first. */
array *array_cancelling(tdm_dtype dtype, bool in_columns, int64_t n);

/* 5 rows of 77 integers, negative ones where there are such, with the most and the least of the dtype; of 64 bits the
 * largest double below the most. */
array *array_limits(tdm_dtype dtype);

/* Copies x so that the elements of one result lie side by side: results in the order of the rest of x's shape,
 * `count` of them, of n elements each. dims: bit d set where dimension d is reduced. */
double *gathered(const array *x, unsigned dims, int64_t *count, int64_t *n);

/* An array of the shape that is left of x. */
array *reduced_array(const array *x, unsigned dims, tdm_dtype dtype, layout how);

/* Reduces x over the dimensions into an array of dtype `out`, and compares. */
bool reduce_case(ref_reduction what, const array *x, unsigned dims, tdm_dtype out, layout how,
                 double correction);

/* The same for argmax or argmin. */
bool place_case(bool smallest, const array *x, int dim, tdm_dtype indices, layout how);

#endif
