/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An expression as steps on blocks. */
#include "user_kernels/lower.h"

#include "launch.h"

static void add_operands(const tdmi_expression *e, bool needed[TDMI_MOST_NODES]) {
    for (int i = e->node_count - 1; i >= 0; i--) {
        const tdmi_node *node = &e->nodes[i];
        if (!needed[i] || node->kind != TDMI_NODE_FUNCTION) continue;
        for (int k = 0; k < tdmi_function_arity(node->number); k++)
            needed[node->from[k]] = true;
    }
}

void tdmi_find_places(const tdmi_expression *e, const uint8_t *row_kinds, tdmi_places *places) {
    memset(places, 0, sizeof *places);
    for (int i = 0; i < e->output_count; i++)
        places->by_output[e->outputs[i].node] = true;
    if (e->has_rows) places->by_map[e->mapped] = true;
    add_operands(e, places->by_output);
    add_operands(e, places->by_map);
    for (int i = 0; i < e->node_count; i++) {
        const tdmi_node *node = &e->nodes[i];
        const bool is_function = node->kind == TDMI_NODE_FUNCTION;
        places->varies[i] = node->kind == TDMI_NODE_INDEX ||
                            (node->kind == TDMI_NODE_ELEMENT &&
                             (!row_kinds || row_kinds[node->number] != TDMI_ROW_REPEATED));
        places->is_late[i] = node->kind == TDMI_NODE_COMBINED;
        for (int k = 0; is_function && k < tdmi_function_arity(node->number); k++) {
            places->varies[i] = places->varies[i] || places->varies[node->from[k]];
            places->is_late[i] = places->is_late[i] || places->is_late[node->from[k]];
        }
    }
}

typedef struct lowering {
    const tdmi_expression *expression;
    tdmi_bytecode *to;
    tdmi_places places;
    bool needed[TDMI_MOST_NODES];
    int uses[TDMI_MOST_NODES];       /* how many values are made of it, and outputs */
    int product_of[TDMI_MOST_NODES]; /* of a sum: the product that is computed with it; else -1 */
    bool is_inside[TDMI_MOST_NODES]; /* of a product: it is computed with a sum */
    int last_use[TDMI_MOST_NODES];   /* node_count: an output */
    int block_of[TDMI_MOST_NODES];
    int block_count;
    bool is_taken[TDMI_MOST_BLOCKS];
} lowering;

/* The function of values that a step computes. Returns their number. */
static int operands_of(const lowering *self, int which, int from[3], uint8_t *function) {
    const tdmi_node *node = &self->expression->nodes[which];
    const int product = self->product_of[which];
    if (node->kind != TDMI_NODE_FUNCTION) return 0;
    *function = node->number;
    for (int k = 0; k < 3; k++)
        from[k] = node->from[k];
    if (product < 0) return tdmi_function_arity(node->number);
    const tdmi_node *factors = &self->expression->nodes[product];
    const bool is_first = node->from[0] == product;
    from[2] = node->from[is_first ? 1 : 0];
    from[0] = factors->from[0];
    from[1] = factors->from[1];
    *function = node->number == TDM_FUNCTION_ADD ? TDM_FUNCTION_MUL_ADD
                : is_first                       ? TDM_FUNCTION_MUL_SUB
                                                 : TDM_FUNCTION_SUB_MUL;
    return 3;
}

/* A product that one sum alone uses is computed with it, which spares a block. */
static void find_products(lowering *self) {
    const tdmi_expression *e = self->expression;
    for (int i = 0; i < e->node_count; i++) {
        const tdmi_node *node = &e->nodes[i];
        self->product_of[i] = -1;
        const bool is_sum =
            node->kind == TDMI_NODE_FUNCTION &&
            (node->number == TDM_FUNCTION_ADD || node->number == TDM_FUNCTION_SUB) &&
            (node->of == TDM_TYPE_F32 || node->of == TDM_TYPE_F64);
        for (int k = 0; k < 2 && is_sum && self->needed[i] && self->product_of[i] < 0; k++) {
            const tdmi_node *factors = &e->nodes[node->from[k]];
            if (factors->kind != TDMI_NODE_FUNCTION || factors->number != TDM_FUNCTION_MUL ||
                self->uses[node->from[k]] != 1)
                continue;
            self->product_of[i] = node->from[k];
            self->is_inside[node->from[k]] = true;
        }
    }
}

