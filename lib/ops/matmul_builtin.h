/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by kernels of our own. */
#ifndef TDMI_MATMUL_BUILTIN_H
#define TDMI_MATMUL_BUILTIN_H

#include "launch.h"

/* Whether the kernels can run the product; else why not. */
tdm_status tdmi_check_builtin(const char *function, const tdmi_gemm *gemm) TDM_MUST_USE;

/* Runs it, without its epilogue. */
tdm_status tdmi_run_builtin(tdm_queue *queue, const tdmi_gemm *gemm) TDM_MUST_USE;

#endif
