/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How an operation's work is cut into groups and pieces of rows, and its launch. */
#include "launch.h"

#include "lanes.h"
#include "submit.h"

enum { MIN_CHUNK = 4096 };

enum { CACHE_LINE = 64, PIECE_STEP = 64 };

/* The longest piece: a kernel's 32-bit index has room to step past its end. */
enum { MAX_CHUNK = 1 << 30 };

/* The most cache that one core can count on: a virtual machine shows the whole socket's cache even
 * where it has few of its cores. */
enum { CACHE_PER_UNIT = 32 << 20 };

static void swap_dims(tdmi_dims *d, int i, int j) {
    const int64_t extent = d->shape[i];
    d->shape[i] = d->shape[j];
    d->shape[j] = extent;
    for (int k = 0; k < d->operands; k++) {
        const int64_t stride = d->strides[k][i];
        d->strides[k][i] = d->strides[k][j];
        d->strides[k][j] = stride;
    }
}

/* A dimension that repeats all the others lies around them. */
static int64_t distance_of(int64_t stride) { return stride == 0 ? INT64_MAX : stride; }

void tdmi_dims_sort(tdmi_dims *d, int by) {
    const int64_t *const strides = d->strides[by];
    for (int i = 1; i < d->count; i++)
        for (int j = i; j > 0 && distance_of(strides[j - 1]) < distance_of(strides[j]); j--)
            swap_dims(d, j - 1, j);
}

static bool continues(const tdmi_dims *d, int i) {
    for (int k = 0; k < d->operands; k++)
        if (d->strides[k][i] != d->strides[k][i + 1] * d->shape[i + 1]) return false;
    return true;
}

void tdmi_dims_merge(tdmi_dims *d, int64_t most) {
    for (int i = d->count - 2; i >= 0; i--) {
        if (!continues(d, i) || d->shape[i] > most / d->shape[i + 1]) continue;
        d->shape[i + 1] *= d->shape[i];
        for (int j = i; j + 1 < d->count; j++)
            swap_dims(d, j, j + 1);
        d->count--;
    }
}

/* The columns of each of so many chunks, `least` or more: whole cache lines, so that two groups never write one line,
 * and no last chunk below that. */
static int64_t chunk_of(int64_t cols, int64_t count, int64_t least) {
    int64_t chunk = (cols + count - 1) / count;
    if (chunk < least) chunk = least;
    chunk = (chunk + PIECE_STEP - 1) / PIECE_STEP * PIECE_STEP;
    while (cols % chunk != 0 && cols % chunk < PIECE_STEP)
        chunk += PIECE_STEP;
    return chunk;
}

tdmi_pieces tdmi_cut_rows(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size) {
    const tdmi_device_facts *facts = queue->device->facts;
    tdmi_pieces pieces = {(uint32_t)cols, 1};
    if ((rows >= facts->max_groups && cols <= MAX_CHUNK) || cols <= MIN_CHUNK) return pieces;
    int64_t wanted = (facts->max_groups + rows - 1) / rows;
    int64_t most = cols / MIN_CHUNK;
    if (facts->min_group_bytes > 0) {
        const int64_t worth = cols * (int64_t)element_size / facts->min_group_bytes;
        if (most > worth) most = worth;
    }
    if (wanted > most) wanted = most;
    if (wanted < (cols + MAX_CHUNK - 1) / MAX_CHUNK) wanted = (cols + MAX_CHUNK - 1) / MAX_CHUNK;
    if (wanted <= 1) return pieces;
    const int64_t chunk = chunk_of(cols, wanted, 0);
    pieces.chunk = (uint32_t)chunk;
    pieces.chunks = (uint32_t)((cols + chunk - 1) / chunk);
    return pieces;
}

tdm_cut tdmi_cut_chunks(const tdm_queue *queue, int64_t rows, int64_t cols, int64_t least,
                        size_t element_size) {
    tdm_cut cut = {.cols = (tdm_u32)cols, .phase = TDM_ROWS_WHOLE};
    if (least == 0) least = TDMI_MOST_HELD_BYTES / (int64_t)element_size;
    const int64_t chunk = cols > least ? chunk_of(cols, TDM_MOST_CHUNKS, least) : least;
    const int64_t chunks = cols > 0 ? (cols + chunk - 1) / chunk : 1;
    const int64_t wanted = tdmi_cut_rows(queue, rows, cols, element_size).chunks;
    const int64_t together = (chunks + wanted - 1) / wanted;
    cut.chunk = (tdm_u32)chunk;
    cut.chunks = (tdm_u32)chunks;
    cut.piece = (tdm_u32)(together < chunks ? together * chunk : cols);
    cut.pieces = (tdm_u32)((chunks + together - 1) / together);
    return cut;
}

