/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Linear layers whose weight the ranks share. Where a device computes while its host sends, the rows are cut: while
 * the results of one piece are exchanged, on a second queue, the next is multiplied. */
#include <tandem/parallel.h>

#include "comm.h"

enum {
    PIECE = 1 << 20, /* bytes of y that are worth a separate collective */
    MOST = 8         /* pieces */
};

/* A call: its operands as matrices, and where its pieces are exchanged. */
typedef struct layer {
    tdm_comm *comm;
    tdm_queue *queue, *side; /* the same where there is one piece */
    tdm_event *event[2];     /* of queue for side, of side for queue */
    const tdm_tensor *weight, *bias;
    tdm_activation activation;
    tdm_tensor x, y;
    int64_t rows; /* of a piece */
    int pieces;
    const int64_t *extents;    /* column parallel: the ranks' outputs; or NULL */
    int64_t *shares;           /* their elements of a piece */
    tdm_tensor part[2], whole; /* this rank's outputs and all, of a piece */
} layer;

static tdm_status slice(const tdm_tensor *matrix, const layer *l, int piece, tdm_tensor *view) {
    const int64_t begin = piece * l->rows, rest = matrix->shape[0] - begin;
    return tdm_tensor_slice(matrix, 0, begin, rest < l->rows ? rest : l->rows, 1, view);
}

/* How many pieces, alike on all ranks, and a second queue where there are several. */
static tdm_status begin(layer *l) {
    const double bytes =
        (double)tdm_tensor_get_count(&l->y) * (double)tdm_dtype_size(l->y.dtype) / (double)PIECE;
    l->side = l->queue;
    l->pieces = bytes < (double)MOST ? (int)bytes : MOST;
    if (l->pieces > l->y.shape[0]) l->pieces = (int)l->y.shape[0];
    if (l->comm->ranks == 1) l->pieces = 1;
    if (l->pieces >= 2 && l->comm->overlaps < 0) {
        bool any = true; /* with a team, which may have no transport to ask by */
        if (!l->comm->team)
            TDMI_TRY(tdmi_comm_any(
                l->comm, tdm_device_get_info(tdm_queue_get_device(l->queue))->backend != TDM_CPU,
                &any));
        l->comm->overlaps = any;
    }
    if (l->pieces < 2 || l->comm->overlaps < 1) l->pieces = 1;
    l->rows = (l->y.shape[0] + l->pieces - 1) / l->pieces;
    if (l->rows > 0) l->pieces = (int)((l->y.shape[0] + l->rows - 1) / l->rows);
    if (l->pieces == 1) return TDM_OK;
    l->side = NULL;
    TDMI_TRY(tdm_event_create(tdm_queue_get_device(l->queue), &l->event[0]));
    TDMI_TRY(tdm_event_create(tdm_queue_get_device(l->queue), &l->event[1]));
    return tdm_queue_create(tdm_queue_get_device(l->queue), 0, &l->side);
}

static void end(layer *l) {
    if (l->side != l->queue) tdm_queue_destroy(l->side);
    for (int i = 0; i < 2; i++) {
        tdm_event_destroy(l->event[i]);
        tdm_tensor_release(&l->part[i]);
    }
    tdm_tensor_release(&l->whole);
    free(l->shares);
}

/* `later` runs what it is given from now on after the work of `earlier`. */
static tdm_status order(tdm_queue *earlier, tdm_event *event, tdm_queue *later) {
    if (earlier == later) return TDM_OK;
    TDMI_TRY(tdm_queue_record_event(earlier, event));
    return tdm_queue_wait_event(later, event);
}

/* Multiplies piece after piece, and exchanges each while the next is multiplied. */
static tdm_status run(layer *l, tdm_status (*multiply)(layer *l, int piece),
                      tdm_status (*exchange)(layer *l, int piece)) {
    TDMI_TRY(begin(l));
    TDMI_TRY(multiply(l, 0));
    for (int piece = 0; piece < l->pieces; piece++) {
        TDMI_TRY(order(l->queue, l->event[0], l->side));
        if (piece + 1 < l->pieces) { /* into the memory of the piece before */
            TDMI_TRY(order(l->side, l->event[1], l->queue));
            TDMI_TRY(multiply(l, piece + 1));
            TDMI_TRY(tdm_queue_flush(l->queue));
        }
        TDMI_TRY(exchange(l, piece));
    }
    return order(l->side, l->event[1], l->queue);
}

/* ---- what both check ---- */

