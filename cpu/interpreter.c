/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' expressions, step by step on blocks of elements that stay in the first cache. Elements that are stored as
 * they are computed with are read and written where they lie; others are converted by the kernel that casts. Where all
 * that is done is one function of TDMI_APPLIED_LIST, of floats that lie side by side, its kernel is run instead. */
#include <string.h>

#include "args.h"
#include "cpu_backend.h"

enum {
    LINE = 64,
    PADDING = 128
}; /* bytes; blocks a page apart would be in each other's way in the cache */

/* One group's run. It lies in the thread's scratch memory, followed by the blocks. */
typedef struct interpreter {
    const tdmi_bytecode *bytecode;
    const tdm_group *group;
    const tdm_expression_args *args;
    const tdmi_cpu_blocks *ends;
    tdmi_cpu_functions *functions;
    char *rows[TDM_EXPRESSION_TENSORS]; /* the first element of each tensor's row */
    char *left;                         /* where chunks of rows that are cut leave their values */
    int64_t index;                      /* of the row's first element */
    int direct;             /* the step that computes what is stored, as it is stored; or -1 */
    tdmi_cpu_entry applied; /* does all steps for a row; or NULL */
    uint8_t applied_op, applied_to[3]; /* its OP and the tensors of its buffers */
    const void *values[TDMI_MOST_BLOCKS];
    tdm_elementwise_args cast;
} interpreter;

_Static_assert(TDMI_BLOCK_BYTES <= TDMI_MOST_BLOCKS * TDMI_LEAST_BLOCK * 8 &&
                   sizeof(interpreter) + LINE +
                           TDMI_MOST_BLOCKS * (TDMI_LEAST_BLOCK * 8 + PADDING) <=
                       TDMI_CPU_SCRATCH,
               "more than a thread has");

static size_t block_size(const tdmi_bytecode *bytecode) {
    return (size_t)bytecode->length * (size_t)bytecode->value_size + PADDING;
}

static void *block(interpreter *self, int which) {
    const size_t head = (sizeof *self + LINE - 1) / LINE * LINE;
    return (char *)self + head + (size_t)which * block_size(self->bytecode);
}

/* n elements from x to y, by the kernel of step's dtypes. */
static void cast(interpreter *self, const tdmi_step *step, void *y, int64_t y_stride, const void *x,
                 int64_t x_stride, uint32_t n, bool is_output) {
    tdm_elementwise_args *args = &self->cast;
    tdm_group group = *self->group;
    void *const buffers[3] = {y, (void *)(uintptr_t)x, NULL};
    const bool adjacent = y_stride == 1 && x_stride == 1;
    const bool lines = n * tdm_dtype_size((tdm_dtype)step->t) >= LINE;
    group.index = 0;
    group.count = 1;
    group.op = 0;
    group.u = step->u;
    group.stream = group.stream && is_output && adjacent && lines;
    group.ahead = 0;
    args->inner_stride[0] = y_stride;
    args->inner_stride[1] = x_stride;
    args->unit_stride = adjacent;
    args->cols = args->chunk = n;
    tdmi_cpu_cast_kernel((tdm_dtype)step->t)(&group, buffers, args);
}

static void fill(interpreter *self, const tdmi_step *step, uint64_t bits, uint32_t n) {
    void *to = block(self, step->to);
    if (tdmi_cpu_is_wide(step->of))
        for (uint32_t j = 0; j < n; j++)
            ((uint64_t *)to)[j] = bits;
    else
        for (uint32_t j = 0; j < n; j++)
            ((uint32_t *)to)[j] = (uint32_t)bits;
    self->values[step->to] = to;
}

static void compute(interpreter *self, const tdmi_step *step, void *to, uint32_t n) {
    const void *const operands[3] = {self->values[step->from[0]], self->values[step->from[1]],
                                     self->values[step->from[2]]};
    (*self->functions)[step->number][step->of](to, operands, n);
}