uint8_t tdmi_stores(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size,
                    bool kept) {
    const tdmi_device_facts *facts = queue->device->facts;
    uint64_t cache = (uint64_t)facts->info.compute_units * CACHE_PER_UNIT;
    if (cache > facts->cache_bytes) cache = facts->cache_bytes;
    if (!facts->streaming_stores || !cache || (uint64_t)(rows * cols) * element_size <= cache / 2)
        return TDMI_IN_CACHE;
    if (!kept && cols * (int64_t)element_size >= CACHE_LINE) return TDMI_LARGE;
    return facts->host_memory ? TDMI_LARGE_KEPT : TDMI_IN_CACHE; /* else it makes no difference */
}

tdmi_variant tdmi_complete_variant(const tdm_queue *queue, tdmi_variant variant, int64_t cols) {
    return tdmi_variant_for(queue->device->facts, variant, cols,
                            tdmi_row_choice_for(queue->row_choices, variant, cols));
}

tdm_status tdmi_launch_groups(tdm_queue *queue, tdmi_variant variant, int64_t groups, int64_t cols,
                              const tdmi_mem *const *mems, const void *args) {
    variant = tdmi_complete_variant(queue, variant, cols);
    return tdmi_submit_launch(queue, variant, (uint32_t)groups, mems, args);
}

tdm_status tdmi_launch_items(tdm_queue *queue, tdmi_variant variant, int64_t items, int64_t cols,
                             const tdmi_mem *const *mems, const void *args) {
    const tdmi_device_facts *facts = queue->device->facts;
    const tdmi_row_choice *choice = tdmi_row_choice_for(queue->row_choices, variant, cols);
    variant = tdmi_variant_for(facts, variant, cols, choice);
    int64_t groups = items, most = facts->max_groups;
    if (variant.vectors) {
        const int64_t teams = tdmi_teams(facts, variant);
        groups = (items + teams - 1) / teams;
        most = tdmi_most_groups(facts, variant, choice);
    }
    if (groups > most) groups = most;
    if (facts->min_group_bytes > 0) {
        int64_t bytes = items * cols * (int64_t)tdm_dtype_size((tdm_dtype)variant.t);
        int64_t worth = bytes / facts->min_group_bytes;
        if (groups > worth) groups = worth;
    }
    return tdmi_submit_launch(queue, variant, groups > 0 ? (uint32_t)groups : 1, mems, args);
}

tdm_status tdmi_launch_cut(tdm_queue *queue, tdmi_variant variant, int64_t rows, int64_t cols,
                           const tdmi_mem *const *mems, const void *args, tdm_u32 *chunk,
                           tdm_u32 *chunks) {
    const tdmi_pieces pieces =
        tdmi_cut_rows(queue, rows, cols, tdm_dtype_size((tdm_dtype)variant.t));
    *chunk = pieces.chunk;
    *chunks = pieces.chunks;
    return tdmi_launch_items(queue, variant, rows * pieces.chunks, pieces.chunk, mems, args);
}

const tdmi_mem *tdmi_mem_of(const tdm_tensor *tensor) {
    return tensor && tensor->buffer->block ? &tensor->buffer->block->mem : NULL;
}

tdmi_variant tdmi_cast_variant(tdm_dtype to, tdm_dtype from) {
    const tdmi_dtype_kind to_kind = tdmi_dtype_kind_of(to), from_kind = tdmi_dtype_kind_of(from);
    tdm_dtype t = to, u = from;
    if (to == from) {
        t = u = tdmi_dtype_bits(to);
    } else if (to_kind != TDMI_KIND_FLOAT && from_kind != TDMI_KIND_FLOAT) {
        const bool wider = tdm_dtype_size(to) > tdm_dtype_size(from);
        if (to_kind != TDMI_KIND_BOOL) t = tdmi_dtype_bits(to);
        if (from_kind != TDMI_KIND_BOOL && (!wider || to_kind == TDMI_KIND_BOOL))
            u = tdmi_dtype_bits(from);
    }
    return (tdmi_variant){.kernel = TDMI_KERNEL_CAST, .t = (uint8_t)t, .u = (uint8_t)u};
}
