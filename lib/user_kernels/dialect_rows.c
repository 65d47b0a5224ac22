/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An expression over rows as a kernel in the dialect: by fold.h, in blocks as sums of the library's own kernels are,
 * and rows that are cut in two launches. */
#include <stdio.h>

#include "user_kernels/writer.h"

/* The macros that fold.h needs. */
static void write_fold(tdmi_writer *self, uint8_t type) {
    const tdmi_expression *e = self->e;
    const bool is_float = type == TDM_TYPE_F32 || type == TDM_TYPE_F64;
    /* reduce.h adds up parts in the arithmetic of T */
    const bool is_acc =
        is_float && self->is_plain && (type == TDM_TYPE_F64) == (tdmi_plain_dtype(e) == TDM_F64);
    const bool adds = e->combine == TDM_FUNCTION_ADD;
    tdmi_write(self, "#define FOLDED %s\n#define FOLD_START ", tdmi_element_type(type));
    tdmi_write_constant(self, type, tdmi_combine_start(e->combine, type));
    tdmi_write(self,
               "\n#define FOLD_PAIR(a, b) tdm_fn_%s_%s(a, b)\n#define FOLD_TOTAL(parts) %s(parts)\n"
               "FOLD_FUNCTIONS\n",
               tdmi_function_name(e->combine), tdmi_type_name(type),
               adds && is_acc ? "TDM_BY_ACC(tdm_total_)" : "TDM_FOLD_PARTS");
}

/* The value of a chunk, in blocks that are combined one by one. */
static void write_map(tdmi_writer *self, bool compensates) {
    const int ahead = self->is_plain ? tdmi_first_read(self, TDMI_MAPPED) : -1;
    if (compensates) tdmi_write(self, "                FOLDED error = FOLD_START;\n");
    tdmi_write(self, "                FOR_BLOCKS_OF(begin, end, from, to)\n                {\n"
                     "                    FOLDED part = FOLD_START;\n"
                     "                    FOLD(part, j, begin, end,");
    tdmi_write_reads(self, TDMI_MAPPED);
    if (ahead < 0) tdmi_write(self, " NOTHING_READ");
    tdmi_write(self, ",\n");
    tdmi_write_values(self, TDMI_MAPPED, "                        ");
    tdmi_write(self, "                        , v%d, ", self->e->mapped);
    if (ahead < 0)
        tdmi_write(self, "NOTHING_AHEAD);\n");
    else
        tdmi_write(self, "AHEAD(r%d));\n", ahead);
    tdmi_write(self, compensates ? "                    FOLD_SUM(chunk, error, part);\n"
                                 : "                    chunk = FOLD_PAIR(chunk, part);\n");
    tdmi_write(self, "                }\n                chunk = GROUP_FOLD(scratch, chunk);\n");
}

/* The steps after a row's value is known. */
static void write_end(tdmi_writer *self) {
    const tdmi_output *y = &self->e->outputs[0];
    if (self->e->has_apply) {
        tdmi_write(self, "        if (args.cut.phase != TDM_ROWS_SUMS) {\n");
        tdmi_write_values(self, TDMI_AFTER, "            ");
        tdmi_write_outputs(self);
    } else {
        tdmi_write(self, "        if (args.cut.phase != TDM_ROWS_SUMS && LANE == 0) {\n");
        tdmi_write_values(self, TDMI_AFTER, "            ");
        tdmi_write(self, "            r%d[0] = tdm_out_%d(v%d);\n", y->tensor, y->tensor, y->node);
    }
    tdmi_write(self, "        }\n");
}

void tdmi_write_rows(tdmi_writer *self) {
    const tdmi_expression *e = self->e;
    const uint8_t type = e->nodes[e->mapped].type;
    const bool is_float = type == TDM_TYPE_F32 || type == TDM_TYPE_F64;
    const bool compensates = is_float && e->combine == TDM_FUNCTION_ADD;
    char left[64];
    write_fold(self, type);
    snprintf(left, sizeof left, " X(%d, FOLDED, left)", e->tensor_count);
    tdmi_write_kernel(self, left);
    tdmi_write(self, "    GROUP_FOLD_ARRAY(scratch);\n    const tdm_i64 pieces = args.cut.pieces;\n"
                     "    FOR_ROWS(item, args.rows * pieces)\n    {\n");
    tdmi_write_places(self, "pieces");
    tdmi_write_values(self, TDMI_BEFORE, "        ");
    /* chunk c of the row, elements [from, to) of the item's; those that were left are of the whole row */
    if (compensates) tdmi_write(self, "        FOLDED lost = FOLD_START;\n");
    tdmi_write(self, "        FOLDED combined = FOLD_START;\n"
                     "        const tdm_i32 was_left = args.cut.phase == TDM_ROWS_WRITES;\n"
                     "        const tdm_i64 left_at = item / pieces * args.cut.chunks;\n"
                     "        const tdm_i32 all = was_left ? (tdm_i32)args.cut.cols : n;\n"
                     "        tdm_i64 c = was_left ? 0 : first / args.cut.chunk;\n");
    tdmi_write(self, "        for (tdm_i32 from = 0, to; from < all; from = to, c++) {\n"
                     "            FOLDED chunk = FOLD_START;\n"
                     "            to = all - from > (tdm_i32)args.cut.chunk ? from + "
                     "(tdm_i32)args.cut.chunk : all;\n"
                     "            if (was_left) {\n"
                     "                chunk = left[left_at + c];\n"
                     "            } else {\n");
    write_map(self, compensates);
    tdmi_write(self,
               "            }\n"
               "            if (args.cut.phase == TDM_ROWS_SUMS) {\n"
               "                if (LANE == 0) left[left_at + c] = chunk;\n"
               "            } else {\n"
               "                %s\n"
               "            }\n        }\n",
               compensates ? "FOLD_SUM(combined, lost, chunk);"
                           : "combined = FOLD_PAIR(combined, chunk);");
    write_end(self);
    tdmi_write(self, "    }\n}\n");
}
