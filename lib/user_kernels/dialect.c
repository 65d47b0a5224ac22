/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An expression as a kernel in the dialect, whose rows are those of elementwise.cl. */
#include "user_kernels/writer.h"

#include <inttypes.h>
#include <stdio.h>

uint8_t tdmi_plain_dtype(const tdmi_expression *e) {
    int first = 0;
    while (e->has_rows && !e->is_read[first])
        first++;
    return e->dtypes[first];
}

bool tdmi_has_f64(const tdmi_expression *e) {
    bool has = false;
    for (int i = 0; i < e->node_count; i++)
        has = has || e->nodes[i].type == TDM_TYPE_F64 || e->nodes[i].of == TDM_TYPE_F64;
    for (int i = 0; i < e->tensor_count; i++)
        has = has || e->dtypes[i] == TDM_F64;
    return has;
}

bool tdmi_is_plain(const tdmi_expression *e, const uint8_t *row_kinds) {
    const uint8_t dtype = tdmi_plain_dtype(e);
    bool reads_row = false, plain = e->output_count <= 2;
    for (int i = 0; i < e->tensor_count; i++) {
        if (e->is_written[i] && e->has_rows && !e->has_apply) continue; /* one element a row */
        const bool adjacent = row_kinds[i] == TDMI_ROW_ADJACENT;
        plain = plain && e->dtypes[i] == dtype &&
                (adjacent || (row_kinds[i] == TDMI_ROW_REPEATED && !e->is_written[i]));
        reads_row = reads_row || (adjacent && e->is_read[i]);
    }
    /* a kernel has f64 where T is that */
    return plain && reads_row && tdm_dtype_is_float((tdm_dtype)dtype) &&
           (dtype == TDM_F64 || !tdmi_has_f64(e));
}

/* The name of a value's type in the dialect. */
const char *tdmi_element_type(uint8_t type) {
    static const char *const names[] = {"tdm_i32", "tdm_i32", "tdm_u32", "tdm_i64",
                                        "tdm_u64", "float",   "double"};
    return names[type];
}

/* As conversions name it: a bool is an i32. */
static const char *source_name(uint8_t type) {
    return tdmi_type_name(type == TDM_TYPE_BOOL ? TDM_TYPE_I32 : type);
}

static void write_bits(tdmi_writer *self, uint8_t type, const char *bits) {
    if (type == TDM_TYPE_F32)
        tdmi_write(self, "tdm_as_f32((tdm_i32)%s)", bits);
    else if (type == TDM_TYPE_F64)
        tdmi_write(self, "tdm_as_f64((tdm_i64)%s)", bits);
    else
        tdmi_write(self, "(%s)%s", tdmi_element_type(type), bits);
}

void tdmi_write_constant(tdmi_writer *self, uint8_t type, uint64_t bits) {
    char text[64];
    snprintf(text, sizeof text, "0x%" PRIx64 "%s", bits,
             tdm_dtype_size(tdmi_type_dtype(type)) == 8 ? "ul" : "u");
    write_bits(self, type, text);
}

static void print_element(tdmi_writer *self, const tdmi_node *node) {
    const int tensor = node->number;
    const char *at[] = {"0", "j", ""};
    if (self->is_plain && self->row_kinds[tensor] == TDMI_ROW_ADJACENT)
        tdmi_write(self, "AT(r%d, j)", tensor);
    else if (self->row_kinds[tensor] == TDMI_ROW_APART)
        tdmi_write(self, "tdm_load_%d(r%d, j * args.inner_stride[%d])", self->e->dtypes[tensor],
                   tensor, tensor);
    else
        tdmi_write(self, "tdm_load_%d(r%d, %s)", self->e->dtypes[tensor], tensor,
                   at[self->row_kinds[tensor]]);
}

