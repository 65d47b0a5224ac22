/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The two forms of an expression: steps on blocks, and a kernel in the dialect. */
#ifndef TDMI_LOWER_H
#define TDMI_LOWER_H

#include "bytecode.h"
#include "user_kernels/expression.h"

/* How the elements of a tensor's rows lie. */
typedef enum tdmi_row_kind {
    TDMI_ROW_REPEATED, /* one element */
    TDMI_ROW_ADJACENT,
    TDMI_ROW_APART
} tdmi_row_kind;

/* For each node, what needs it, and where it is computed: what varies is another value for each element of a row,
 * and what is late is made of what was combined. */
typedef struct tdmi_places {
    bool by_map[TDMI_MOST_NODES], by_output[TDMI_MOST_NODES];
    bool varies[TDMI_MOST_NODES], is_late[TDMI_MOST_NODES];
} tdmi_places;

/* row_kinds NULL: every element varies. */
void tdmi_find_places(const tdmi_expression *expression, const uint8_t *row_kinds,
                      tdmi_places *places);

/* lower.c: allocated, for tdmi_free. */
tdm_status tdmi_lower_to_bytecode(const tdmi_expression *expression,
                                  tdmi_bytecode **bytecode) TDM_MUST_USE;

/* Whether all tensors, but for an output of one element a row, have one floating dtype and rows that the dialect's
 * loops over rows read and write. */
bool tdmi_is_plain(const tdmi_expression *expression, const uint8_t *row_kinds);

/* Whether something is computed, or stored, in f64. */
bool tdmi_has_f64(const tdmi_expression *expression);

/* The dtype of an expression that is plain. */
uint8_t tdmi_plain_dtype(const tdmi_expression *expression);

/* text.c: the text of a kernel for rows of these kinds, allocated, for tdmi_free; NULL when memory is short. Its
 * entry is tdm_expression. */
char *tdmi_lower_to_text(const tdmi_expression *expression, const uint8_t *row_kinds);

#endif
