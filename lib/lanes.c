/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a group, and how they take rows. */
#include "lanes.h"

#include <stdlib.h>

#include "kernel_list.h"

/* There are registers for all lanes of a multiprocessor where a row that is held has TDMI_MOST_HELD_BYTES. With
 * more than MOST_HELD vectors a lane's part would be more than one SUM_BLOCK. */
enum { VECTOR_BYTES = 16, MOST_HELD = 8 };

/* Whether a kernel reads its rows in vectors, and how many at once; with TDMI_HOLDS where a lane that
 * holds its part of a row spares the kernel reading it again. */
static uint8_t vectors_of(tdmi_variant variant) {
    if (variant.kernel == TDMI_KERNEL_USER) return variant.op;
    const tdm_kernel_entry *kernel = &tdm_kernel_entries[variant.kernel];
    const size_t t = tdm_dtype_size((tdm_dtype)variant.t), u = tdm_dtype_size((tdm_dtype)variant.u);
    const int vectors = tdm_kernel_vectors(kernel, variant.op, t, u);
    return (uint8_t)(kernel->holds ? TDMI_HOLDS | vectors : vectors);
}

/* Of a row that is too long to be held. */
static uint8_t vectors_of_long_rows(tdmi_variant variant) {
    return (uint8_t)tdm_kernel_long_vectors(&tdm_kernel_entries[variant.kernel], variant.op,
                                            tdm_dtype_size((tdm_dtype)variant.t));
}

/* The vectors of a lane that holds its part of a row, when it has twice as much of it. */
static uint8_t twice_as_many(tdmi_variant variant) {
    const unsigned held = variant.vectors & TDMI_VECTOR_COUNT;
    const unsigned kept = variant.vectors & (TDMI_HALVINGS | TDMI_LOOSE);
    if (held >= MOST_HELD) return (uint8_t)(kept | vectors_of_long_rows(variant));
    return (uint8_t)(kept | TDMI_HOLDS | held * 2);
}

/* Where a group has one row at a time its vectors are halved until there is one for each lane. */
static uint8_t halved(const tdmi_device_facts *facts, uint8_t vectors, int64_t row_bytes,
                      size_t element) {
    enum { LEAST_BYTES = 4 };
    if (facts->min_team < facts->min_lanes) return vectors;
    for (int size = VECTOR_BYTES; row_bytes < (int64_t)size * facts->min_lanes; size /= 2) {
        if (size == LEAST_BYTES || (size_t)size == element) break;
        vectors += TDMI_HALVED_VECTORS;
    }
    return vectors;
}

/* --- what was measured ----------------------------------------------------------------------------- */

static int64_t row_bytes(tdmi_variant variant, int64_t cols) {
    const size_t t = tdm_dtype_size((tdm_dtype)variant.t), u = tdm_dtype_size((tdm_dtype)variant.u);
    return cols * (int64_t)(t < u ? t : u);
}

uint8_t tdmi_row_size(tdmi_variant variant, int64_t cols) {
    uint8_t size = 0;
    while (size < 62 && INT64_C(1) << size < row_bytes(variant, cols))
        size++;
    return size;
}

int tdmi_compare_row_choices(const void *left, const void *right) {
    const tdmi_row_choice *a = left, *b = right;
    if (a->kernel != b->kernel) return a->kernel - b->kernel;
    if (a->t != b->t) return a->t - b->t;
    return a->u != b->u ? a->u - b->u : a->size - b->size;
}

const tdmi_row_choice *tdmi_row_choice_for(const tdmi_row_choices *choices, tdmi_variant variant,
                                           int64_t cols) {
    if (!choices || variant.user) return NULL;
    const tdmi_row_choice wanted = {.kernel = variant.kernel,
                                    .t = variant.t,
                                    .u = variant.u,
                                    .size = tdmi_row_size(variant, cols)};
    return bsearch(&wanted, choices->records, choices->count, sizeof wanted,
                   tdmi_compare_row_choices);
}

/* Whether the kernel is right with it for rows of so many bytes, read in vectors of `size`: it may come from a file. */
static bool fits(const tdmi_device_facts *facts, tdmi_variant variant, int64_t bytes, int64_t size,
                 const tdmi_row_choice *choice) {
    const int64_t lanes = choice->lanes, count = choice->vectors & TDMI_VECTOR_COUNT;
    const bool holds = choice->vectors & TDMI_HOLDS;
    if (lanes < facts->min_team || lanes > facts->max_team || (lanes & (lanes - 1))) return false;
    if (count < 1 || count > MOST_HELD || (count & (count - 1))) return false;
    if (choice->vectors & ~(TDMI_HOLDS | TDMI_VECTOR_COUNT)) return false;
    variant.lanes = choice->lanes;
    if (!holds) return bytes <= TDMI_MOST_HELD_BYTES || tdmi_teams(facts, variant) == 1;
    return tdm_kernel_entries[variant.kernel].holds && count >= 2 &&
           bytes <= lanes * count * size && lanes * count * size <= TDMI_MOST_HELD_BYTES;
}

