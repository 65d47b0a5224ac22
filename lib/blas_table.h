/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which provider is usually the fastest with a product on the host's cores, where nothing was measured. */
#ifndef TDMI_BLAS_TABLE_H
#define TDMI_BLAS_TABLE_H

#include "backend.h"

/* A C of few rows or columns, so that all that takes time is reading the large matrix once. */
bool tdmi_is_narrow(const tdmi_gemm *gemm);

/* A provider or TDMI_BLAS_builtin; TDMI_NO_PROVIDER where the device's order holds. */
enum { TDMI_NO_PROVIDER = -1 };
int tdmi_table_first(const tdmi_gemm *gemm);

#endif
