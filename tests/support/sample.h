/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One call of an operation, with arrays for its operands, compared with its reference. */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "array.h"
#include "contents.h"

typedef struct sample {
    op_case c;
    int64_t gap;                 /* elements between two rows; of strides of any kind -1 */
    int on[OP_OPERANDS];         /* of an output: the input that it is, or -1 */
    content what;                /* of the last row of inputs of the case's shape */
    array *operand[OP_OPERANDS]; /* NULL: not given */
    double least;                /* added to every bound */
} sample;

/* A case of an operation with all usual operands, nothing in place, plain and without gaps. */
sample sample_of(const operation *op, tdm_dtype dtype, int ndim, const int64_t *shape);

/* Does the device compute with the dtypes of all operands? */
bool sample_runs_here(const operation *op, tdm_dtype dtype);

/* The number-th way to call it: which operands are given, and which outputs are inputs. How many there are. */
int sample_ways(const operation *op);
void sample_set_way(sample *s, int number);

/* Arrays of random numbers for the operands. */
void sample_make(sample *s);

/* The tensors of a call, and the call. */
void sample_tensors(const sample *s, tdm_tensor **t);
tdm_status sample_call(const sample *s);

/* Calls it and compares all outputs; checks that inputs are not written elsewhere. */
bool sample_compare(sample *s);

/* Makes it, compares, and frees all arrays. */
bool sample_check(sample *s);

/* The reference's values for operand `output`, and bounds; of numbers(). */
void sample_refer(const sample *s, int output, double **want, double **bound);

/* Says which case it is when a check fails. */
void sample_describe(const sample *s);

#endif
