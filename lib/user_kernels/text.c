/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The whole text of an expression's kernel. */
#include "user_kernels/writer.h"

static void write_elementwise(tdmi_writer *self) {
    tdmi_write_kernel(self, "");
    tdmi_write(self, "    FOR_ROWS(item, args.rows * args.cut.pieces)\n    {\n");
    tdmi_write_places(self, "args.cut.pieces");
    tdmi_write_values(self, TDMI_BEFORE, "        ");
    tdmi_write_outputs(self);
    tdmi_write(self, "    }\n}\n");
}

char *tdmi_lower_to_text(const tdmi_expression *expression, const uint8_t *row_kinds) {
    tdmi_writer *self = tdmi_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->e = expression;
    self->row_kinds = row_kinds;
    self->is_plain = tdmi_is_plain(expression, row_kinds);
    tdmi_find_places(expression, row_kinds, &self->places);
    tdmi_write_conversions(self);
    if (expression->has_rows)
        tdmi_write_rows(self);
    else
        write_elementwise(self);
    char *text = self->out.bytes;
    if (self->out.failed) {
        tdmi_free(text);
        text = NULL;
    }
    tdmi_free(self);
    return text;
}
