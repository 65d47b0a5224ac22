/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How an operation's work is cut into groups and pieces of rows, and its launch. Everything
 * that differs between devices here is data (tdmi_device_facts). */
#ifndef TDMI_LAUNCH_H
#define TDMI_LAUNCH_H

#include "base/dtype.h"
#include "check.h"
#include "core.h"
#include "kernel_list.h"

/* The dimensions of operands of one shape. */
typedef struct tdmi_dims {
    int count, operands;
    int64_t shape[TDM_MAX_DIMS];
    int64_t strides[TDM_KERNEL_MAX_TENSORS][TDM_MAX_DIMS];
} tdmi_dims;

/* Those with the largest stride in the operand `by` come first, after those that it repeats, whose stride is 0. */
void tdmi_dims_sort(tdmi_dims *d, int by);

/* Neighbours become one, of at most `most` elements, wherever all operands allow it. */
void tdmi_dims_merge(tdmi_dims *d, int64_t most);

/* Rows of `cols` columns cut into `chunks` pieces of `chunk` columns, so that few long rows fill
 * the device too. chunks is 1 where there are rows enough. */
typedef struct tdmi_pieces {
    uint32_t chunk, chunks;
} tdmi_pieces;

tdmi_pieces tdmi_cut_rows(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size);

/* Rows that are reduced: their chunks, of `least` columns or of 32 KiB where that is 0, and more of long rows, and
 * pieces of whole chunks, as tdmi_cut_rows would cut them; in one phase. */
tdm_cut tdmi_cut_chunks(const tdm_queue *queue, int64_t rows, int64_t cols, int64_t least,
                        size_t element_size);

/* variant.stream for `rows`: whether they are much larger than the cache. Then outputs of as many bypass the
 * cache, if their rows, and so the pieces of tdmi_cut_rows, have a cache line at least; with `kept` they do not,
 * as where an output is an input too. */
uint8_t tdmi_stores(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size,
                    bool kept);

/* Whether elements at these places, offsets and strides that are joined by |, begin at multiples of 16
 * bytes: a kernel's variant.vectors, when it holds of all its rows. */
static inline bool tdmi_is_aligned(int64_t places, size_t element_size) {
    return (uint64_t)places * element_size % 16 == 0;
}

/* variant.vectors of a kernel that reduces rows, whose results do not depend on where they lie. */
static inline uint8_t tdmi_reduced_vectors(int64_t places, size_t element_size) {
    return tdmi_is_aligned(places, element_size) ? 1 : TDMI_LOOSE;
}

/* The stride of rows, as far as it matters: of one row it does not. */
static inline int64_t tdmi_row_step(int64_t rows, int64_t stride) { return rows > 1 ? stride : 0; }

/* One kernel over `items` items (rows or pieces of rows) of `cols` columns each. The variant
 * is completed here (lanes.h); mems in the kernel's order. */
tdm_status tdmi_launch_items(tdm_queue *queue, tdmi_variant variant, int64_t items, int64_t cols,
                             const tdmi_mem *const *mems, const void *args) TDM_MUST_USE;

/* The same over rows that tdmi_cut_rows cuts: `chunk` and `chunks`, members of args, are filled in. */
tdm_status tdmi_launch_cut(tdm_queue *queue, tdmi_variant variant, int64_t rows, int64_t cols,
                           const tdmi_mem *const *mems, const void *args, tdm_u32 *chunk,
                           tdm_u32 *chunks) TDM_MUST_USE;

/* The variant that these launch. */
tdmi_variant tdmi_complete_variant(const tdm_queue *queue, tdmi_variant variant, int64_t cols);

/* The same with a given number of groups, each of `cols` columns' worth of lanes. */
tdm_status tdmi_launch_groups(tdm_queue *queue, tdmi_variant variant, int64_t groups, int64_t cols,
                              const tdmi_mem *const *mems, const void *args) TDM_MUST_USE;

/* The memory of a tensor; NULL for NULL and for an empty buffer. */
const tdmi_mem *tdmi_mem_of(const tdm_tensor *tensor);

/* The kernel that casts: bit by bit, as unsigned integers, where no bit changes (cast_exists in
 * cmake/KernelUnits.cmake says the same). */
tdmi_variant tdmi_cast_variant(tdm_dtype to, tdm_dtype from);

#endif
