/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* TANDEM_TRACE: the products of a program, for `tdm tune --shapes`. */
#ifndef TDMI_MATMUL_TRACE_H
#define TDMI_MATMUL_TRACE_H

#include "backend.h"
#include "ops/product_text.h"

const char *tdmi_gemm_text(const tdmi_gemm *gemm, char text[TDMI_PRODUCT_TEXT]);

/* Writes a product that the process has not had before, and its provider, to the log, and the product to the file that
 * TANDEM_TRACE names, if it does. */
void tdmi_trace_product(const tdmi_gemm *gemm, const char *provider);

#endif