static void print_value(tdmi_writer *self, const tdmi_node *node) {
    char bits[64];
    switch ((tdmi_node_kind)node->kind) {
    case TDMI_NODE_ELEMENT:
        print_element(self, node);
        return;
    case TDMI_NODE_SCALAR:
        snprintf(bits, sizeof bits, "args.scalars[%d]", node->number);
        write_bits(self, node->type, bits);
        return;
    case TDMI_NODE_CONSTANT:
        tdmi_write_constant(self, node->type, node->bits);
        return;
    case TDMI_NODE_INDEX:
        tdmi_write(self, "index + (tdm_i64)j");
        return;
    case TDMI_NODE_EXTENT:
        tdmi_write(self, "args.extent");
        return;
    case TDMI_NODE_COMBINED:
        tdmi_write(self, "combined");
        return;
    case TDMI_NODE_FUNCTION:
        tdmi_write(self, "tdm_fn_%s_%s(", tdmi_function_name(node->number),
                   node->of == TDM_TYPE_BOOL ? "truth" : tdmi_type_name(node->of));
        for (int k = 0; k < tdmi_function_arity(node->number); k++)
            tdmi_write(self, "%sv%d", k ? ", " : "", node->from[k]);
        tdmi_write(self, ")");
        return;
    }
}

static bool is_wanted(const tdmi_writer *self, int node, tdmi_when when) {
    const tdmi_places *places = &self->places;
    const bool varies = places->varies[node], late = places->is_late[node];
    switch (when) {
    case TDMI_BEFORE:
        return !varies && !late && (places->by_map[node] || places->by_output[node]);
    case TDMI_MAPPED:
        return varies && places->by_map[node];
    case TDMI_AFTER:
        return !varies && late && places->by_output[node];
    default:
        return varies && places->by_output[node];
    }
}

void tdmi_write_values(tdmi_writer *self, tdmi_when when, const char *indent) {
    for (int i = 0; i < self->e->node_count; i++) {
        const tdmi_node *node = &self->e->nodes[i];
        if (!is_wanted(self, i, when)) continue;
        tdmi_write(self, "%sconst %s v%d = ", indent, tdmi_element_type(node->type), i);
        print_value(self, node);
        tdmi_write(self, ";\n");
    }
}

int tdmi_first_read(const tdmi_writer *self, tdmi_when when) {
    for (int i = 0; i < self->e->node_count; i++)
        if (self->e->nodes[i].kind == TDMI_NODE_ELEMENT && is_wanted(self, i, when))
            return self->e->nodes[i].number;
    return -1;
}

void tdmi_write_reads(tdmi_writer *self, tdmi_when when) {
    for (int i = 0; i < self->e->node_count && self->is_plain; i++)
        if (self->e->nodes[i].kind == TDMI_NODE_ELEMENT && is_wanted(self, i, when))
            tdmi_write(self, " READ(r%d)", self->e->nodes[i].number);
}

/* tdm_out_<tensor>: a value as it is stored. Conversions look at T_ID. */
void tdmi_write_conversions(tdmi_writer *self) {
    for (int i = 0; i < self->e->output_count; i++) {
        const int tensor = self->e->outputs[i].tensor, dtype = self->e->dtypes[tensor];
        const uint8_t type = self->e->nodes[self->e->outputs[i].node].type;
        static const char *const forms[TDM_DTYPE_COUNT] = {
            [TDM_F32] = "f32",   [TDM_F64] = "f64",   [TDM_F16] = "f16",    [TDM_BF16] = "bf16",
            [TDM_I32] = "wide",  [TDM_I64] = "wide",  [TDM_U32] = "wide",   [TDM_U64] = "wide",
            [TDM_U8] = "narrow", [TDM_I8] = "narrow", [TDM_I16] = "narrow", [TDM_U16] = "narrow",
            [TDM_BOOL] = "truth"};
        tdmi_write(self, "#undef T_ID\n#define T_ID %d\n", dtype);
        tdmi_write(self, "INLINE tdm_type_%d tdm_out_%d(%s v) { return ", dtype, tensor,
                   tdmi_element_type(type));
        if (tdm_dtype_is_float((tdm_dtype)dtype))
            tdmi_write(self, "tdm_put_%d", dtype);
        else
            tdmi_write(self, "(tdm_type_%d)", dtype);
        tdmi_write(self, "(tdm_from_%s_to_%s(v)); }\n", source_name(type), forms[dtype]);
    }
    tdmi_write(self, "#undef T_ID\n#define T_ID U_ID\n");
}

void tdmi_write_kernel(tdmi_writer *self, const char *more) {
    const tdmi_expression *e = self->e;
    tdmi_write(self, "OPS(expression, 1, %d)\n#define TENSORS(X)",
               self->is_plain && !e->has_rows ? 1 : 0);
    for (int i = 0; i < e->tensor_count; i++)
        tdmi_write(self, " X(%d, %stdm_type_%d, p%d)", i, e->is_written[i] ? "" : "const ",
                   e->dtypes[i], i);
    tdmi_write(self, "%s\nKERNEL_OF(expression, tdm_expression_args, TENSORS)\n{\n", more);
}

