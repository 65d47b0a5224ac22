/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the BLAS provider of a product. */
#ifndef TDMI_BLAS_H
#define TDMI_BLAS_H

#include "core.h"

/* A provider that is attached to the queue, and whether it takes the epilogue too. provider NULL:
 * the builtin kernel. */
typedef struct tdmi_blas_choice {
    tdmi_attached_blas *provider;
    int index;  /* of the provider in the device's list */
    bool fused; /* there is an epilogue, and it does that too */
} tdmi_blas_choice;

/* Its name, as TANDEM_BLAS takes it. */
const char *tdmi_blas_name(const tdmi_blas_choice *choice);

/* The first provider of the queue's device that supports the product, in its order, or the one that
 * TANDEM_BLAS forces: what that one lacks, such as a dtype, goes on to the others, but a device
 * that has no such provider gives TDM_ERROR_UNSUPPORTED. */
tdm_status tdmi_blas_choose(tdm_queue *queue, const tdmi_gemm *gemm,
                            tdmi_blas_choice *choice) TDM_MUST_USE;

/* After the choice, as it ran the product, found that it cannot: the next one, which is the same
 * provider without the epilogue, if it was to do that too, or a later provider. */
tdm_status tdmi_blas_choose_next(tdm_queue *queue, const tdmi_gemm *gemm,
                                 tdmi_blas_choice *choice) TDM_MUST_USE;

#endif
