/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The product of two matrices over a grid: SUMMA, R. van de Geijn and J. Watts, "SUMMA: scalable universal matrix
 * multiplication algorithm", 1997. The inner dimension is cut into panels that end where a block of A or of B does. */
#include "comm.h"
#include "grid.h"

static const char function[] = "tdm_grid_matmul";

enum { WIDEST = 1024 }; /* elements of the inner dimension in one panel */

/* A product under way. Panels come on a second queue, while the one before is multiplied. */
typedef struct product {
    tdm_grid *grid;
    tdm_queue *queue, *side; /* the same on a cpu device, whose calls return when they are done */
    tdm_matmul_options options;
    int64_t inner;
    const tdm_tensor *a, *b;
    tdm_tensor *c;
    tdm_tensor a_room[2], b_room[2], a_panel[2], b_panel[2]; /* of this panel and of the next */
    tdm_event *arrived[2], *used[2];
} product;

/* Which part of `inner` (tdm_part) holds element `at`, and where it begins and ends. */
static int block_of(int64_t inner, int parts, int64_t at, int64_t *begin, int64_t *end) {
    const int64_t each = inner / parts, more = inner % parts, longer = more * (each + 1);
    const int64_t i = at < longer ? at / (each + 1) : more + (at - longer) / each;
    *begin = tdmi_part(inner, parts, i);
    *end = tdmi_part(inner, parts, i + 1);
    return (int)i;
}

static int64_t panel_end(const product *p, int64_t at) {
    int64_t begin, end, b_end;
    (void)block_of(p->inner, p->grid->columns, at, &begin, &end);
    (void)block_of(p->inner, p->grid->rows, at, &begin, &b_end);
    if (end > b_end) end = b_end;
    return end - at < WIDEST ? end : at + WIDEST;
}

/* Elements [at, end) of the inner dimension, which is dimension `dim` of the blocks: from their owner to all of
 * `comm`. The owner multiplies with its block as it lies, the others with the room that they receive into. */
static tdm_status fetch_one(product *p, tdm_comm *comm, int parts, int dim, const tdm_tensor *block,
                            int64_t at, int64_t end, tdm_tensor *room, tdm_tensor *panel) {
    int64_t begin, last;
    const int owner = block_of(p->inner, parts, at, &begin, &last);
    if (owner == tdm_comm_get_rank(comm)) {
        TDMI_TRY(tdm_tensor_slice(block, dim, at - begin, end - at, 1, panel));
    } else {
        int64_t shape[2] = {block->shape[0], block->shape[1]};
        shape[dim] = p->inner < WIDEST ? p->inner : WIDEST;
        const int64_t most = shape[0] * shape[1];
        if (!room->buffer) TDMI_TRY(tdm_empty(p->queue, block->dtype, 1, &most, room));
        shape[dim] = end - at;
        const int64_t strides[2] = {shape[1], 1};
        TDMI_TRY(tdm_tensor_view(room, 2, shape, strides, 0, panel));
    }
    return parts == 1 ? TDM_OK : tdm_comm_broadcast(comm, p->side, owner, panel);
}

static tdm_status fetch(product *p, int slot, int64_t at, int64_t end) {
    const bool apart = p->side != p->queue;
    if (apart) TDMI_TRY(tdm_queue_wait_event(p->side, p->used[slot]));
    TDMI_TRY(fetch_one(p, p->grid->row, p->grid->columns, 1, p->a, at, end, &p->a_room[slot],
                       &p->a_panel[slot]));
    TDMI_TRY(fetch_one(p, p->grid->column, p->grid->rows, 0, p->b, at, end, &p->b_room[slot],
                       &p->b_panel[slot]));
    return apart ? tdm_queue_record_event(p->side, p->arrived[slot]) : TDM_OK;
}

static tdm_status multiply(product *p, int slot, bool first, bool last) {
    tdm_matmul_options options = p->options;
    if (!first) options.beta = 1;
    if (!last) {
        options.bias = NULL;
        options.activation = TDM_ACTIVATION_NONE;
    }
    const bool apart = p->side != p->queue;
    if (apart) TDMI_TRY(tdm_queue_wait_event(p->queue, p->arrived[slot]));
    TDMI_TRY(tdm_matmul(p->queue, &options, &p->a_panel[slot], &p->b_panel[slot], p->c));
    if (!apart) return TDM_OK;
    TDMI_TRY(tdm_queue_record_event(p->queue, p->used[slot]));
    return tdm_queue_flush(p->queue);
}

static tdm_status begin(product *p) {
    p->side = p->queue;
    if (tdm_device_get_info(tdm_queue_get_device(p->queue))->backend == TDM_CPU) return TDM_OK;
    p->side = NULL;
    for (int i = 0; i < 2; i++) {
        TDMI_TRY(tdm_event_create(tdm_queue_get_device(p->queue), &p->arrived[i]));
        TDMI_TRY(tdm_event_create(tdm_queue_get_device(p->queue), &p->used[i]));
        TDMI_TRY(tdm_queue_record_event(p->queue, p->used[i]));
    }
    return tdm_queue_create(tdm_queue_get_device(p->queue), 0, &p->side);
}

