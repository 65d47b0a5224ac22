/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The choices of lib/lanes.c, for every kernel, dtype and number of columns, and with fewer and fewer lanes: a
 * row that is held has room in its lanes, vectors are for aligned rows alone, and a group of fewer lanes is
 * a smaller one. A measured way is chosen where the same holds of it, whatever it is. And the tiles of transposed
 * copies have no bank conflicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "kernel_list.h"
#include "lanes.h"

static int failures, held, vectors, elements, measured, refused;

static void check(bool right, const char *what, tdmi_variant v, long cols) {
    if (right) return;
    if (++failures < 20)
        printf("FAILED: %s: kernel %d, dtypes %d and %d, %ld columns: %d lanes, vectors %#x\n",
               what, v.kernel, v.t, v.u, cols, v.lanes, v.vectors);
}

static void check_variant(const tdmi_device_facts *facts, tdmi_variant v, long cols) {
    const size_t t = tdm_dtype_size((tdm_dtype)v.t), u = tdm_dtype_size((tdm_dtype)v.u);
    const long bytes = cols * (long)(t < u ? t : u), count = v.vectors & TDMI_VECTOR_COUNT;
    const long size = tdmi_vector_bytes(v.vectors), most = (long)(t > u ? t : u);
    const bool holds = (v.vectors & TDMI_HOLDS) != 0;
    held += holds;
    vectors += count > 0;
    elements += count == 0;
    check((v.lanes & (v.lanes - 1)) == 0, "lanes are a power of two", v, cols);
    check(!holds || v.lanes * count * size >= bytes, "the lanes hold the row", v, cols);
    check(!holds || (count <= 8 && v.lanes * count * size <= 32 << 10), "not too much", v, cols);
    check(!holds || count % 2 == 0, "whole steps", v, cols);
    check(count == 0 || facts->min_team > 0, "the device reads vectors", v, cols);
    check(size >= 4 && size >= most, "vectors of whole elements", v, cols);
    const uint32_t teams = tdmi_teams(facts, v);
    check(teams == 1 || (v.vectors && v.lanes <= 32 && v.lanes * teams == 128), "teams", v, cols);
}

static void check_all(const tdmi_device_facts *facts, tdmi_variant wanted, long cols) {
    tdmi_variant v = tdmi_variant_for(facts, wanted, cols, NULL);
    const uint32_t least = v.vectors ? facts->min_team : facts->min_lanes;
    check(v.lanes >= least && v.lanes <= facts->max_lanes, "as many as the device has", v, cols);
    check(wanted.vectors || !v.vectors, "rows that are not aligned", v, cols);
    if (wanted.vectors == 1) { /* the same lanes for an element where they are not */
        tdmi_variant loose = wanted;
        loose.vectors = TDMI_LOOSE;
        loose = tdmi_variant_for(facts, loose, cols, NULL);
        check(loose.lanes == v.lanes && (loose.vectors & ~TDMI_LOOSE) == v.vectors, "loose", loose,
              cols);
    }
    /* every lane has a part of a row that is long enough for them, alone or with the rows next to it */
    const long size = tdmi_vector_bytes(v.vectors), teams = tdmi_teams(facts, v);
    const long t = (long)tdm_dtype_size((tdm_dtype)v.t), u = (long)tdm_dtype_size((tdm_dtype)v.u);
    check(!v.vectors || teams > 1 || cols * (t < u ? t : u) >= v.lanes * size || size <= 4 ||
              size <= (t > u ? t : u) || v.lanes > least,
          "no lane without a vector", v, cols);
    while (v.lanes > 0) {
        check_variant(facts, v, cols);
        const uint32_t lanes = v.lanes * tdmi_teams(facts, v);
        v = tdmi_smaller_variant(facts, v);
        check(v.lanes * tdmi_teams(facts, v) < lanes, "fewer lanes", v, cols);
    }
}

/* With a choice that was measured, or that a damaged file has: it, or the usual one where a kernel could not be right
 * with it. */
static void check_choice(const tdmi_device_facts *facts, tdmi_variant wanted, long cols,
                         tdmi_row_choice choice) {
    const tdmi_variant usual = tdmi_variant_for(facts, wanted, cols, NULL);
    const tdmi_variant v = tdmi_variant_for(facts, wanted, cols, &choice);
    const unsigned parts = TDMI_HOLDS | TDMI_VECTOR_COUNT;
    if (memcmp(&v, &usual, sizeof v) == 0) {
        refused++;
        return;
    }
    measured++;
    check(v.lanes == choice.lanes && (v.vectors & parts) == choice.vectors &&
              (v.vectors & ~parts) == (usual.vectors & ~parts),
          "the choice", v, cols);
    check(v.lanes >= facts->min_team && v.lanes <= facts->max_team, "lanes of the device", v, cols);
    check(tdm_kernel_entries[v.kernel].holds || !(v.vectors & TDMI_HOLDS), "a kernel that holds", v,
          cols);
    const long size = (long)tdm_dtype_size((tdm_dtype)v.t);
    check(cols * size <= TDMI_MOST_HELD_BYTES || tdmi_teams(facts, v) == 1, "a group a row", v,
          cols);
    for (tdmi_variant w = v; w.lanes > 0; w = tdmi_smaller_variant(facts, w))
        check_variant(facts, w, cols);
}