/* Values that are the same everywhere. */
static void begin_group(interpreter *self) {
    const tdmi_bytecode *bytecode = self->bytecode;
    const uint32_t n = (uint32_t)bytecode->length;
    for (int i = 0; i < bytecode->step_count; i++) {
        const tdmi_step *step = &bytecode->steps[i];
        if (step->kind == TDMI_STEP_CONSTANT) fill(self, step, step->bits, n);
        if (step->kind == TDMI_STEP_SCALAR)
            fill(self, step, (uint64_t)self->args->scalars[step->number], n);
        if (step->kind == TDMI_STEP_EXTENT) fill(self, step, (uint64_t)self->args->extent, n);
        if (step->kind == TDMI_STEP_FUNCTION) self->values[step->to] = block(self, step->to);
        if (step->kind == TDMI_STEP_FUNCTION && i < bytecode->once)
            compute(self, step, block(self, step->to), n);
    }
}

/* Elements that are the same in a whole row, for blocks of n at most. */
static void begin_row(interpreter *self, uint32_t n) {
    for (int i = self->bytecode->once; i < self->bytecode->mapped; i++) {
        const tdmi_step *step = &self->bytecode->steps[i];
        if (step->kind != TDMI_STEP_LOAD || self->args->inner_stride[step->number] != 0) continue;
        void *to = block(self, step->to);
        cast(self, step, to, 1, self->rows[step->number], 0, n, false);
        self->values[step->to] = to;
    }
}

static void load(interpreter *self, const tdmi_step *step, int64_t begin, uint32_t n) {
    const int64_t stride = self->args->inner_stride[step->number];
    const char *from =
        self->rows[step->number] + begin * stride * self->bytecode->sizes[step->number];
    if (stride == 0) return;
    if (stride == 1 && step->t == step->u && !step->is_stored) {
        self->values[step->to] = from;
        return;
    }
    void *to = block(self, step->to);
    self->values[step->to] = to;
    if (stride == 1 && step->t == TDM_F32 && self->ends->load[step->u])
        self->ends->load[step->u](to, from, n);
    else
        cast(self, step, to, 1, from, stride, n, false);
}

static void count(interpreter *self, const tdmi_step *step, int64_t begin, uint32_t n) {
    int64_t *to = block(self, step->to);
    for (uint32_t j = 0; j < n; j++)
        to[j] = self->index + begin + (int64_t)j;
    self->values[step->to] = to;
}

static char *output_at(const interpreter *self, int tensor, int64_t begin) {
    return self->rows[tensor] +
           begin * self->args->inner_stride[tensor] * self->bytecode->sizes[tensor];
}

static void store(interpreter *self, const tdmi_step *step, int64_t begin, uint32_t n) {
    const int64_t stride = self->args->inner_stride[step->number];
    const size_t bytes = (size_t)n * self->bytecode->sizes[step->number];
    const void *from = self->values[step->from[0]];
    void *to = output_at(self, step->number, begin);
    const bool is_block = from == block(self, step->from[0]); /* and not where a tensor lies */
    const bool stream = self->group->stream && is_block && (uintptr_t)to % LINE == 0;
    if (stride == 1 && step->t == step->u)
        self->ends->copy(to, from, bytes, stream);
    else if (stride == 1 && is_block && step->u == TDM_F32 && self->ends->store[step->t])
        self->ends->store[step->t](to, from, n, stream, self->group->bf16);
    else
        cast(self, step, to, stride, from, 1, n, true);
}

