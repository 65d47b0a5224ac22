/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What an expression becomes: steps on blocks, and a kernel in the dialect. */
#ifndef TDMI_LOWER_H
#define TDMI_LOWER_H

#include "blocks.h"
#include "kernels/expression.h"

/* How the elements of a tensor's rows lie. */
typedef enum tdmi_row_kind {
    TDMI_ROW_REPEATED, /* one element */
    TDMI_ROW_ADJACENT,
    TDMI_ROW_APART
} tdmi_row_kind;

/* Which nodes the outputs need. */
void tdmi_mark_needed(const tdmi_expression *expression, bool needed[TDMI_MOST_NODES]);

/* lower.c: allocated, for tdmi_free. */
tdm_status tdmi_lower_to_blocks(const tdmi_expression *expression,
                                tdmi_blocks **blocks) TDM_MUST_USE;

/* Whether all tensors have one floating dtype and rows that the dialect's FOR_LANES_WRITE reads and writes. */
bool tdmi_is_plain(const tdmi_expression *expression, const uint8_t *row_kinds);

/* dialect.c: the text of a kernel for rows of these kinds, allocated, for tdmi_free; NULL when memory is short. Its
 * entry is tdm_expression. */
char *tdmi_lower_to_text(const tdmi_expression *expression, const uint8_t *row_kinds);

#endif
