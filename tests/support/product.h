/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of arrays against the reference. */
#ifndef TEST_PRODUCT_H
#define TEST_PRODUCT_H

#include "array.h"
#include "operations/formulas.h"

/* Makes, by numbers(), the elements that c should have as a product of a and b, whose batch dimensions are repeated as
 * tdm_matmul repeats them, and the bound of each element's error. options may be NULL; the bias is the array, or none,
 * whatever they have. */
void product_refer(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, const array *c, double **want, double **bound);

/* Multiplies, with the same options and bias, and compares c, and a and b with what they were. */
bool product_check(const tdm_matmul_options *options, const array *a, const array *b,
                   const array *bias, array *c);

/* Whether y = activation(x w' + bias) for w of [out, in]; bias may be NULL. */
bool check_linear(const array *x, const array *w, const array *bias, tdm_activation activation,
                  const array *y);

#endif