/* --- the usual --------------------------------------------------------------------------------------- */

/* The lanes for a row of `cols` that is read in vectors, and their vectors. */
static void choose_vectors(const tdmi_device_facts *facts, int64_t cols, tdmi_variant *variant,
                           const tdmi_row_choice *choice) {
    const size_t t = tdm_dtype_size((tdm_dtype)variant->t),
                 u = tdm_dtype_size((tdm_dtype)variant->u);
    const int64_t bytes = row_bytes(*variant, cols);
    const uint8_t wanted = halved(facts, vectors_of(*variant), bytes, t > u ? t : u);
    const int64_t size = tdmi_vector_bytes(wanted), vectors = (bytes + size - 1) / size;
    int64_t count = wanted & TDMI_VECTOR_COUNT;
    const uint8_t loose = variant->vectors & TDMI_LOOSE;
    uint32_t lanes = facts->min_team;
    if (choice && fits(facts, *variant, bytes, size, choice)) {
        variant->lanes = choice->lanes;
        variant->vectors = (uint8_t)(choice->vectors | (wanted & TDMI_HALVINGS) | loose);
        return;
    }
    while (lanes * 2 <= facts->max_team && lanes * count < vectors)
        lanes *= 2;
    variant->lanes = (uint16_t)lanes;
    variant->vectors = wanted;
    while ((variant->vectors & TDMI_HOLDS) && lanes * count < vectors) {
        count *= 2;
        const bool fits = lanes * count * size <= TDMI_MOST_HELD_BYTES;
        variant->vectors = fits ? twice_as_many(*variant) : vectors_of_long_rows(*variant);
    }
    variant->vectors |= loose;
}

/* A multiprocessor takes a limited number of groups; with few lanes each, they would not fill it. */
uint32_t tdmi_teams(const tdmi_device_facts *facts, tdmi_variant variant) {
    enum { LANES_OF_TEAMS = 128 };
    const bool few = facts->min_team < facts->min_lanes && variant.lanes <= facts->min_lanes;
    return variant.vectors && few ? (uint32_t)LANES_OF_TEAMS / variant.lanes : 1;
}

int64_t tdmi_most_groups(const tdmi_device_facts *facts, tdmi_variant variant,
                         const tdmi_row_choice *choice) {
    enum { COUNTED_LANES = 256 }; /* of the groups that max_groups counts */
    const int64_t lanes = variant.lanes * tdmi_teams(facts, variant);
    int64_t most = facts->max_groups;
    if (lanes < COUNTED_LANES) most = most * COUNTED_LANES / lanes;
    return choice ? most * choice->groups : most;
}

enum { ELEMENTS_PER_LANE = 4 };

static uint32_t choose_lanes(uint32_t least, uint32_t most, int64_t cols) {
    uint32_t lanes = least;
    while (lanes * 2 <= most && (int64_t)lanes * ELEMENTS_PER_LANE < cols)
        lanes *= 2;
    return lanes;
}

tdmi_variant tdmi_variant_for(const tdmi_device_facts *facts, tdmi_variant variant, int64_t cols,
                              const tdmi_row_choice *choice) {
    const bool of_rows = vectors_of(variant) > 0;
    if (variant.vectors && facts->min_team > 0 && of_rows) {
        choose_vectors(facts, cols, &variant, choice);
    } else {
        const int lanes =
            variant.kernel < TDMI_KERNEL_COUNT ? tdm_kernel_entries[variant.kernel].lanes : 0;
        const bool shares_rows = of_rows || variant.kernel == TDMI_KERNEL_USER;
        const uint32_t most =
            shares_rows && facts->max_team > 0 ? facts->max_team : facts->max_lanes;
        variant.vectors = 0;
        variant.lanes = (uint16_t)choose_lanes(facts->min_lanes, most,
                                               lanes ? lanes * ELEMENTS_PER_LANE : cols);
    }
    return variant;
}

tdmi_variant tdmi_smaller_variant(const tdmi_device_facts *facts, tdmi_variant variant) {
    if (tdmi_teams(facts, variant) > 1) { /* one team, then */
        variant.vectors = 0;
        return variant;
    }
    variant.lanes /= 2;
    if (variant.vectors & TDMI_HOLDS) variant.vectors = twice_as_many(variant);
    if (tdmi_teams(facts, variant) > 1) variant.vectors = 0;
    return variant;
}
