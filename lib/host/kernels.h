/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's own work on a part of a product, by kernels of the cpu backend. */
#ifndef TDMI_HOST_KERNELS_H
#define TDMI_HOST_KERNELS_H

#include "backend.h"

/* Whether the library was built with them. */
bool tdmi_host_kernels(void);

/* A row-major matrix in host memory. */
typedef struct tdmi_host_matrix {
    tdm_dtype dtype;
    const void *data;
    int64_t ld; /* elements from row to row */
} tdmi_host_matrix;

/* to = from, converted as tdm_cast does; floats. */
void tdmi_host_convert(int64_t rows, int64_t cols, tdmi_host_matrix from, tdmi_host_matrix to);

/* The product by the builtin kernel. False: there was not the memory for it. */
bool tdmi_host_product(const tdmi_host_gemm *gemm);

/* c = activation(c + bias), with a bias of the columns or NULL. */
void tdmi_host_epilogue(int64_t rows, int64_t cols, tdmi_host_matrix c, const void *bias,
                        tdm_activation activation);

#endif
