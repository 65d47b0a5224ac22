/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted as words, see kernels/sort_keys.cl, and what is read from sorted words. */
#ifndef TDMI_SORT_H
#define TDMI_SORT_H

#include "launch.h"

/* The most bytes that the words of the rows sorted at a time take, unless one row's take more. */
#define TDMI_SLAB_WORDS ((int64_t)1 << 24)

/* Bytes of so many words of scratch memory. Of 32 bits the largest size, which no device has, stands for all that are
 * larger. */
static inline size_t tdmi_words_bytes(uint64_t words) {
    return words < SIZE_MAX / sizeof(uint64_t) ? (size_t)words * sizeof(uint64_t) : SIZE_MAX;
}

/* Bytes of scratch memory for `words` of a dtype. */
size_t tdmi_sort_bytes(tdm_dtype dtype, int64_t words);

/* Sorts args->rows rows of args->cols elements of x, so that the first args->keep words of each are right; they lie
 * at args->from in the scratch memory, and have the members that sort_take needs in args. */
tdm_status tdmi_sort_rows(tdm_queue *queue, tdm_dtype dtype, const tdmi_mem *x,
                          const tdmi_mem *scratch, tdm_sort_args *args) TDM_MUST_USE;

/* Merges runs of args->run sorted words of rows of args->cols words at args->to, until the first `keep` of each row
 * are right; these are at args->from then. `spare` is where words may be in between. */
tdm_status tdmi_merge_runs(tdm_queue *queue, const tdmi_mem *scratch, int64_t spare, int64_t keep,
                           tdm_sort_args *args) TDM_MUST_USE;

/* The first `keep` of each row of x are wanted, as whose numbers and as which values; either may be NULL. */
typedef struct tdmi_sorting {
    const tdm_tensor *x, *values, *indices;
    int64_t rows, cols, keep;
    tdm_sort_args args;
} tdmi_sorting;
tdm_status tdmi_sorting_of(const char *function, const tdm_tensor *x, bool descending, int64_t keep,
                           const tdm_tensor *values, const tdm_tensor *indices,
                           tdmi_sorting *sorting) TDM_MUST_USE;

/* Writes those of args.rows rows, whose words lie as tdmi_sort_rows leaves them; args are those of the next rows
 * then. */
tdm_status tdmi_take_sorted(tdm_queue *queue, const tdmi_mem *scratch,
                            tdmi_sorting *sorting) TDM_MUST_USE;

/* Sorts all of each row, and writes those. */
tdm_status tdmi_sort_and_take(tdm_queue *queue, tdmi_sorting *sorting) TDM_MUST_USE;

#endif
