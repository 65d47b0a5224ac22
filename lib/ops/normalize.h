/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The common part of operations that normalise rows. */
#ifndef TDMI_NORMALIZE_H
#define TDMI_NORMALIZE_H

#include "launch.h"

/* Rows of x and y, which have one shape. */
tdm_status tdmi_rows_of_both(const char *function, const tdm_tensor *x, const tdm_tensor *y,
                             tdmi_rows *xr, tdmi_rows *yr) TDM_MUST_USE;

/* `places`: where rows are read and written, see tdmi_is_aligned. */
tdmi_variant tdmi_rows_variant(const tdm_queue *queue, tdmi_kernel_id kernel, unsigned op,
                               const tdm_tensor *x, const tdm_tensor *y, const tdmi_rows *rows,
                               int64_t places);

/* One launch over whole rows or, of few long rows, two over their pieces, of norms the second over rows, so that all
 * the device works on them: then each piece has a group to itself, as CUT in kernels/chunks.h takes for granted. `cut`
 * is a member of `args`; mems[partial] is for the states that chunks leave, each of so many numbers. */
tdm_status tdmi_launch_rows(tdm_queue *queue, tdmi_variant variant, int64_t rows, int64_t cols,
                            const tdmi_mem **mems, int partial, size_t numbers, const void *args,
                            tdm_cut *cut) TDM_MUST_USE;

#endif
