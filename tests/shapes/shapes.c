/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The choices of lib/lanes.c, for every kernel, dtype and number of columns, and with fewer and fewer lanes: a
 * row that is held has room in its lanes, vectors are for aligned rows alone, and a group of fewer lanes is
 * a smaller one. And the tiles of transposed copies have no bank conflicts. */
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#include "kernel_list.h"
#include "lanes.h"

static int failures, held, vectors, elements;

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
    tdmi_variant v = tdmi_variant_for(facts, wanted, cols);
    const uint32_t least = v.vectors ? facts->min_team : facts->min_lanes;
    check(v.lanes >= least && v.lanes <= facts->max_lanes, "as many as the device has", v, cols);
    check(wanted.vectors || !v.vectors, "rows that are not aligned", v, cols);
    if (wanted.vectors == 1) { /* the same lanes for an element where they are not */
        tdmi_variant loose = wanted;
        loose.vectors = TDMI_LOOSE;
        loose = tdmi_variant_for(facts, loose, cols);
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
                    for (int i = 0; i < 6; i++)
                        check_all(&devices[d],
                                  (tdmi_variant){.kernel = (uint8_t)kernel,
                                                 .t = (uint8_t)t,
                                                 .u = (uint8_t)us[i / 2],
                                                 .vectors = (uint8_t)(i % 2)},
                                  cols);
                }
    check_tiles();
    if (!held || !vectors || !elements) failures++;
    printf("%d variants hold rows, %d read vectors, %d elements; %d failures\n", held, vectors,
           elements, failures);
    return failures != 0;
}
