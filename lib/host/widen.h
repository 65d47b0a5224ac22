/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of 16-bit matrices by a library that has them in f32. */
#ifndef TDMI_HOST_WIDEN_H
#define TDMI_HOST_WIDEN_H

#include "backend.h"

/* Whether a library that lacks the product as it stands has it in f32. */
bool tdmi_host_widens(const tdmi_host_blas *blas, const tdmi_gemm *gemm);

/* Computes a part on the calling thread: a block of A and of B after the other is converted and multiplied,
 * and C, with bias and activation, rounded once. False: there was not the memory for it. */
bool tdmi_host_product_widened(const tdmi_host_blas *blas, const tdmi_host_gemm *part);

#endif
