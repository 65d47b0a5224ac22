/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Writing an expression as a kernel in the dialect: dialect.c has what all kernels have, dialect_rows.c those that
 * combine rows, text.c the whole. Values are v<node>; the buffer, the place and the row of tensor i are p<i>, at<i>
 * and r<i>. */
#ifndef TDMI_WRITER_H
#define TDMI_WRITER_H

#include "base/memory.h"
#include "user_kernels/lower.h"

typedef struct tdmi_writer {
    const tdmi_expression *e;
    const uint8_t *row_kinds;
    bool is_plain;
    tdmi_places places;
    tdmi_text out;
} tdmi_writer;

#define tdmi_write(self, ...) tdmi_text_add(&(self)->out, __VA_ARGS__)

/* A type in the dialect; a constant of it. */
const char *tdmi_element_type(uint8_t type);
void tdmi_write_constant(tdmi_writer *self, uint8_t type, uint64_t bits);

/* Where values are computed: once for a row, before it is combined or after; for its elements, to be combined or
 * for the outputs. */
typedef enum tdmi_when { TDMI_BEFORE, TDMI_MAPPED, TDMI_AFTER, TDMI_WRITTEN } tdmi_when;
void tdmi_write_values(tdmi_writer *self, tdmi_when when, const char *indent);

/* tdm_out_<tensor>: a value as it is stored. */
void tdmi_write_conversions(tdmi_writer *self);

/* The kernel's head: its buffers, after those of the tensors `more`; and the places of an item's rows, of a row
 * that is cut into `chunks`. */
void tdmi_write_kernel(tdmi_writer *self, const char *more);
void tdmi_write_places(tdmi_writer *self, const char *pieces);

/* The names of the rows that a loop reads by READ: those of tensors that are needed there. */
void tdmi_write_reads(tdmi_writer *self, tdmi_when when);
/* The first row that it reads so; below 0 when there is none. */
int tdmi_first_read(const tdmi_writer *self, tdmi_when when);

/* The loop that writes the outputs, all of whose elements vary. */
void tdmi_write_outputs(tdmi_writer *self);

/* dialect_rows.c: the kernel of an expression with rows. */
void tdmi_write_rows(tdmi_writer *self);

#endif