/* Steps [first, last) for elements [begin, begin + n) of a row. */
static void run_steps(interpreter *self, int first, int last, int64_t begin, uint32_t n) {
    const tdmi_bytecode *bytecode = self->bytecode;
    for (int i = first; i < last; i++) {
        const tdmi_step *step = &bytecode->steps[i];
        switch ((tdmi_step_kind)step->kind) {
        case TDMI_STEP_LOAD:
            load(self, step, begin, n);
            break;
        case TDMI_STEP_INDEX:
            count(self, step, begin, n);
            break;
        case TDMI_STEP_FUNCTION:
            if (i == self->direct) {
                compute(self, step, output_at(self, bytecode->steps[i + 1].number, begin), n);
                return;
            }
            compute(self, step, block(self, step->to), n);
            break;
        case TDMI_STEP_STORE:
            store(self, step, begin, n);
            break;
        default:
            break;
        }
    }
}

/* The last step but one, if it may write what the last one would store: the only output, of its values as they
 * are, along memory, or of one element a row, and not past the cache. */
static int find_direct(const interpreter *self) {
    const tdmi_bytecode *bytecode = self->bytecode;
    const int last = bytecode->step_count - 1;
    const int pass = !bytecode->has_rows   ? bytecode->once /* in which the store is */
                     : bytecode->has_apply ? bytecode->ended
                                           : bytecode->mapped;
    if (last - 1 < pass || self->group->stream) return -1;
    const tdmi_step *store = &bytecode->steps[last], *step = &bytecode->steps[last - 1];
    const bool as_it_is = step->kind == TDMI_STEP_FUNCTION && step->to == store->from[0] &&
                          store->t == store->u &&
                          ((bytecode->has_rows && !bytecode->has_apply) ||
                           self->args->inner_stride[store->number] == 1);
    return as_it_is ? last - 1 : -1;
}

/* ---- one function of rows side by side ---- */

/* The dtype of the floats that a step converts to or from what a function computes with; TDM_DTYPE_COUNT: no such. */
static uint8_t float_dtype(uint8_t type, uint8_t value, uint8_t stored) {
    if (type == TDM_TYPE_F32 && value == TDM_F32 && (stored == TDM_F16 || stored == TDM_BF16))
        return stored;
    if (value != stored || (type != TDM_TYPE_F32 && type != TDM_TYPE_F64)) return TDM_DTYPE_COUNT;
    return type == TDM_TYPE_F32 ? TDM_F32 : TDM_F64;
}

/* Finds the kernel if loads, a function of them and the store of its result are all that is done. */
static void find_applied(interpreter *self) {
    static const uint8_t numbers[TDM_FUNCTION_COUNT] = {
#define X(NAME, name, arity) [TDM_FUNCTION_##NAME] = TDMI_APPLIED_##NAME + 1,
        TDMI_APPLIED_LIST(X)
#undef X
    };
    const tdmi_bytecode *bytecode = self->bytecode;
    const int loads = bytecode->step_count - 2;
    if (bytecode->has_rows || bytecode->once > 0 || loads < 1) return;
    const tdmi_step *function = &bytecode->steps[loads], *store = function + 1;
    if (function->kind != TDMI_STEP_FUNCTION || !numbers[function->number]) return;
    const uint8_t dtype = float_dtype(function->of, store->u, store->t);
    bool same = dtype < TDM_DTYPE_COUNT && store->from[0] == function->to &&
                self->args->inner_stride[store->number] == 1;
    self->applied_to[0] = store->number;
    for (int i = 0; i < loads; i++) {
        const tdmi_step *load = &bytecode->steps[i];
        same = same && load->kind == TDMI_STEP_LOAD &&
               float_dtype(function->of, load->t, load->u) == dtype &&
               self->args->inner_stride[load->number] == 1;
        for (int k = 0; k < 2; k++)
            if (function->from[k] == load->to) self->applied_to[k + 1] = load->number;
    }
    if (!same) return;
    self->applied_op = numbers[function->number] - 1;
    self->applied = tdmi_cpu_applied_kernel(dtype);
}

