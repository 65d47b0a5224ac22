/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which products our own kernels are faster with than the libraries for the host's cores. */
#ifndef TDMI_BLAS_TABLE_H
#define TDMI_BLAS_TABLE_H

#include "backend.h"

/* A C of few rows or columns, so that all that takes time is reading the large matrix once. */
bool tdmi_is_narrow(const tdmi_gemm *gemm);

/* Such a product that the builtin kernel is faster with than a library that has it, on the host's cores. */
bool tdmi_builtin_first(const tdmi_gemm *gemm);

#endif
