/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How an operation's work is cut into groups, lanes and pieces of rows, and its launch. */
#include "launch.h"

#include <math.h>

enum { MIN_CHUNK = 4096, ELEMENTS_PER_LANE = 4 };

enum { CACHE_LINE = 64, PIECE_STEP = 64 };

/* Of the groups that max_groups counts; smaller ones are more. */
enum { COUNTED_LANES = 256 };

/* The longest piece: a kernel's 32-bit index has room to step past its end. */
enum { MAX_CHUNK = 1 << 30 };

/* The most cache that one core can count on: a virtual machine shows the whole socket's cache even
 * where it has few of its cores. */
enum { CACHE_PER_UNIT = 32 << 20 };

/* Vectors of a row that a lane has at once. They are a compromise: enough bytes on their way while
 * others wait, and registers enough for all lanes of a multiprocessor. More than MOST to hold a row
 * leave registers for few lanes. */
enum { VECTOR_BYTES = 16, MOST_HELD = 8, ROW_VECTORS = 4 };

/* Whether a kernel reads its rows in vectors, and how many at once; with TDMI_HOLDS where a lane that
 * holds its part of a row spares the kernel reading it again. */
static uint8_t vectors_of(tdmi_variant variant) {
    const size_t t = tdm_dtype_size((tdm_dtype)variant.t), u = tdm_dtype_size((tdm_dtype)variant.u);
    switch ((tdmi_kernel_id)variant.kernel) {
    case TDMI_KERNEL_LAYER_NORM:
    case TDMI_KERNEL_RMS_NORM:
    case TDMI_KERNEL_L2_NORMALIZE:
    case TDMI_KERNEL_SOFTMAX:
        return TDMI_HOLDS | ROW_VECTORS;
    case TDMI_KERNEL_NORM:
        return ROW_VECTORS;
    case TDMI_KERNEL_BATCH_NORM_COLS: /* reads five rows */
    case TDMI_KERNEL_FILL:
    case TDMI_KERNEL_RANGE: /* read none */
        return 1;
    case TDMI_KERNEL_CAST: /* of the smaller dtype */
        return t == u ? 2 : 1;
    case TDMI_KERNEL_ELEMENTWISE:
    case TDMI_KERNEL_BIAS_ADD:
    case TDMI_KERNEL_BATCH_NORM:
        return t == sizeof(double) ? 4 : 2;
    default:
        return 0;
    }
}

uint8_t tdmi_fewer_lanes_hold(uint8_t vectors) {
    const unsigned held = vectors & TDMI_VECTOR_COUNT;
    return (uint8_t)(held < MOST_HELD ? TDMI_HOLDS | held * 2 : ROW_VECTORS);
}

/* Lanes for a row of so many columns that is read in vectors, and their vectors. */
static void choose_vectors(const tdmi_device_facts *facts, int64_t cols, tdmi_variant *variant) {
    const size_t t = tdm_dtype_size((tdm_dtype)variant->t), u = tdm_dtype_size((tdm_dtype)variant->u);
    const int64_t vectors = (cols * (int64_t)(t < u ? t : u) + VECTOR_BYTES - 1) / VECTOR_BYTES;
    const uint8_t wanted = vectors_of(*variant);
    int64_t count = wanted & TDMI_VECTOR_COUNT;
    uint32_t lanes = facts->min_team;
    while (lanes * 2 <= facts->max_lanes && lanes * count < vectors)
        lanes *= 2;
    variant->lanes = (uint16_t)lanes;
    variant->vectors = wanted;
    while ((variant->vectors & TDMI_HOLDS) && lanes * count < vectors) {
        variant->vectors = tdmi_fewer_lanes_hold(variant->vectors);
        count *= 2;
    }
}

/* A multiprocessor takes so many groups, and no more, that of few lanes they would not fill it. */
uint32_t tdmi_teams(const tdmi_device_facts *facts, tdmi_variant variant) {
    enum { LANES_OF_TEAMS = 128 };
    const bool few = facts->min_team < facts->min_lanes && variant.lanes <= facts->min_lanes;
    return variant.vectors && few ? LANES_OF_TEAMS / variant.lanes : 1;
}