static void apply(interpreter *self, uint32_t n) {
    void *const buffers[3] = {self->rows[self->applied_to[0]], self->rows[self->applied_to[1]],
                              self->rows[self->applied_to[2]]};
    tdm_group group = *self->group;
    group.index = 0;
    group.count = 1;
    group.op = self->applied_op;
    group.stream = group.stream && n * self->bytecode->sizes[self->applied_to[0]] >= LINE;
    self->cast.cols = n;
    self->applied(&group, buffers, &self->cast);
}

static void find_rows(interpreter *self, void *const *buffers, int64_t row, int64_t first) {
    const tdm_expression_args *args = self->args;
    int64_t at[TDM_EXPRESSION_TENSORS];
    self->index = args->index + row * args->index_stride + first;
    for (int i = 0; i < self->bytecode->tensor_count; i++)
        at[i] = args->offset[i] + first * args->inner_stride[i];
    for (int d = args->outer_ndim - 1; d >= 0; d--) {
        const int64_t next = row / args->outer_shape[d], place = row - next * args->outer_shape[d];
        for (int i = 0; i < self->bytecode->tensor_count; i++)
            at[i] += place * args->outer_stride[i][d];
        row = next;
    }
    for (int i = 0; i < self->bytecode->tensor_count; i++)
        self->rows[i] = (char *)buffers[i] + at[i] * self->bytecode->sizes[i];
}

static uint32_t next_length(const interpreter *self, int64_t begin, int64_t n) {
    const int64_t length = self->bytecode->length;
    return (uint32_t)(n - begin < length ? n - begin : length);
}

static void run_item(interpreter *self, void *const *buffers, int64_t item) {
    const tdm_expression_args *args = self->args;
    const tdm_cut *cut = &args->cut;
    const int64_t row = item / cut->pieces, first = item % cut->pieces * cut->piece;
    const int64_t left = (int64_t)cut->cols - first;
    const int64_t n = left < cut->piece ? left : cut->piece;
    find_rows(self, buffers, row, first);
    if (self->applied) {
        apply(self, (uint32_t)n);
        return;
    }
    begin_row(self, next_length(self, 0, n));
    for (int64_t begin = 0; begin < n; begin += self->bytecode->length)
        run_steps(self, self->bytecode->once, self->bytecode->step_count, begin,
                  next_length(self, begin, n));
}

/* ---- rows that are combined ---- */

/* A value of any type. */
typedef union any_value {
    uint64_t bits;
    float f32;
    double f64;
} any_value;

/* The combined value so far, and of a sum of floats the loss of adding blocks, or chunks (kernels/fold.h). */
typedef struct combining {
    any_value value, error;
} combining;

#define ADD_PART(all, type, part)                                                                  \
    do {                                                                                           \
        const __typeof__((all)->value.type) term = (part)->type - (all)->error.type,               \
                                            total = (all)->value.type + term;                      \
        (all)->error.type = total - total == 0 ? (total - (all)->value.type) - term : 0;           \
        (all)->value.type = total;                                                                 \
    } while (0)

static void combine_two(const tdmi_bytecode *bytecode, any_value *all, const any_value *part) {
    const void *const operands[3] = {all, part, NULL};
    tdmi_cpu_function_of(bytecode->combine, bytecode->type)(all, operands, 1);
}

static void add_part(const tdmi_bytecode *bytecode, combining *all, const any_value *part) {
    if (bytecode->combine == TDM_FUNCTION_ADD && bytecode->type == TDM_TYPE_F32)
        ADD_PART(all, f32, part);
    else if (bytecode->combine == TDM_FUNCTION_ADD && bytecode->type == TDM_TYPE_F64)
        ADD_PART(all, f64, part);
    else
        combine_two(bytecode, &all->value, part);
}

/* A chunk of a row, elements [from, to) of the item's. */
static void combine_chunk(interpreter *self, int64_t from, int64_t to, combining *all) {
    const tdmi_bytecode *bytecode = self->bytecode;
    for (int64_t begin = from; begin < to; begin += bytecode->length) {
        const uint32_t length = next_length(self, begin, to);
        any_value part;
        run_steps(self, bytecode->once, bytecode->mapped, begin, length);
        tdmi_cpu_fold_of(bytecode->combine, bytecode->type)(&part, self->values[bytecode->values],
                                                            length);
        add_part(bytecode, all, &part);
    }
}

