/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A matrix product in words, as TANDEM_TRACE writes it and `tdm tune` reads it. Of the library and of the
 * program tdm. */
#ifndef TDMI_PRODUCT_TEXT_H
#define TDMI_PRODUCT_TEXT_H

#include <tandem/ops.h>

/* C [batch, m, n] = activation(op(A) op(B) + bias). */
typedef struct tdmi_product_words {
    tdm_dtype dtype;
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b, tf32, bias;
    tdm_activation activation;
} tdmi_product_words;

/* "f32 12*128x128x64 transpose_b bias gelu": dtype, batch*MxNxK, and what else there is. */
enum { TDMI_PRODUCT_TEXT = 192 };
const char *tdmi_product_text(const tdmi_product_words *product, char text[TDMI_PRODUCT_TEXT]);

#endif
