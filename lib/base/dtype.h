/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Facts about each dtype on the host: those of the public list, and the numbers that elements hold. */
#ifndef TDMI_DTYPE_H
#define TDMI_DTYPE_H

#include <tandem/tensor.h>

typedef enum tdmi_dtype_kind {
    TDMI_KIND_FLOAT,
    TDMI_KIND_SIGNED,
    TDMI_KIND_UNSIGNED,
    TDMI_KIND_BOOL
} tdmi_dtype_kind;

/* Of a dtype of the list. */
tdmi_dtype_kind tdmi_dtype_kind_of(tdm_dtype dtype);

/* The unsigned integers as wide as the dtype: how its elements are moved bit by bit. */
tdm_dtype tdmi_dtype_bits(tdm_dtype dtype);

/* How kernels store it where the sign of an integer is no matter: the same, unsigned ones for
 * integers. */
tdm_dtype tdmi_dtype_stored(tdm_dtype dtype);

/* Those that operations compute with, as a message lists them: "f32, f64, …". Static storage. */
const char *tdmi_float_dtypes(void);

/* f64 to i64 as cast does it: truncated, held within its limits, NaN gives 0. */
int64_t tdmi_to_i64(double value);

/* A number as an element, converted as tdm_cast does it from f64: in the low bytes. */
uint64_t tdmi_element_bits(tdm_dtype dtype, double value);

/* How kernels turn a dtype's bits, at the top of a key of 32 bits or, of 64-bit ones, of 64, into the order of its
 * values (RANK in kernels/reduce.h). zero: the bits of -0, or 0; limit: the largest value of a byte. */
typedef struct tdmi_ranks {
    int64_t fold, turn, above, zero, limit;
} tdmi_ranks;
tdmi_ranks tdmi_ranks_of(tdm_dtype dtype);

/* The number in an element of a floating dtype, and in one of the others: of u64 as its 64 bits. */
double tdmi_element_float(tdm_dtype dtype, const void *element);
int64_t tdmi_element_integer(tdm_dtype dtype, const void *element);

#endif
