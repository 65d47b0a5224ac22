/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of arrays against the reference. */
#ifndef TEST_PRODUCT_H
#define TEST_PRODUCT_H

#include "array.h"
#include "operations/formulas.h"

/* The elements of c as a product of a and b, whose batch dimensions are repeated as tdm_matmul does it, and how far off
 * each may be; of numbers(). options: NULL: the defaults; instead of their bias the array's, or none. */
void product_refer(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, const array *c, double **want, double **bound);

/* Multiplies, with the array's bias, and compares; a and b stay as they were. */
bool product_check(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, array *c);

/* Whether y = activation(x w' + bias) for w of [out, in]; bias may be NULL. */
bool check_linear(const array *x, const array *w, const array *bias, tdm_activation activation,
                  const array *y);

#endif