/* [..., columns] as a matrix. */
static tdm_status as_matrix(const char *function, const char *name, const tdm_tensor *x,
                            tdm_tensor *matrix) {
    const int last = x->ndim - 1;
    const bool empty = tdm_tensor_get_count(x) == 0;
    int64_t rows = 1, stride = x->shape[last];
    bool fits = empty || x->shape[last] == 1 || x->strides[last] == 1, any = false;
    for (int i = last - 1; i >= 0; i--) {
        if (x->shape[i] == 1) continue;
        if (!any) stride = x->strides[i];
        fits = fits && (empty || x->strides[i] == stride * rows);
        if (__builtin_mul_overflow(rows, x->shape[i], &rows)) rows = INT64_MAX;
        any = true;
    }
    *matrix = *x;
    matrix->ndim = 2;
    matrix->shape[0] = rows;
    matrix->shape[1] = x->shape[last];
    matrix->strides[0] = stride;
    matrix->strides[1] = 1;
    if (fits) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_UNSUPPORTED,
                           "%s: the rows of %s have no common stride, or elements that are not "
                           "adjacent; tdm_cast copies it into a contiguous tensor",
                           function, name);
}

/* Sets l->x and l->y. y's last extent is `out`. */
static tdm_status check(layer *l, const tdm_tensor *x, const tdm_tensor *bias,
                        tdm_activation activation, int64_t out, const tdm_tensor *y) {
    const char *function = l->comm->function;
    const tdm_operand args[] = {{"x", x, 0, 0},
                                {"weight", l->weight, 0, 0},
                                {"bias", bias, TDM_OPERAND_OPTIONAL, 0},
                                {"y", y, TDM_OPERAND_OUTPUT, 0}};
    TDMI_TRY(tdmi_comm_check_args(l->comm, l->queue, args, 4));
    tdm_tensor wanted = *x, none, own;
    char y_text[128], wanted_text[128];
    wanted.shape[x->ndim - 1] = out;
    if (y->ndim != x->ndim || memcmp(y->shape, wanted.shape, (size_t)x->ndim * sizeof out) != 0)
        return tdmi_comm_error(TDM_ERROR_INVALID_SHAPE, "%s: the shape of y is %s, it must be %s",
                               function, tdmi_comm_shape_text(y, y_text),
                               tdmi_comm_shape_text(&wanted, wanted_text));
    TDMI_TRY(as_matrix(function, "x", x, &l->x));
    TDMI_TRY(as_matrix(function, "y", y, &l->y));
    /* All else that tdm_linear may refuse, of no rows and as many columns as the weight has. */
    none = l->x;
    own = l->y;
    none.shape[0] = own.shape[0] = 0;
    if (l->weight->shape[0] < out) own.shape[1] = l->weight->shape[0];
    return tdmi_comm_error_of(function,
                              tdm_linear(l->queue, &none, l->weight, bias, activation, &own));
}

/* ---- row parallel: each rank's product is added to the others' ---- */

static tdm_status multiply_rows(layer *l, int piece) {
    tdm_tensor x, y;
    TDMI_TRY(slice(&l->x, l, piece, &x));
    TDMI_TRY(slice(&l->y, l, piece, &y));
    return tdm_linear(l->queue, &x, l->weight, NULL, TDM_ACTIVATION_NONE, &y);
}

static tdm_status add_rows(layer *l, int piece) {
    tdm_tensor y;
    TDMI_TRY(slice(&l->y, l, piece, &y));
    return tdm_comm_all_reduce(l->comm, l->side, TDM_COMM_SUM, &y, &y);
}

tdm_status tdm_linear_row_parallel(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                   const tdm_tensor *weight, const tdm_tensor *bias,
                                   tdm_activation activation, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, __func__));
    layer l = {.comm = comm, .queue = queue, .weight = weight};
    tdm_status status = tdmi_comm_check_args(comm, queue, NULL, 0);
    if (status == TDM_OK) status = check(&l, x, bias, activation, weight ? weight->shape[0] : 0, y);
    tdmi_comm_describe(comm, TDMI_COMM_ROW_PARALLEL, tdmi_comm_epilogue(activation, bias), -1,
                       status == TDM_OK ? y : NULL);
    TDMI_TRY(tdmi_comm_agree(comm, status));
    status = run(&l, multiply_rows, add_rows);
    if (status == TDM_OK && (bias || activation != TDM_ACTIVATION_NONE))
        status = tdm_bias_add(queue, &l.y, bias, activation, NULL, &l.y);
    status = tdmi_comm_spoil(comm, status);
    end(&l);
    return status;
}

/* ---- column parallel: each rank's outputs go to the others ---- */

static int64_t extent_of(const layer *l, int rank) {
    return l->extents ? l->extents[rank] : l->weight->shape[0];
}