/* The output of a row's value: an element or, by apply, n. */
static void end_row(interpreter *self, int64_t n, const any_value *value) {
    const tdmi_bytecode *bytecode = self->bytecode;
    const uint32_t copies = bytecode->has_apply ? next_length(self, 0, n) : 1;
    for (int i = bytecode->mapped; i < bytecode->ended; i++)
        if (bytecode->steps[i].kind == TDMI_STEP_COMBINED)
            fill(self, &bytecode->steps[i], value->bits, copies);
    run_steps(self, bytecode->mapped, bytecode->ended, 0, copies);
    for (int64_t begin = 0; bytecode->has_apply && begin < n; begin += bytecode->length) {
        const uint32_t length = next_length(self, begin, n);
        for (int i = bytecode->once; i < bytecode->mapped; i++)
            if (bytecode->steps[i].kind == TDMI_STEP_LOAD)
                load(self, &bytecode->steps[i], begin, length);
        run_steps(self, bytecode->ended, bytecode->step_count, begin, length);
    }
}

static void combine_item(interpreter *self, void *const *buffers, int64_t item) {
    const tdmi_bytecode *bytecode = self->bytecode;
    const tdm_cut *cut = &self->args->cut;
    const int64_t row = item / cut->pieces, first = item % cut->pieces * cut->piece;
    const int64_t rest = (int64_t)cut->cols - first, n = rest < cut->piece ? rest : cut->piece;
    const size_t size = tdmi_cpu_is_wide(bytecode->type) ? 8 : 4;
    const bool was_left = cut->phase == TDM_ROWS_WRITES;
    const int64_t columns = was_left ? cut->cols : n;
    combining all = {.value.bits = bytecode->start};
    char *left = self->left + (size_t)(row * cut->chunks) * size;
    if (!was_left) left += (size_t)(first / cut->chunk) * size;
    find_rows(self, buffers, row, first);
    if (n > 0) begin_row(self, next_length(self, 0, n));
    for (int64_t from = 0; from < columns; from += cut->chunk, left += size) {
        combining chunk = {.value.bits = bytecode->start};
        const int64_t to = columns - from < cut->chunk ? columns : from + cut->chunk;
        if (was_left)
            memcpy(&chunk.value, left, size);
        else
            combine_chunk(self, from, to, &chunk);
        if (cut->phase == TDM_ROWS_SUMS)
            memcpy(left, &chunk.value, size);
        else
            add_part(bytecode, &all, &chunk.value);
    }
    if (cut->phase != TDM_ROWS_SUMS) end_row(self, n, &all.value);
}

void tdmi_cpu_interpret(const tdm_group *group, void *const *buffers, const void *arguments) {
    const tdm_expression_args *args = arguments;
    const tdmi_bytecode *bytecode = group->bytecode;
    interpreter *self = group->scratch;
    const int64_t items = args->rows * args->cut.pieces;
    const int64_t last = items * ((int64_t)group->index + 1) / group->count;
    memset(self, 0, sizeof *self);
    self->bytecode = bytecode;
    self->group = group;
    self->args = args;
    self->ends = tdmi_cpu_block_ends();
    self->functions = tdmi_cpu_block_functions();
    self->cast = (tdm_elementwise_args){.rows = 1, .chunks = 1};
    self->direct = find_direct(self);
    find_applied(self);
    if (bytecode->has_rows) self->left = buffers[bytecode->tensor_count];
    begin_group(self);
    for (int64_t item = items * group->index / group->count; item < last; item++)
        if (bytecode->has_rows)
            combine_item(self, buffers, item);
        else
            run_item(self, buffers, item);
    if (group->stream) self->ends->fence();
}
