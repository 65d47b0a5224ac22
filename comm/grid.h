/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A grid of ranks inside. */
#ifndef TDMI_GRID_H
#define TDMI_GRID_H

#include <tandem/parallel.h>

struct tdm_grid {
    tdm_comm *all, *row, *column; /* of all ranks, of those in this rank's row, and in its column */
    int rows, columns, at_row, at_column;
};

/* Part `index` of an extent, as tdm_part, of arguments that are right: where it begins; its length is to the next. */
static inline int64_t tdmi_part(int64_t extent, int parts, int64_t index) {
    const int64_t each = extent / parts, more = extent % parts;
    return each * index + (index < more ? index : more);
}

#endif