static tdm_status multiply_columns(layer *l, int piece) {
    tdm_tensor x, *part = &l->part[piece % 2];
    TDMI_TRY(slice(&l->x, l, piece, &x));
    if (l->comm->ranks == 1)
        return tdm_linear(l->queue, &x, l->weight, l->bias, l->activation, &l->y);
    if (!part->buffer)
        TDMI_TRY(tdm_empty(l->queue, l->y.dtype, TDM_SHAPE(l->rows, l->weight->shape[0]), part));
    tdm_tensor own;
    TDMI_TRY(tdm_tensor_slice(part, 0, 0, x.shape[0], 1, &own));
    return tdm_linear(l->queue, &x, l->weight, l->bias, l->activation, &own);
}

/* `count` elements of a contiguous tensor, from `at` on, as they lie. */
static tdm_status flat(const tdm_tensor *tensor, int64_t at, int64_t count, tdm_tensor *view) {
    return tdm_tensor_view(tensor, 1, (const int64_t[]){count}, (const int64_t[]){1}, at, view);
}

/* The ranks' outputs come one after the other, and are then put side by side. */
static tdm_status gather_columns(layer *l, int piece) {
    tdm_tensor y, own, all;
    TDMI_TRY(slice(&l->y, l, piece, &y));
    const int64_t rows = y.shape[0], columns = y.shape[1];
    if (l->comm->ranks == 1) return TDM_OK;
    for (int i = 0; i < l->comm->ranks; i++)
        l->shares[i] = rows * extent_of(l, i);
    if (!l->whole.buffer)
        TDMI_TRY(tdm_empty(l->queue, y.dtype, TDM_SHAPE(l->rows * columns), &l->whole));
    TDMI_TRY(flat(&l->part[piece % 2], 0, rows * l->weight->shape[0], &own));
    TDMI_TRY(flat(&l->whole, 0, rows * columns, &all));
    TDMI_TRY(tdm_comm_all_gather(l->comm, l->side, &own, l->shares, &all));
    for (int64_t rank = 0, at = 0; rank < l->comm->ranks; rank++) {
        const int64_t n = extent_of(l, (int)rank);
        tdm_tensor from, to;
        if (n == 0 || rows == 0) continue;
        TDMI_TRY(tdm_tensor_view(&l->whole, 2, (const int64_t[]){rows, n}, (const int64_t[]){n, 1},
                                 rows * at, &from));
        TDMI_TRY(tdm_tensor_slice(&y, 1, at, n, 1, &to));
        TDMI_TRY(tdm_cast(l->side, &from, &to));
        at += n;
    }
    return TDM_OK;
}

/* Adds up the ranks' outputs, of which this rank's are the weight's rows; and a hash of them. */
static tdm_status add_up(const tdm_comm *comm, const tdm_tensor *weight, const int64_t *extents,
                         int64_t *out, uint64_t *hash) {
    for (int i = 0; i < comm->ranks; i++) {
        const int64_t extent = extents ? extents[i] : weight->shape[0];
        if (extent < 0 || __builtin_add_overflow(*out, extent, out))
            return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: extents[%d] is %lld",
                                   comm->function, i, (long long)extent);
        *hash = (*hash ^ (uint64_t)extent) * 0x100000001b3u + 1;
    }
    if (!extents || extents[comm->rank] == weight->shape[0]) return TDM_OK;
    return tdmi_comm_error(
        TDM_ERROR_INVALID_SHAPE, "%s: extents[%d] is %lld, but this rank's weight has %lld rows",
        comm->function, comm->rank, (long long)extents[comm->rank], (long long)weight->shape[0]);
}

tdm_status tdm_linear_column_parallel(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                      const tdm_tensor *weight, const tdm_tensor *bias,
                                      const int64_t *extents, tdm_activation activation,
                                      tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, __func__));
    layer l = {.comm = comm,
               .queue = queue,
               .weight = weight,
               .bias = bias,
               .activation = activation,
               .extents = extents};
    int64_t out = 0;
    uint64_t hash = 0;
    const tdm_operand args[] = {{"weight", weight, 0, 0}, {"y", y, TDM_OPERAND_OUTPUT, 0}};
    tdm_status status = tdmi_comm_check_args(comm, queue, args, 2);
    if (status == TDM_OK) status = add_up(comm, weight, extents, &out, &hash);
    if (status == TDM_OK) status = check(&l, x, bias, activation, out, y);
    tdmi_comm_describe(comm, TDMI_COMM_COLUMN_PARALLEL, tdmi_comm_epilogue(activation, bias), -1,
                       status == TDM_OK ? y : NULL);
    comm->header.extents = hash;
    if (status == TDM_OK) {
        l.shares = malloc((size_t)comm->ranks * sizeof *l.shares);
        if (!l.shares)
            status = tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
    }
    status = tdmi_comm_agree(comm, status);
    if (status == TDM_OK) status = tdmi_comm_spoil(comm, run(&l, multiply_columns, gather_columns));
    end(&l);
    return status;
}
