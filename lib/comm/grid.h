/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A grid of ranks inside. */
#ifndef TDMI_GRID_H
#define TDMI_GRID_H

#include <tandem/parallel.h>

struct tdm_grid {
    tdm_comm *all, *row, *column; /* of all ranks, of those in this rank's row, and in its column */
    int rows, columns, at_row, at_column;
};

#endif
