/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A matrix product in words. */
#include "ops/product_text.h"

#include <stdio.h>

const char *tdmi_product_text(const tdmi_product_words *product, char text[TDMI_PRODUCT_TEXT]) {
    const bool activates = product->activation != TDM_ACTIVATION_NONE;
    char batch[32] = "";
    if (product->batch > 1) snprintf(batch, sizeof batch, "%lld*", (long long)product->batch);
    snprintf(text, TDMI_PRODUCT_TEXT, "%s %s%lldx%lldx%lld%s%s%s%s%s%s",
             tdm_dtype_name(product->dtype), batch, (long long)product->m, (long long)product->n,
             (long long)product->k, product->transpose_a ? " transpose_a" : "",
             product->transpose_b ? " transpose_b" : "", product->tf32 ? " tf32" : "",
             product->bias ? " bias" : "", activates ? " " : "",
             activates ? tdm_activation_name(product->activation) : "");
    return text;
}
