/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of every dtype as numbers: conversions written from the formats' definitions, in extended
 * precision and without the library, so that they can judge it. long double holds every value of
 * every dtype exactly. */
#ifndef REFERENCE_VALUES_H
#define REFERENCE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tensor.h>

/* Bytes of an element. */
size_t dtype_size(tdm_dtype dtype);

/* Distance from 1 to the next larger value (2^-23 for f32), 0 for integers. */
double dtype_eps(tdm_dtype dtype);

/* eps of the arithmetic: that of f32 for the 16-bit floats. */
double compute_eps(tdm_dtype dtype);

/* Half a unit in the last place at |x|: the largest error of rounding x to the dtype once. */
double half_ulp(tdm_dtype dtype, double x);

/* Largest finite value. */
double dtype_max(tdm_dtype dtype);

bool dtype_is_float(tdm_dtype dtype);

/* One element at `bytes`; of a bool 0 or 1. */
long double decode(tdm_dtype dtype, const void *bytes);

/* One element that is no float, with its sign extended to 64 bits. */
uint64_t decode_integer(tdm_dtype dtype, const void *bytes);

/* `rows` times `cols` adjacent elements, each `stride` elements after the one before; the first is
 * element `first` at `bytes`. */
void decode_rows(tdm_dtype dtype, const void *bytes, int64_t first, int64_t rows, int64_t stride,
                 int64_t cols, double *out);

/* No NaN and no infinity among `count` elements? */
bool all_finite(tdm_dtype dtype, const void *bytes, int64_t count);

/* Writes x as one element: to nearest even for floats, truncated and saturated for integers with
 * NaN as 0, and true for bool unless it is 0, as tdm_cast promises for a float source. */
void encode(tdm_dtype dtype, long double x, void *bytes);

/* Elements that are `stride` bytes apart, from doubles and to them: as one by one, in less time. */
void encode_run(tdm_dtype dtype, const double *x, int64_t count, void *bytes, ptrdiff_t stride);
void decode_run(tdm_dtype dtype, const void *bytes, ptrdiff_t stride, int64_t count, double *out);

/* As encode, from an integer to a dtype that is no float: a narrower one keeps the low bits. */
void encode_integer(tdm_dtype dtype, uint64_t x, void *bytes);

/* x as the dtype would hold it. */
double rounded(tdm_dtype dtype, double x);

#endif
