/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted as words, see kernels/sort_keys.cl. */
#ifndef TDMI_SORT_H
#define TDMI_SORT_H

#include "launch.h"

/* Bytes of scratch memory for so many words of a dtype. */
size_t tdmi_sort_bytes(tdm_dtype dtype, int64_t words);

/* Sorts args->rows rows of args->cols elements of x, so that the first args->keep words of each are right; they lie at
 * args->from in the scratch memory, and have the members that sort_take needs in args. */
tdm_status tdmi_sort_rows(tdm_queue *queue, tdm_dtype dtype, const tdmi_mem *x,
                          const tdmi_mem *scratch, tdm_sort_args *args) TDM_MUST_USE;

#endif