static void end(product *p) {
    if (p->side != p->queue) tdm_queue_destroy(p->side);
    for (int i = 0; i < 2; i++) {
        tdm_event_destroy(p->arrived[i]);
        tdm_event_destroy(p->used[i]);
        tdm_tensor_release(&p->a_room[i]);
        tdm_tensor_release(&p->b_room[i]);
    }
}

static tdm_status run(product *p) {
    if (p->inner == 0) return tdm_matmul(p->queue, &p->options, p->a, p->b, p->c);
    TDMI_TRY(begin(p));
    int64_t at = 0, next = panel_end(p, 0);
    TDMI_TRY(fetch(p, 0, at, next));
    for (int slot = 0; at < p->inner; slot = 1 - slot) {
        TDMI_TRY(multiply(p, slot, at == 0, next == p->inner));
        at = next;
        if (at == p->inner) break;
        next = panel_end(p, at);
        TDMI_TRY(fetch(p, 1 - slot, at, next));
    }
    return TDM_OK;
}

static tdm_status check_block(const char *name, const tdm_tensor *block, int64_t rows,
                              int64_t columns) {
    char text[128];
    if (block->ndim == 2 && block->shape[0] == rows && block->shape[1] == columns) return TDM_OK;
    return tdmi_comm_error(
        TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, but this rank's block is [%lld, %lld]",
        function, name, tdmi_comm_shape_text(block, text), (long long)rows, (long long)columns);
}

static tdm_status check(const product *p, const tdm_matmul_options *options) {
    const tdm_grid *grid = p->grid;
    int64_t begin, of_a, of_b;
    const tdm_operand args[] = {{"a", p->a, 0, 0},
                                {"b", p->b, 0, 0},
                                {"bias", p->options.bias, TDM_OPERAND_OPTIONAL, 0},
                                {"c", p->c, TDM_OPERAND_OUTPUT, 0}};
    TDMI_TRY(tdmi_comm_check_args(grid->all, p->queue, args, 4));
    if (p->options.transpose_a || p->options.transpose_b)
        return tdmi_comm_error(
            TDM_ERROR_INVALID_ARGUMENT,
            "%s: options.transpose_%c is true; give a transposed view of the block", function,
            p->options.transpose_a ? 'a' : 'b');
    if (p->inner < 0)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: inner is %lld, at least 0",
                               function, (long long)p->inner);
    char text[128];
    if (p->c->ndim != 2)
        return tdmi_comm_error(TDM_ERROR_INVALID_SHAPE,
                               "%s: the shape of c is %s, it must be [m, n]", function,
                               tdmi_comm_shape_text(p->c, text));
    TDMI_TRY(tdm_part(p->inner, grid->columns, grid->at_column, &begin, &of_a));
    TDMI_TRY(tdm_part(p->inner, grid->rows, grid->at_row, &begin, &of_b));
    TDMI_TRY(check_block("a", p->a, p->c->shape[0], of_a));
    TDMI_TRY(check_block("b", p->b, of_b, p->c->shape[1]));
    /* All else that tdm_matmul may refuse, of a product of no rows. */
    tdm_tensor a, b, c;
    const int64_t one = of_a < of_b ? of_a : of_b;
    TDMI_TRY(tdm_tensor_slice(p->a, 0, 0, 0, 1, &a));
    TDMI_TRY(tdm_tensor_slice(&a, 1, 0, one, 1, &a));
    TDMI_TRY(tdm_tensor_slice(p->b, 0, 0, one, 1, &b));
    TDMI_TRY(tdm_tensor_slice(p->c, 0, 0, 0, 1, &c));
    return tdmi_comm_error_of(function, tdm_matmul(p->queue, options, &a, &b, &c));
}

/* The caller's options, as far as both know them; tdm_matmul refuses what is wrong with them. */
static tdm_matmul_options read_options(const tdm_matmul_options *given) {
    tdm_matmul_options own = TDM_MATMUL_OPTIONS_DEFAULTS;
    if (!given) return own;
    memcpy(&own, given, given->size < sizeof own ? given->size : sizeof own);
    own.size = sizeof own;
    return own;
}

tdm_status tdm_grid_matmul(tdm_grid *grid, tdm_queue *queue, const tdm_matmul_options *options,
                           int64_t inner, const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *c) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(function, grid);
    tdm_comm *all = grid->all, *const parts[] = {grid->row, grid->column, all};
    for (int i = 0; i < 3; i++)
        TDMI_TRY(tdmi_comm_enter(parts[i], function));
    product p = {.grid = grid, .queue = queue, .inner = inner, .a = a, .b = b, .c = c};
    p.options = read_options(options);
    tdm_status status = check(&p, options);
    tdmi_comm_describe(all, TDMI_COMM_GRID_MATMUL,
                       tdmi_comm_epilogue(p.options.activation, p.options.bias), -1, NULL);
    if (status == TDM_OK) all->header.dtype = (uint8_t)c->dtype;
    all->header.extents = (uint64_t)inner;
    TDMI_TRY(tdmi_comm_agree(all, status));
    status = run(&p);
    for (int i = 0; status != TDM_OK && i < 3; i++)
        status = tdmi_comm_spoil(parts[i], status);
    end(&p);
    return status;
}
