/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A matmul as its parts: what is to be multiplied, and that run by a chosen provider. */
#ifndef TDMI_MATMUL_H
#define TDMI_MATMUL_H

#include "blas.h"

/* A product as it is stored, and whether its bias has an element to each stored row instead of each
 * column: then no provider fuses the epilogue. */
typedef struct tdmi_product {
    tdmi_gemm gemm;
    bool bias_of_rows;
    /* Where the matrices of a tensor have no common stride there are several products, of which `gemm` is the first:
     * one for each index of the first batch dimensions. */
    int apart; /* how many dimensions */
    int64_t apart_shape[TDM_MAX_DIMS];
    int64_t apart_stride[3][TDM_MAX_DIMS]; /* of gemm.a, b and c */
} tdmi_product;

/* All checks of tdm_matmul, and the product. C stored transposed is computed as Cᵀ = op(B)ᵀ op(A)ᵀ, and a
 * bias lies along the other dimension then. */
tdm_status tdmi_describe_product(const char *caller, tdm_queue *queue,
                                 const tdm_matmul_options *options, const tdm_tensor *a,
                                 const tdm_tensor *b, const tdm_tensor *c,
                                 tdmi_product *p) TDM_MUST_USE;

/* The product of that number, from 0; false after the last. */
bool tdmi_product_of(const tdmi_product *p, int64_t number, tdmi_product *one);

/* Whether there is anything but beta C to compute: else A and B are not read. */
bool tdmi_product_multiplies(const tdmi_product *p);

/* The product as it is offered to providers. */
tdmi_gemm tdmi_product_offered(const tdmi_product *p);

/* Runs a product that multiplies, its epilogue included. TDM_ERROR_UNSUPPORTED: the provider has found that
 * it cannot, and nothing was run. */
tdm_status tdmi_run_product(tdm_queue *queue, const tdmi_product *p,
                            const tdmi_blas_choice *choice) TDM_MUST_USE;

#endif