static void count_uses(lowering *self) {
    const tdmi_expression *e = self->expression;
    for (int i = 0; i < e->node_count; i++) {
        const tdmi_node *node = &e->nodes[i];
        if (!self->needed[i] || node->kind != TDMI_NODE_FUNCTION) continue;
        for (int k = 0; k < tdmi_function_arity(node->number); k++)
            self->uses[node->from[k]]++;
    }
    for (int i = 0; i < e->output_count; i++)
        self->uses[e->outputs[i].node]++;
    if (e->has_rows) self->uses[e->mapped]++;
}

static void find_last_uses(lowering *self) {
    const tdmi_expression *e = self->expression;
    for (int i = 0; i < e->node_count; i++) {
        int from[3];
        uint8_t function;
        if (!self->needed[i] || self->is_inside[i]) continue;
        const int count = operands_of(self, i, from, &function);
        for (int k = 0; k < count; k++)
            self->last_use[from[k]] = i;
    }
    for (int i = 0; i < e->output_count; i++)
        self->last_use[e->outputs[i].node] = e->node_count;
    if (e->has_rows) self->last_use[e->mapped] = e->node_count;
}

static bool take_block(lowering *self, int *block) {
    for (*block = 0; *block < TDMI_MOST_BLOCKS; ++*block) {
        if (self->is_taken[*block]) continue;
        self->is_taken[*block] = true;
        if (self->block_count <= *block) self->block_count = *block + 1;
        return true;
    }
    return false;
}

static bool is_computed(const tdmi_node *node) {
    return node->kind == TDMI_NODE_FUNCTION || node->kind == TDMI_NODE_INDEX;
}

/* The blocks of operands that are not used again may be taken by later steps; not by this one, whose values
 * may be wider. Values that are the same for a row, or for all, stay. */
static void let_go(lowering *self, int which, const int *from, int count) {
    for (int k = 0; k < count; k++)
        if (is_computed(&self->expression->nodes[from[k]]) && self->places.varies[from[k]] &&
            self->last_use[from[k]] == which)
            self->is_taken[self->block_of[from[k]]] = false;
}

static bool add_step(lowering *self, int which) {
    static const uint8_t kinds[] = {
        [TDMI_NODE_ELEMENT] = TDMI_STEP_LOAD,      [TDMI_NODE_SCALAR] = TDMI_STEP_SCALAR,
        [TDMI_NODE_CONSTANT] = TDMI_STEP_CONSTANT, [TDMI_NODE_INDEX] = TDMI_STEP_INDEX,
        [TDMI_NODE_EXTENT] = TDMI_STEP_EXTENT,     [TDMI_NODE_COMBINED] = TDMI_STEP_COMBINED,
        [TDMI_NODE_FUNCTION] = TDMI_STEP_FUNCTION};
    const tdmi_node *node = &self->expression->nodes[which];
    const bool is_function = node->kind == TDMI_NODE_FUNCTION;
    int from[3];
    uint8_t number = node->number;
    const int count = operands_of(self, which, from, &number);
    tdmi_step step = {.kind = kinds[node->kind],
                      .number = number,
                      .of = is_function ? node->of : node->type,
                      .bits = node->bits};
    if (!take_block(self, &self->block_of[which])) return false;
    step.to = (uint8_t)self->block_of[which];
    for (int k = 0; k < count; k++)
        step.from[k] = (uint8_t)self->block_of[from[k]];
    if (node->kind == TDMI_NODE_ELEMENT) {
        const tdmi_variant cast = tdmi_cast_variant(
            tdmi_type_dtype(node->type), (tdm_dtype)self->expression->dtypes[node->number]);
        step.t = cast.t;
        step.u = cast.u;
    }
    let_go(self, which, from, count);
    if (tdm_dtype_size(tdmi_type_dtype(node->type)) == 8) self->to->value_size = 8;
    self->to->steps[self->to->step_count++] = step;
    return true;
}