static uint32_t choose_lanes(const tdmi_device_facts *facts, int64_t cols) {
    uint32_t lanes = facts->min_lanes;
    while (lanes * 2 <= facts->max_lanes && (int64_t)lanes * ELEMENTS_PER_LANE < cols)
        lanes *= 2;
    return lanes;
}

tdmi_pieces tdmi_cut_rows(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size) {
    const tdmi_device_facts *facts = queue->device->facts;
    tdmi_pieces pieces = {(uint32_t)cols, 1};
    if ((rows >= facts->max_groups && cols <= MAX_CHUNK) || cols <= MIN_CHUNK) return pieces;
    int64_t wanted = (facts->max_groups + rows - 1) / rows;
    int64_t most = cols / MIN_CHUNK;
    if (facts->min_group_bytes > 0) {
        int64_t worth = cols * rows * (int64_t)element_size / facts->min_group_bytes / rows;
        if (most > worth) most = worth;
    }
    if (wanted > most) wanted = most;
    if (wanted < (cols + MAX_CHUNK - 1) / MAX_CHUNK) wanted = (cols + MAX_CHUNK - 1) / MAX_CHUNK;
    if (wanted <= 1) return pieces;
    /* whole cache lines, so that two groups never write one line, and no last piece below that */
    int64_t chunk = ((cols + wanted - 1) / wanted + PIECE_STEP - 1) / PIECE_STEP * PIECE_STEP;
    while (cols % chunk != 0 && cols % chunk < PIECE_STEP)
        chunk += PIECE_STEP;
    pieces.chunk = (uint32_t)chunk;
    pieces.chunks = (uint32_t)((cols + chunk - 1) / chunk);
    return pieces;
}

bool tdmi_streams(const tdm_queue *queue, int64_t rows, int64_t cols, size_t element_size) {
    const tdmi_device_facts *facts = queue->device->facts;
    uint64_t cache = (uint64_t)facts->info.compute_units * CACHE_PER_UNIT;
    if (cache > facts->cache_bytes) cache = facts->cache_bytes;
    return facts->streaming_stores && cache && cols * (int64_t)element_size >= CACHE_LINE &&
           (uint64_t)(rows * cols) * element_size > cache / 2;
}

tdmi_variant tdmi_variant_for(const tdmi_device_facts *facts, tdmi_variant variant, int64_t cols) {
    if (variant.vectors && facts->min_team > 0 && vectors_of(variant) > 0) {
        choose_vectors(facts, cols, &variant);
    } else {
        variant.vectors = 0;
        variant.lanes = (uint16_t)choose_lanes(facts, cols);
    }
    return variant;
}

static tdm_status launch(tdm_queue *queue, tdmi_variant variant, int64_t groups,
                         const tdmi_mem *const *mems, const void *args) {
    tdmi_bkernel *kernel;
    TDMI_TRY(tdmi_queue_kernel(queue, variant, &kernel));
    tdmi_launch launch = {.groups = (uint32_t)groups, .mems = mems, .args = args};
    return tdmi_queue_submitted(queue,
                                queue->device->backend->launch(queue->impl, kernel, &launch));
}

tdm_status tdmi_launch_groups(tdm_queue *queue, tdmi_variant variant, int64_t groups, int64_t cols,
                              const tdmi_mem *const *mems, const void *args) {
    return launch(queue, tdmi_variant_for(queue->device->facts, variant, cols), groups, mems, args);
}

tdm_status tdmi_launch_items(tdm_queue *queue, tdmi_variant variant, int64_t items, int64_t cols,
                             const tdmi_mem *const *mems, const void *args) {
    const tdmi_device_facts *facts = queue->device->facts;
    variant = tdmi_variant_for(facts, variant, cols);
    int64_t groups = items, most = facts->max_groups;
    if (variant.vectors) {
        const int64_t teams = tdmi_teams(facts, variant), size = variant.lanes * teams;
        groups = (items + teams - 1) / teams;
        if (size < COUNTED_LANES) most = most * COUNTED_LANES / size;
    }
    if (groups > most) groups = most;
    if (facts->min_group_bytes > 0) {
        int64_t bytes = items * cols * (int64_t)tdm_dtype_size((tdm_dtype)variant.t);
        int64_t worth = bytes / facts->min_group_bytes;
        if (groups > worth) groups = worth;
    }
    return launch(queue, variant, groups > 0 ? groups : 1, mems, args);
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
