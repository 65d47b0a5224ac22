/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An expression as a kernel in the dialect, whose rows are those of elementwise.cl. Values are v<node>; the buffer,
 * the place and the row of tensor i are p<i>, at<i> and r<i>. */
#include "kernels/lower.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dtype.h"
#include "memory.h"

typedef struct writer {
    const tdmi_expression *e;
    const uint8_t *row_kinds;
    bool is_plain;
    bool needed[TDMI_MOST_NODES];
    bool is_outside[TDMI_MOST_NODES]; /* of the loop over a row: the same for all its elements */
    char *text;
    size_t size, used;
    bool failed;
} writer;

static void print(writer *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(writer *self, const char *format, ...) {
    enum { LONGEST = 512 };
    if (self->size - self->used < LONGEST) {
        char *grown = tdmi_realloc(self->text, self->size * 2 + 4096);
        if (!grown) {
            self->failed = true;
            return;
        }
        self->text = grown;
        self->size = self->size * 2 + 4096;
    }
    va_list arguments;
    va_start(arguments, format);
    self->used += (size_t)vsnprintf(self->text + self->used, LONGEST, format, arguments);
    va_end(arguments);
}

bool tdmi_is_plain(const tdmi_expression *e, const uint8_t *row_kinds) {
    bool reads_row = false, plain = e->output_count <= 2;
    for (int i = 0; i < e->tensor_count; i++) {
        const bool adjacent = row_kinds[i] == TDMI_ROW_ADJACENT;
        plain = plain && e->dtypes[i] == e->dtypes[0] &&
                (adjacent || (row_kinds[i] == TDMI_ROW_REPEATED && !e->is_written[i]));
        reads_row = reads_row || (adjacent && e->is_read[i]);
    }
    return plain && reads_row && tdm_dtype_is_float((tdm_dtype)e->dtypes[0]);
}

/* The name of a value's type in the dialect. */
static const char *element_type(uint8_t type) {
    static const char *const names[] = {"tdm_i32", "tdm_i32", "tdm_u32", "tdm_i64",
                                        "tdm_u64", "float",   "double"};
    return names[type];
}

/* As conversions name it: a bool is an i32. */
static const char *source_name(uint8_t type) {
    return tdmi_type_name(type == TDM_TYPE_BOOL ? TDM_TYPE_I32 : type);
}

static bool is_outside(const writer *self, const tdmi_node *node) {
    bool outside = true;
    switch ((tdmi_node_kind)node->kind) {
    case TDMI_NODE_INDEX:
        return false;
    case TDMI_NODE_ELEMENT:
        return self->row_kinds[node->number] == TDMI_ROW_REPEATED;
    case TDMI_NODE_FUNCTION:
        for (int k = 0; k < tdmi_function_arity(node->number); k++)
            outside = outside && self->is_outside[node->from[k]];
        return outside;
    default:
        return true;
    }
}

static void print_bits(writer *self, uint8_t type, const char *bits) {
    if (type == TDM_TYPE_F32)
        print(self, "tdm_as_f32((tdm_i32)%s)", bits);
    else if (type == TDM_TYPE_F64)
        print(self, "tdm_as_f64((tdm_i64)%s)", bits);
    else
        print(self, "(%s)%s", element_type(type), bits);
}

static void print_element(writer *self, const tdmi_node *node) {
    const int tensor = node->number;
    const char *at[] = {"0", "j", ""};
    if (self->is_plain && self->row_kinds[tensor] == TDMI_ROW_ADJACENT)
        print(self, "AT(r%d, j)", tensor);
    else if (self->row_kinds[tensor] == TDMI_ROW_APART)
        print(self, "tdm_load_%d(r%d, j * args.inner_stride[%d])", self->e->dtypes[tensor], tensor,
              tensor);
    else
        print(self, "tdm_load_%d(r%d, %s)", self->e->dtypes[tensor], tensor,
              at[self->row_kinds[tensor]]);
}

static void print_value(writer *self, const tdmi_node *node) {
    char bits[64];
    switch ((tdmi_node_kind)node->kind) {
    case TDMI_NODE_ELEMENT:
        print_element(self, node);
        return;
    case TDMI_NODE_SCALAR:
        snprintf(bits, sizeof bits, "args.scalars[%d]", node->number);
        print_bits(self, node->type, bits);
        return;
    case TDMI_NODE_CONSTANT:
        snprintf(bits, sizeof bits, "0x%" PRIx64 "%s", node->bits,
                 tdm_dtype_size(tdmi_type_dtype(node->type)) == 8 ? "ul" : "u");
        print_bits(self, node->type, bits);
        return;
    case TDMI_NODE_INDEX:
        print(self, "index + (tdm_i64)j");
        return;
    case TDMI_NODE_EXTENT:
        print(self, "args.extent");
        return;
    case TDMI_NODE_FUNCTION:
        print(self, "tdm_fn_%s_%s(", tdmi_function_name(node->number),
              node->of == TDM_TYPE_BOOL ? "truth" : tdmi_type_name(node->of));
        for (int k = 0; k < tdmi_function_arity(node->number); k++)
            print(self, "%sv%d", k ? ", " : "", node->from[k]);
        print(self, ")");
        return;
    }
}

static void print_values(writer *self, bool outside, const char *indent) {
    for (int i = 0; i < self->e->node_count; i++) {
        const tdmi_node *node = &self->e->nodes[i];
        if (!self->needed[i] || self->is_outside[i] != outside) continue;
        print(self, "%sconst %s v%d = ", indent, element_type(node->type), i);
        print_value(self, node);
        print(self, ";\n");
    }
}

/* tdm_out_<tensor>: a value as it is stored. What converts looks at T_ID. */
static void print_conversions(writer *self) {
    for (int i = 0; i < self->e->output_count && !self->is_plain; i++) {
        const int tensor = self->e->outputs[i].tensor, dtype = self->e->dtypes[tensor];
        const uint8_t type = self->e->nodes[self->e->outputs[i].node].type;
        static const char *const forms[TDM_DTYPE_COUNT] = {
            [TDM_F32] = "f32",   [TDM_F64] = "f64",   [TDM_F16] = "f16",    [TDM_BF16] = "bf16",
            [TDM_I32] = "wide",  [TDM_I64] = "wide",  [TDM_U32] = "wide",   [TDM_U64] = "wide",
            [TDM_U8] = "narrow", [TDM_I8] = "narrow", [TDM_I16] = "narrow", [TDM_U16] = "narrow",
            [TDM_BOOL] = "truth"};
        print(self, "#undef T_ID\n#define T_ID %d\n", dtype);
        print(self, "INLINE tdm_type_%d tdm_out_%d(%s v) { return ", dtype, tensor,
              element_type(type));
        if (tdm_dtype_is_float((tdm_dtype)dtype))
            print(self, "tdm_put_%d", dtype);
        else
            print(self, "(tdm_type_%d)", dtype);
        print(self, "(tdm_from_%s_to_%s(v)); }\n", source_name(type), forms[dtype]);
    }
    print(self, "#undef T_ID\n#define T_ID U_ID\n");
}

static void print_head(writer *self) {
    const tdmi_expression *e = self->e;
    print(self, "OPS(expression, 1, %d)\n#define TENSORS(X)", self->is_plain ? 1 : 0);
    for (int i = 0; i < e->tensor_count; i++)
        print(self, " X(%d, %stdm_type_%d, p%d)", i, e->is_written[i] ? "" : "const ", e->dtypes[i],
              i);
    print(self, "\nKERNEL_OF(expression, tdm_expression_args, TENSORS)\n{\n"
                "    FOR_ROWS(item, args.rows * args.chunks)\n    {\n"
                "        tdm_i64 row = args.chunks == 1 ? item : item / args.chunks;\n"
                "        const tdm_i64 first = (item - row * args.chunks) * args.chunk;\n"
                "        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - "
                "first);\n");
    if (e->has_index)
        print(self,
              "        const tdm_i64 index = args.index + row * args.index_stride + first;\n");
    for (int i = 0; i < e->tensor_count; i++)
        print(self, "        tdm_i64 at%d = args.offset[%d] + first * args.inner_stride[%d];\n", i,
              i, i);
    print(self, "        FOR_DIMS(d, args.outer_ndim)\n        {\n"
                "            const tdm_i64 next = row / args.outer_shape[d];\n"
                "            const tdm_i64 place = row - next * args.outer_shape[d];\n");
    for (int i = 0; i < e->tensor_count; i++)
        print(self, "            at%d += place * args.outer_stride[%d][d];\n", i, i);
    print(self, "            row = next;\n        }\n");
    for (int i = 0; i < e->tensor_count; i++)
        print(self, "        GLOBAL %stdm_type_%d *const r%d = p%d + at%d;\n",
              e->is_written[i] ? "" : "const ", e->dtypes[i], i, i, i);
}

/* The dialect's loop over rows of T, which it reads and writes in vectors, lines or past the cache. */
static void print_plain_loop(writer *self) {
    const tdmi_expression *e = self->e;
    const int y = e->outputs[0].tensor, z = e->output_count > 1 ? e->outputs[1].tensor : -1;
    int ahead = -1;
    for (int i = 0; i < e->tensor_count && ahead < 0; i++)
        if (e->is_read[i] && self->row_kinds[i] == TDMI_ROW_ADJACENT) ahead = i;
    if (z < 0)
        print(self, "        FOR_LANES_WRITE(r%d, j, n, AHEAD(r%d),", y, ahead);
    else
        print(self, "        FOR_LANES_WRITE2(r%d, r%d, j, n, AHEAD(r%d),", y, z, ahead);
    for (int i = 0; i < e->tensor_count; i++)
        if (e->is_read[i] && self->row_kinds[i] == TDMI_ROW_ADJACENT) print(self, " READ(r%d)", i);
    print(self, ")\n        {\n");
    print_values(self, false, "            ");
    print(self, "            WRITE(r%d, j, v%d);\n", y, e->outputs[0].node);
    if (z >= 0) print(self, "            WRITE2(r%d, j, v%d);\n", z, e->outputs[1].node);
    print(self, "        }\n");
}

static void print_loop(writer *self) {
    const tdmi_expression *e = self->e;
    print(self, "        FOR_LANES(j, 0, n)\n        {\n");
    print_values(self, false, "            ");
    for (int i = 0; i < e->output_count; i++) {
        const int tensor = e->outputs[i].tensor;
        const bool apart = self->row_kinds[tensor] == TDMI_ROW_APART;
        print(self, "            r%d[j", tensor);
        if (apart) print(self, " * args.inner_stride[%d]", tensor);
        print(self, "] = tdm_out_%d(v%d);\n", tensor, e->outputs[i].node);
    }
    print(self, "        }\n");
}

char *tdmi_lower_to_text(const tdmi_expression *expression, const uint8_t *row_kinds) {
    writer *self = tdmi_calloc(1, sizeof *self);
    if (!self) return NULL;
    self->e = expression;
    self->row_kinds = row_kinds;
    self->is_plain = tdmi_is_plain(expression, row_kinds);
    tdmi_mark_needed(expression, self->needed);
    for (int i = 0; i < expression->node_count; i++)
        self->is_outside[i] = is_outside(self, &expression->nodes[i]);
    print_conversions(self);
    print_head(self);
    print_values(self, true, "        ");
    if (self->is_plain)
        print_plain_loop(self);
    else
        print_loop(self);
    print(self, "    }\n}\n");
    char *text = self->text;
    if (self->failed) {
        tdmi_free(text);
        text = NULL;
    }
    tdmi_free(self);
    return text;
}