static void check_choices(const tdmi_device_facts *facts, tdmi_variant wanted, long cols) {
    static const uint8_t parts[] = {0, 1, 2, 3, 4, 8, 15, 16, 66};
    for (unsigned lanes = 1; lanes <= 1024; lanes *= 2)
        for (unsigned i = 0; i < 4 * sizeof parts; i++) {
            const unsigned holds = i % 2 ? TDMI_HOLDS : 0;
            check_choice(facts, wanted, cols,
                         (tdmi_row_choice){.lanes = (uint16_t)(lanes + (i / 2) % 2),
                                           .vectors = (uint8_t)(parts[i / 4] | holds)});
        }
}

/* The choice of rows of a size, and of no other. */
static void check_table(void) {
    tdmi_row_choice records[] = {
        {.kernel = TDMI_KERNEL_SOFTMAX, .t = TDM_BF16, .u = TDM_BF16, .size = 11, .lanes = 3},
        {.kernel = TDMI_KERNEL_LAYER_NORM, .t = TDM_F32, .u = TDM_F32, .size = 12, .lanes = 2},
        {.kernel = TDMI_KERNEL_LAYER_NORM, .t = TDM_F32, .u = TDM_F32, .size = 8, .lanes = 1}};
    const tdmi_row_choices choices = {records, sizeof records / sizeof *records};
    static const struct {
        int kernel, dtype;
        long cols;
        int lanes;
    } want[] = {
        {TDMI_KERNEL_LAYER_NORM, TDM_F32, 64, 1},      {TDMI_KERNEL_LAYER_NORM, TDM_F32, 33, 1},
        {TDMI_KERNEL_LAYER_NORM, TDM_F32, 32, 0},      {TDMI_KERNEL_LAYER_NORM, TDM_F32, 65, 0},
        {TDMI_KERNEL_LAYER_NORM, TDM_F32, 1000, 2},    {TDMI_KERNEL_LAYER_NORM, TDM_BF16, 64, 0},
        {TDMI_KERNEL_SOFTMAX, TDM_BF16, 1024, 3},      {TDMI_KERNEL_RMS_NORM, TDM_F32, 64, 0},
        {TDMI_KERNEL_LAYER_NORM, TDM_F32, 1L << 30, 0}};
    qsort(records, choices.count, sizeof *records, tdmi_compare_row_choices);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const tdmi_variant v = {.kernel = (uint8_t)want[i].kernel,
                                .t = (uint8_t)want[i].dtype,
                                .u = (uint8_t)want[i].dtype};
        const tdmi_row_choice *found = tdmi_row_choice_for(&choices, v, want[i].cols);
        check((found ? found->lanes : 0) == want[i].lanes, "the record", v, want[i].cols);
    }
    check(!tdmi_row_choice_for(NULL, (tdmi_variant){0}, 64), "no record", (tdmi_variant){0}, 64);
}

/* Lanes that write a column of a tile to local memory, and lanes that read a row of it, which are neighbours,
 * meet in no bank: of 32 lanes none has another word of the same one. */
static void check_tiles(void) {
    enum { BANKS = 32, WORD = 4 };
    for (int size = 1; size <= 8; size *= 2) {
        const int side = TDM_TILE_SIDE(0, size);
        const int step = TDM_TILE_STEP(0, size);
        const int strides[] = {1, step}, together = size == 8 ? BANKS / 2 : BANKS;
        for (int k = 0; k < 2; k++) {
            int word_of[BANKS], conflicts = 0;
            memset(word_of, -1, sizeof word_of);
            for (int byte = 0; byte < together * size; byte++) {
                const int lane = byte / size, at = lane * strides[k] * size + byte % size;
                int *const word = &word_of[at / WORD % BANKS];
                conflicts += *word >= 0 && *word != at / WORD;
                *word = at / WORD;
            }
            if (conflicts == 0 && side >= together && side * step * size <= 32 << 10) continue;
            failures++;
            printf("FAILED: a tile of elements of %d bytes: %d conflicts at a stride of %d\n", size,
                   conflicts, strides[k]);
        }
    }
}

int main(void) {
    const tdmi_device_facts devices[] = {
        {.min_lanes = 32, .max_lanes = 512, .min_team = 8, .max_team = 512},  /* CUDA */
        {.min_lanes = 32, .max_lanes = 256, .min_team = 32, .max_team = 256}, /* OpenCL */
        {.min_lanes = 64, .max_lanes = 64, .min_team = 64, .max_team = 64},   /* a small one */
        {.min_lanes = 1, .max_lanes = 64, .max_team = 1},                     /* OpenCL, a CPU */
        {.row_loops = true, .min_lanes = 1, .max_lanes = 1}};                 /* cpu */
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (int kernel = 0; kernel < TDMI_KERNEL_COUNT; kernel++)
            for (int t = 0; t < TDM_DTYPE_COUNT; t++)
                for (long cols = 1; cols < 1L << 31; cols += 1 + cols / 3) {
                    const int us[] = {t, kernel == TDMI_KERNEL_CAST ? TDM_F64 : t,
                                      kernel == TDMI_KERNEL_CAST ? TDM_U8 : t};
                    for (int i = 0; i < 6; i++) {
                        const tdmi_variant wanted = {.kernel = (uint8_t)kernel,
                                                     .t = (uint8_t)t,
                                                     .u = (uint8_t)us[i / 2],
                                                     .vectors = (uint8_t)(i % 2)};
                        check_all(&devices[d], wanted, cols);
                        if (i < 2 && tdm_dtype_is_float((tdm_dtype)t))
                            check_choices(&devices[d], wanted, cols);
                    }
                }
    check_tiles();
    check_table();
    if (!held || !vectors || !elements || !measured || !refused) failures++;
    printf("%d variants hold rows, %d read vectors, %d elements; %d choices taken, %d not; %d "
           "failures\n",
           held, vectors, elements, measured, refused, failures);
    return failures != 0;
}