static void add_store(lowering *self, const tdmi_output *output) {
    const tdm_dtype dtype = (tdm_dtype)self->expression->dtypes[output->tensor];
    const uint8_t type = self->expression->nodes[output->node].type;
    const tdmi_variant cast = tdmi_cast_variant(dtype, tdmi_type_dtype(type));
    for (int i = 0; i < self->to->step_count && self->expression->output_count > 1; i++) {
        tdmi_step *step = &self->to->steps[i];
        if (step->kind == TDMI_STEP_LOAD && step->to == self->block_of[output->node])
            step->is_stored = true;
    }
    self->to->steps[self->to->step_count++] =
        (tdmi_step){.kind = TDMI_STEP_STORE,
                    .number = output->tensor,
                    .of = type,
                    .t = cast.t,
                    .u = cast.u,
                    .from = {(uint8_t)self->block_of[output->node]}};
}

static int choose_length(const lowering *self) {
    int length = TDMI_MOST_BLOCK;
    while (length > TDMI_LEAST_BLOCK &&
           self->block_count * length * self->to->value_size > TDMI_BLOCK_BYTES)
        length /= 2;
    return length;
}

/* Steps come in this order; what keeps its block comes before all that leaves its block to others. */
typedef enum pass { UNCOMPUTED, ONCE, READ, MAPPED, ENDED, WRITTEN, PASS_COUNT } pass;

static bool is_of_pass(const lowering *self, int which, pass now) {
    const tdmi_node *node = &self->expression->nodes[which];
    const bool varies = self->places.varies[which], late = self->places.is_late[which];
    switch (now) {
    case UNCOMPUTED:
        return !is_computed(node) && !varies && !late;
    case ONCE:
        return is_computed(node) && !varies && !late;
    case READ:
        return node->kind == TDMI_NODE_ELEMENT;
    case MAPPED:
        return is_computed(node) && varies && self->places.by_map[which];
    case ENDED:
        return late && !varies;
    default:
        return is_computed(node) && varies && self->places.by_output[which];
    }
}

static bool lower(lowering *self) {
    const tdmi_expression *e = self->expression;
    tdmi_bytecode *to = self->to;
    int *const ends[PASS_COUNT] = {
        [ONCE] = &to->once, [MAPPED] = &to->mapped, [ENDED] = &to->ended};
    tdmi_find_places(e, NULL, &self->places);
    for (int i = 0; i < e->node_count; i++)
        self->needed[i] = self->places.by_map[i] || self->places.by_output[i];
    count_uses(self);
    find_products(self);
    find_last_uses(self);
    for (pass now = 0; now < PASS_COUNT; now++) {
        for (int i = 0; i < e->node_count; i++)
            if (self->needed[i] && !self->is_inside[i] && is_of_pass(self, i, now) &&
                !add_step(self, i))
                return false;
        if (now == MAPPED && e->has_rows) to->values = (uint8_t)self->block_of[e->mapped];
        if (now == (e->has_rows && !e->has_apply ? ENDED : WRITTEN))
            for (int i = 0; i < e->output_count; i++)
                add_store(self, &e->outputs[i]);
        if (ends[now]) *ends[now] = to->step_count;
    }
    to->length = choose_length(self);
    return true;
}

tdm_status tdmi_lower_to_bytecode(const tdmi_expression *expression, tdmi_bytecode **bytecode) {
    /* varying values may be computed twice */
    const size_t steps = (size_t)(2 * expression->node_count + expression->output_count);
    lowering *self = tdmi_calloc(1, sizeof *self);
    tdmi_bytecode *to = tdmi_calloc(1, sizeof *to + steps * sizeof *to->steps);
    tdm_status status = TDM_OK;
    if (!self || !to) {
        status = tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
    } else {
        to->tensor_count = expression->tensor_count;
        to->value_size = 4;
        to->has_rows = expression->has_rows;
        to->has_apply = expression->has_apply;
        if (expression->has_rows) {
            to->combine = expression->combine;
            to->type = expression->nodes[expression->mapped].type;
            to->start = tdmi_combine_start(to->combine, to->type);
        }
        for (int i = 0; i < expression->tensor_count; i++)
            to->sizes[i] = (uint8_t)tdm_dtype_size((tdm_dtype)expression->dtypes[i]);
        self->expression = expression;
        self->to = to;
        if (!lower(self))
            status = tdmi_fail(TDM_ERROR_UNSUPPORTED,
                               "the text needs more than %d values at once; make two kernels of it",
                               (int)TDMI_MOST_BLOCKS);
    }
    tdmi_free(self);
    if (status != TDM_OK) {
        tdmi_free(to);
        to = NULL;
    }
    *bytecode = to;
    return status;
}
