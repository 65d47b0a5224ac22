/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The common part of operations that find rows by indices. */
#ifndef TDMI_INDEXED_H
#define TDMI_INDEXED_H

#include "launch.h"

/* Dimensions [from, to) of a tensor as one, for kernels. */
typedef struct tdmi_run {
    int64_t count, stride; /* stride: 0 where it does not matter */
} tdmi_run;

/* Refuses those that have no common stride. The tensor is not empty. */
tdm_status tdmi_run_of(const char *function, const char *name, const tdm_tensor *tensor, int from,
                       int to, tdmi_run *run) TDM_MUST_USE;

/* Rows of the dimensions from `from` on, whose elements are adjacent, and fewer than 2^31. */
tdm_status tdmi_elements_of(const char *function, const char *name, const tdm_tensor *tensor,
                            int from, int64_t *count) TDM_MUST_USE;

/* Indices are i32 or i64. */
tdm_status tdmi_check_indices(const char *function, const char *name,
                              const tdm_tensor *indices) TDM_MUST_USE;

/* The tensor's shape is that of the first `a_dims` dimensions of a, then those of b from b_from on, of which
 * there may be none. */
tdm_status tdmi_check_joined_shape(const char *function, const char *name, const tdm_tensor *tensor,
                                   const tdm_tensor *a, const tdm_tensor *b,
                                   int b_from) TDM_MUST_USE;

#endif
