/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The lanes of a group, and how they take rows: arithmetic on the facts of a device. */
#ifndef TDMI_LANES_H
#define TDMI_LANES_H

#include "backend.h"

/* The longest row that a group holds in registers. */
enum { TDMI_MOST_HELD_BYTES = 32 << 10 };

/* The variant for rows of `cols`: chooses its lanes and, where variant.vectors is not 0, which says
 * that all rows are aligned or, TDMI_LOOSE, that they have the same lanes for an element as if they were, how many
 * vectors. */
tdmi_variant tdmi_variant_for(const tdmi_device_facts *facts, tdmi_variant variant, int64_t cols);

/* How many rows a group of the variant has at once. */
uint32_t tdmi_teams(const tdmi_device_facts *facts, tdmi_variant variant);

/* The same kernel with fewer lanes in a group; with none when there was one. */
tdmi_variant tdmi_smaller_variant(const tdmi_device_facts *facts, tdmi_variant variant);

#endif
