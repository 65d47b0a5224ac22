/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a group, and how they take rows: arithmetic on the facts of a device. */
#ifndef TDMI_LANES_H
#define TDMI_LANES_H

#include "backend.h"

/* The longest row that a group holds in registers. */
enum { TDMI_MOST_HELD_BYTES = 32 << 10 };

/* The fastest way that was measured on a device for rows of a kernel and its dtypes (tune/rows_tune.c). It depends on
 * the length of a row alone, as its bits depend on it. */
typedef struct tdmi_row_choice {
    uint8_t kernel, t, u;
    uint8_t
        size; /* the bytes of a row of the smaller dtype: at most 2^size, more than half of that */
    uint16_t lanes; /* a power of two */
    uint8_t
        vectors; /* how many a lane has at once, with TDMI_HOLDS where it holds its part of the row */
    uint8_t groups; /* so many times as many groups as the device's max_groups are launched */
} tdmi_row_choice;

/* These, sorted by kernel, dtypes and size. */
typedef struct tdmi_row_choices {
    tdmi_row_choice *records;
    size_t count;
} tdmi_row_choices;

/* Whether lanes of the device share rows, so that there is a choice. */
static inline bool tdmi_shares_rows(const tdmi_device_facts *facts) {
    return facts->min_team > 0 && facts->max_team > 1;
}

/* The size of rows of `cols` columns, and the order of choices, for qsort. */
uint8_t tdmi_row_size(tdmi_variant variant, int64_t cols);
int tdmi_compare_row_choices(const void *left, const void *right);

/* The choice for rows of `cols`, or NULL, also for choices of NULL. */
const tdmi_row_choice *tdmi_row_choice_for(const tdmi_row_choices *choices, tdmi_variant variant,
                                           int64_t cols);

/* The variant for rows of `cols`: chooses its lanes and, where variant.vectors is not 0, which says
 * that all rows are aligned or, TDMI_LOOSE, that they have the same lanes for an element as if they were, how many
 * vectors: those of `choice`, unless that is NULL or no group of the device can take these rows so. */
tdmi_variant tdmi_variant_for(const tdmi_device_facts *facts, tdmi_variant variant, int64_t cols,
                              const tdmi_row_choice *choice);

/* How many rows a group of the variant has at once. */
uint32_t tdmi_teams(const tdmi_device_facts *facts, tdmi_variant variant);

/* The most groups that are worth launching of rows that are read in vectors: the fewer lanes these have, the more. */
int64_t tdmi_most_groups(const tdmi_device_facts *facts, tdmi_variant variant,
                         const tdmi_row_choice *choice);

/* The same kernel with fewer lanes in a group; with none when there was one. */
tdmi_variant tdmi_smaller_variant(const tdmi_device_facts *facts, tdmi_variant variant);

#endif
