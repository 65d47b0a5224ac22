/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the BLAS provider of a product. */
#ifndef TDMI_BLAS_H
#define TDMI_BLAS_H

#include "core.h"

/* Why a product runs where it does. */
typedef enum tdmi_blas_why {
    TDMI_WHY_LAST,  /* no provider has the product, so it is left to the builtin kernel */
    TDMI_WHY_FIRST, /* the first of the device's providers that has it */
    TDMI_WHY_NAMED, /* TANDEM_BLAS names it */
    TDMI_WHY_TENSOR, /* the builtin kernel has tensor cores for it, and the provider that comes next has not */
    TDMI_WHY_PANELS, /* B is packed for this provider */
    TDMI_WHY_TABLE,  /* the table of providers that are usually the fastest (blas_table.h) */
    TDMI_WHY_TUNED   /* it was measured on this machine, see `tuned` */
} tdmi_blas_why;

/* How much of the epilogue a provider does. */
typedef enum tdmi_fused { TDMI_FUSED_NONE, TDMI_FUSED_BIAS, TDMI_FUSED_ALL } tdmi_fused;

/* A provider that is attached to the queue, and what it does of the epilogue. provider NULL: the builtin
 * kernel. */
typedef struct tdmi_blas_choice {
    tdmi_attached_blas *provider;
    int index;     /* of the provider in the device's list; -1 when it was not chosen from that */
    int algorithm; /* of the provider's */
    tdmi_fused fused;
    tdmi_blas_why why;
    const tdmi_tuned *tuned; /* as measured, or NULL */
} tdmi_blas_choice;

/* Whether a bias that the provider does not add is to be in C before the product, which then adds to it: so what a
 * 16-bit C is rounded to has the bias. */
bool tdmi_bias_goes_first(const tdmi_gemm *gemm);

/* The product that a provider runs which does so much of the epilogue. With TDMI_FUSED_NONE and a bias that goes first
 * C has the bias already, and beta is 1. */
tdmi_gemm tdmi_gemm_fused(const tdmi_gemm *gemm, tdmi_fused fused);

/* Its name, as TANDEM_BLAS takes it. */
const char *tdmi_blas_name(const tdmi_blas_choice *choice);
const char *tdmi_blas_name_of(int id);

/* Its tdmi_blas_id, or TDMI_BLAS_builtin. */
int tdmi_blas_id_of(const tdmi_blas_choice *choice);

/* Whether products with a weight [n, k] of this dtype would be the faster for its being in panels: where the device has
 * the provider, and TANDEM_BLAS does not name others. */
bool tdmi_blas_wants_panels(tdm_queue *queue, tdm_dtype dtype);

/* With B in panels their provider; what was measured as the fastest for this product, or one near it, unless
 * TANDEM_BLAS names others; else tdmi_blas_choose_usual. */
tdm_status tdmi_blas_choose(tdm_queue *queue, const tdmi_gemm *gemm,
                            tdmi_blas_choice *choice) TDM_MUST_USE;

/* The first provider of the queue's device that supports the product, in its order, or the one that
 * TANDEM_BLAS forces: what that one lacks, such as a dtype, goes on to the others, but a device
 * that has no such provider gives TDM_ERROR_UNSUPPORTED. */
tdm_status tdmi_blas_choose_usual(tdm_queue *queue, const tdmi_gemm *gemm,
                                  tdmi_blas_choice *choice) TDM_MUST_USE;

/* After the choice, as it ran the product, found that it cannot: the next one, which is the same
 * provider without the epilogue, if it was to do that too, or a later provider. */
tdm_status tdmi_blas_choose_next(tdm_queue *queue, const tdmi_gemm *gemm,
                                 tdmi_blas_choice *choice) TDM_MUST_USE;

/* Every way to run the product, at most `room`: of each provider that has it its algorithms, and the
 * builtin kernel. With TANDEM_BLAS those that it names alone, or if none of them has it, what it goes on to. */
tdm_status tdmi_blas_candidates(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *list,
                                int room, int *count) TDM_MUST_USE;

#endif
