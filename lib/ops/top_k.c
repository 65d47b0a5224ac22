/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* top_k: few of each row are selected, and these sorted; of many the row is sorted. */
#include <tandem/arrays.h>

#include "indexed.h"
#include "sort.h"

/* A run is sorted by counting, for each of its words, those before it. */
enum { RUN = 256, LONGEST_RUN = 1024, LEAST_PART = 4, MOST_CHUNK = 1 << 20 };

/* How the rows are cut; a chunk of 0 elements where they are sorted. */
typedef struct selection {
    int64_t chunk, chunks;
    int64_t slot, run, most, room; /* as tdm_select_args has them */
} selection;

static int64_t rounded_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static selection selection_of(const tdm_queue *queue, const tdmi_sorting *sorting) {
    const size_t size = tdm_dtype_size(sorting->x->dtype);
    const bool one_lane = queue->device->facts->row_loops, wide = size == sizeof(uint64_t);
    const int64_t keep = sorting->keep, cols = sorting->cols;
    selection s = {.chunk = cols, .run = keep, .slot = keep};
    if (!wide) { /* words of those have no room for both halves of a key: they are never merged */
        s.chunk = tdmi_cut_rows(queue, sorting->rows, cols, size).chunk;
        if (s.chunk < LEAST_PART * keep) s.chunk = rounded_up(LEAST_PART * keep, TDM_SELECT_BLOCK);
        if (s.chunk > MOST_CHUNK && !one_lane) s.chunk = MOST_CHUNK;
        if (s.chunk > cols) s.chunk = cols;
        if (keep > RUN) s.run = RUN;
        if (keep > RUN) s.slot = rounded_up(keep, RUN);
    }
    const bool is_long = s.run > LONGEST_RUN || (s.chunk > MOST_CHUNK && !one_lane);
    if (is_long || keep > s.chunk / LEAST_PART) return (selection){.chunk = 0};
    s.chunks = (cols + s.chunk - 1) / s.chunk;
    /* as for one lane, everywhere: the text for one also runs on simulated devices that have many */
    s.most = 2 * keep + 2 * TDM_SELECT_BLOCK;
    s.room = wide ? s.most + (s.most + 1) / 2 : s.most;
    return s;
}

static tdm_status select_and_take(tdm_queue *queue, const selection *s, tdmi_sorting *sorting) {
    const tdm_dtype dtype = sorting->x->dtype;
    const uint8_t bits = (uint8_t)tdmi_dtype_bits(dtype);
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_SORT_SELECT, .t = bits, .u = bits};
    const int64_t words = s->chunks * s->slot, of_row = 2 * words + s->chunks * s->room;
    const int64_t fitting = TDMI_SLAB_WORDS / of_row > 0 ? TDMI_SLAB_WORDS / of_row : 1;
    const int64_t slab = fitting < sorting->rows ? fitting : sorting->rows;
    const tdmi_ranks ranks = tdmi_ranks_of(dtype);
    tdm_sort_args *const sort = &sorting->args;
    tdm_select_args args = {.x_stride = sort->x_stride,
                            .held = 2 * slab * words,
                            .fold = ranks.fold,
                            .turn = ranks.turn,
                            .above = ranks.above,
                            .zero = ranks.zero,
                            .limit = ranks.limit,
                            .cols = (tdm_u32)sorting->cols,
                            .chunk = (tdm_u32)s->chunk,
                            .chunks = (tdm_u32)s->chunks,
                            .keep = (tdm_u32)sorting->keep,
                            .slot = (tdm_u32)s->slot,
                            .run = (tdm_u32)s->run,
                            .room = (tdm_u32)s->room,
                            .most = (tdm_u32)s->most};
    const tdmi_mem *scratch;
    TDMI_TRY(tdmi_queue_scratch(queue, tdmi_words_bytes((uint64_t)(slab * of_row)), &scratch));
    const tdmi_mem *const mems[] = {scratch, tdmi_mem_of(sorting->x)};
    sort->cols = (tdm_u32)words;
    for (int64_t row = 0; row < sorting->rows; row += slab) {
        args.rows = sort->rows = sorting->rows - row < slab ? sorting->rows - row : slab;
        args.x_offset = sort->x_offset;
        TDMI_TRY(tdmi_launch_items(queue, variant, args.rows * s->chunks, s->chunk, mems, &args));
        sort->run = (tdm_u32)s->run;
        sort->to = 0;
        TDMI_TRY(tdmi_merge_runs(queue, scratch, slab * words, sorting->keep, sort));
        TDMI_TRY(tdmi_take_sorted(queue, scratch, sorting));
    }
    return TDM_OK;
}

/* An output of top_k: x's shape but for its last dimension, which gives k. */
static tdm_status check_kept(const char *function, const char *name, const tdm_tensor *kept,
                             const tdm_tensor *x, int64_t *k) {
    const int last = x->ndim - 1;
    tdm_tensor wanted = *x;
    if (kept->ndim == x->ndim) wanted.shape[last] = kept->shape[last];
    if (*k >= 0) wanted.shape[last] = *k;
    TDMI_TRY(tdmi_check_same_shape(function, name, kept, "what is kept of x", &wanted));
    *k = wanted.shape[last];
    if (*k <= x->shape[last]) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: %s has %lld elements of each row, but x has %lld", function, name,
                     (long long)*k, (long long)x->shape[last]);
}

tdm_status tdm_top_k(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *values,
                     tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    const unsigned output = TDMI_ARG_MOVED | TDMI_ARG_OUTPUT | TDMI_ARG_OPTIONAL;
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"values", values, output, 0},
                             {"indices", indices, output, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    int64_t k = -1;
    if (!values && !indices)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: values and indices are both NULL",
                         __func__);
    if (values) TDMI_TRY(tdmi_check_same_dtype(__func__, "x", x, "values", values));
    if (values) TDMI_TRY(check_kept(__func__, "values", values, x, &k));
    if (indices) TDMI_TRY(tdmi_check_indices(__func__, "indices", indices));
    if (indices) TDMI_TRY(check_kept(__func__, "indices", indices, x, &k));
    if (k == 0) return TDM_OK;
    tdmi_sorting sorting;
    TDMI_TRY(tdmi_sorting_of(__func__, x, true, k, values, indices, &sorting));
    if (sorting.rows == 0) return TDM_OK;
    const selection s = selection_of(queue, &sorting);
    return s.chunk > 0 ? select_and_take(queue, &s, &sorting) : tdmi_sort_and_take(queue, &sorting);
}