void tdmi_write_places(tdmi_writer *self, const char *pieces) {
    const tdmi_expression *e = self->e;
    tdmi_write(self,
               "        tdm_i64 row = %s == 1 ? item : item / %s;\n"
               "        const tdm_i64 first = (item - row * %s) * args.cut.piece;\n"
               "        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.cut.piece, "
               "(tdm_i64)args.cut.cols - first);\n",
               pieces, pieces, pieces);
    if (e->has_index)
        tdmi_write(self,
                   "        const tdm_i64 index = args.index + row * args.index_stride + first;\n");
    for (int i = 0; i < e->tensor_count; i++)
        tdmi_write(self,
                   "        tdm_i64 at%d = args.offset[%d] + first * args.inner_stride[%d];\n", i,
                   i, i);
    tdmi_write(self, "        FOR_DIMS(d, args.outer_ndim)\n        {\n"
                     "            const tdm_i64 next = row / args.outer_shape[d];\n"
                     "            const tdm_i64 place = row - next * args.outer_shape[d];\n");
    for (int i = 0; i < e->tensor_count; i++)
        tdmi_write(self, "            at%d += place * args.outer_stride[%d][d];\n", i, i);
    tdmi_write(self, "            row = next;\n        }\n");
    for (int i = 0; i < e->tensor_count; i++)
        tdmi_write(self, "        GLOBAL %stdm_type_%d *const r%d = p%d + at%d;\n",
                   e->is_written[i] ? "" : "const ", e->dtypes[i], i, i, i);
}

/* A value to a row of T. An integer is rounded to bf16 once, so not to f32 before. */
static void print_write(tdmi_writer *self, const char *write, int tensor, int node) {
    const tdmi_expression *e = self->e;
    if (e->dtypes[tensor] == TDM_BF16)
        tdmi_write(self, "            %s(r%d, j, tdm_from_%s_to_bf16(v%d));\n", write, tensor,
                   source_name(e->nodes[node].type), node);
    else
        tdmi_write(self, "            %s(r%d, j, v%d);\n", write, tensor, node);
}

/* The dialect's loop over rows of T, which it reads and writes in vectors, lines or past the cache. */
static void print_plain_loop(tdmi_writer *self) {
    const tdmi_expression *e = self->e;
    const int y = e->outputs[0].tensor, z = e->output_count > 1 ? e->outputs[1].tensor : -1;
    const int ahead = tdmi_first_read(self, TDMI_WRITTEN);
    if (z < 0)
        tdmi_write(self, "        FOR_LANES_WRITE(r%d, j, n, AHEAD(r%d),", y, ahead);
    else
        tdmi_write(self, "        FOR_LANES_WRITE2(r%d, r%d, j, n, AHEAD(r%d),", y, z, ahead);
    tdmi_write_reads(self, TDMI_WRITTEN);
    tdmi_write(self, ")\n        {\n");
    tdmi_write_values(self, TDMI_WRITTEN, "            ");
    print_write(self, "WRITE", y, e->outputs[0].node);
    if (z >= 0) print_write(self, "WRITE2", z, e->outputs[1].node);
    tdmi_write(self, "        }\n");
}

static void print_loop(tdmi_writer *self) {
    const tdmi_expression *e = self->e;
    tdmi_write(self, "        FOR_LANES(j, 0, n)\n        {\n");
    tdmi_write_values(self, TDMI_WRITTEN, "            ");
    for (int i = 0; i < e->output_count; i++) {
        const int tensor = e->outputs[i].tensor;
        const bool apart = self->row_kinds[tensor] == TDMI_ROW_APART;
        tdmi_write(self, "            r%d[j", tensor);
        if (apart) tdmi_write(self, " * args.inner_stride[%d]", tensor);
        tdmi_write(self, "] = tdm_out_%d(v%d);\n", tensor, e->outputs[i].node);
    }
    tdmi_write(self, "        }\n");
}

void tdmi_write_outputs(tdmi_writer *self) {
    if (self->is_plain && tdmi_first_read(self, TDMI_WRITTEN) >= 0)
        print_plain_loop(self);
    else
        print_loop(self);
}
