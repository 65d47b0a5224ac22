/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* all_reduce, reduce and reduce_scatter. Each rank combines one piece of the elements: it gets that piece of
 * all ranks, adds in their order, and sends the result to the ranks that want it. Pieces are cut into rounds,
 * so that one round is added while the next is on its way. Small tensors go to all ranks, and each adds everything. */
#include "direct.h"

enum {
    SMALL = 4 << 10,   /* bytes of a tensor that goes to all ranks as it is */
    ROUND = 256 << 10, /* bytes of a piece in one round */
    ALIGNED = 64       /* elements that pieces begin at multiples of */
};

enum { TO_ALL = TDMI_TO_ALL, TO_NONE = -2 };

/* A combination: `starts` has the first element of each rank's piece, and the end. y is whole where `whole`, else
 * this rank's piece alone. */
typedef struct reduction {
    tdm_comm *comm;
    tdm_dtype dtype;
    tdm_comm_op op;
    size_t element;              /* bytes */
    int to;                      /* a rank, or one of the above */
    tdmi_comm_side *from, *into; /* perhaps the same */
    const char *x;               /* their bytes */
    char *y;
    bool whole;
    const int64_t *starts;
    int64_t round; /* elements */
    char *rows, *results;
    const void **sources;
} reduction;

/* The part of a rank's piece that a round has. */
static size_t part(const reduction *r, int rank, int64_t round, int64_t *start) {
    const int64_t begin = r->starts[rank] + round * r->round, end = r->starts[rank + 1];
    if (begin >= end) return 0;
    *start = begin;
    return (size_t)(end - begin < r->round ? end - begin : r->round);
}

/* x of all parts of a round, on its way from the device. */
static tdm_status fetch(reduction *r, int64_t round) {
    for (int i = 0; i < r->comm->ranks; i++) {
        int64_t start = 0;
        const size_t n = part(r, i, round, &start);
        TDMI_TRY(tdmi_comm_fetch(r->from, (size_t)start * r->element, n * r->element));
    }
    return tdmi_comm_fetched_later(r->from, (int)(round % 2));
}

/* The others' results of a round, which have come. */
static tdm_status store(reduction *r, int64_t round) {
    for (int i = 0; r->whole && i < r->comm->ranks; i++) {
        int64_t start = 0;
        if (i == r->comm->rank) continue;
        const size_t n = part(r, i, round, &start);
        TDMI_TRY(tdmi_comm_store(r->into, (size_t)start * r->element, n * r->element));
    }
    return TDM_OK;
}

static tdm_status exchange(reduction *r, int64_t round, bool last) {
    const int set = TDMI_SET_DATA + (int)(round % 2), ranks = r->comm->ranks;
    const size_t row = (size_t)r->round * r->element;
    char *rows = r->rows + (size_t)(round % 2) * (size_t)ranks * row;
    int64_t start = 0;
    const size_t own = part(r, r->comm->rank, round, &start);
    for (int i = 1; i < ranks; i++) {
        const int from = (r->comm->rank + ranks - i) % ranks;
        TDMI_TRY(tdmi_comm_receive(r->comm, set, from, TDMI_CHANNEL_DATA, rows + (size_t)from * row,
                                   own * r->element));
    }
    TDMI_TRY(tdmi_comm_own_fault(r->comm, tdmi_comm_fetched(r->from, (int)(round % 2))));
    if (!last) TDMI_TRY(tdmi_comm_own_fault(r->comm, fetch(r, round + 1)));
    for (int i = 1; i < ranks; i++) {
        const int to = (r->comm->rank + i) % ranks;
        const size_t n = part(r, to, round, &start);
        TDMI_TRY(tdmi_comm_send(r->comm, set, to, TDMI_CHANNEL_DATA,
                                r->x + (size_t)start * r->element, n * r->element));
    }
    return TDM_OK;
}

/* Adds this rank's part of a round, and sends it on. */
static tdm_status finish(reduction *r, int64_t round) {
    tdm_comm *comm = r->comm;
    const int slot = (int)(round % 2), ranks = comm->ranks;
    const size_t row = (size_t)r->round * r->element;
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_SET_DATA + slot));
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_SET_RESULTS + slot));
    if (round > 1) TDMI_TRY(tdmi_comm_own_fault(r->comm, store(r, round - 2)));
    int64_t start = 0;
    const size_t n = part(r, comm->rank, round, &start);
    char *result = r->results + (size_t)slot * row;
    if (r->whole && n) result = r->y + (size_t)start * r->element;
    if (r->to == TO_NONE && n) result = r->y + (size_t)(start - r->starts[comm->rank]) * r->element;
    for (int i = 0; i < ranks; i++)
        r->sources[i] = i == comm->rank
                            ? (const void *)(r->x + (size_t)start * r->element)
                            : r->rows + ((size_t)slot * (size_t)ranks + (size_t)i) * row;
    if (n) tdmi_comm_combine(r->dtype, r->op, n, r->sources, ranks, result);
    if (n && (r->whole || r->to == TO_NONE))
        TDMI_TRY(tdmi_comm_own_fault(
            r->comm, tdmi_comm_store(r->into, (size_t)(result - r->y), n * r->element)));
    for (int i = 1; r->to != TO_NONE && i < ranks; i++) {
        const int from = (comm->rank + ranks - i) % ranks;
        if (r->to != TO_ALL && r->to != comm->rank) continue;
        const size_t theirs = part(r, from, round, &start);
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_RESULTS + slot, from, TDMI_CHANNEL_DATA,
                                   r->y + (size_t)start * r->element, theirs * r->element));
    }
    for (int i = 1; r->to != TO_NONE && i < ranks; i++) {
        const int to = (comm->rank + i) % ranks;
        if (r->to != TO_ALL && r->to != to) continue;
        TDMI_TRY(tdmi_comm_send(comm, TDMI_SET_RESULTS + slot, to, TDMI_CHANNEL_DATA, result,
                                n * r->element));
    }
    return TDM_OK;
}

/* The elements of the longest piece. */
static int64_t longest(const reduction *r) {
    int64_t most = 0;
    for (int i = 0; i < r->comm->ranks; i++)
        if (r->starts[i + 1] - r->starts[i] > most) most = r->starts[i + 1] - r->starts[i];
    return most;
}

static tdm_status in_rounds(reduction *r) {
    const int64_t rounds = (longest(r) + r->round - 1) / r->round;
    TDMI_TRY(tdmi_comm_own_fault(r->comm, fetch(r, 0)));
    for (int64_t round = 0; round <= rounds; round++) {
        if (round < rounds) TDMI_TRY(exchange(r, round, round == rounds - 1));
        if (round > 0) TDMI_TRY(finish(r, round - 1));
    }
    for (int64_t round = rounds > 1 ? rounds - 2 : 0; round < rounds; round++) {
        TDMI_TRY(tdmi_comm_wait(r->comm, TDMI_SET_RESULTS + (int)(round % 2)));
        TDMI_TRY(tdmi_comm_own_fault(r->comm, store(r, round)));
    }
    return TDM_OK;
}

/* All of x to all ranks, each of which adds it up. */
static tdm_status at_once(reduction *r, size_t n) {
    tdm_comm *comm = r->comm;
    const size_t row = n * r->element;
    tdm_status status = tdmi_comm_fetch(r->from, 0, row);
    if (status == TDM_OK) status = tdmi_comm_fetched_later(r->from, 0);
    if (status == TDM_OK) status = tdmi_comm_fetched(r->from, 0);
    TDMI_TRY(tdmi_comm_own_fault(r->comm, status));
    for (int i = 1; i < comm->ranks; i++) {
        const int from = (comm->rank + comm->ranks - i) % comm->ranks;
        TDMI_TRY(tdmi_comm_receive(comm, TDMI_SET_DATA, from, TDMI_CHANNEL_DATA,
                                   r->rows + (size_t)from * row, row));
    }
    for (int i = 1; i < comm->ranks; i++)
        TDMI_TRY(tdmi_comm_send(comm, TDMI_SET_DATA, (comm->rank + i) % comm->ranks,
                                TDMI_CHANNEL_DATA, r->x, row));
    TDMI_TRY(tdmi_comm_wait(comm, TDMI_SET_DATA));
    for (int i = 0; i < comm->ranks; i++)
        r->sources[i] = i == comm->rank ? r->x : r->rows + (size_t)i * row;
    tdmi_comm_combine(r->dtype, r->op, n, r->sources, comm->ranks, r->y);
    return tdmi_comm_own_fault(r->comm, tdmi_comm_store(r->into, 0, row));
}

static size_t rounded(size_t size) { return (size + 63) / 64 * 64; }

static tdm_status run(reduction *r, size_t n) {
    const int ranks = r->comm->ranks;
    if (n == 0) return TDM_OK;
    r->x = r->from->bytes;
    r->y = r->into->bytes;
    const bool small = r->to == TO_ALL && n * r->element <= SMALL;
    r->round = small ? (int64_t)n : ROUND / (int64_t)r->element;
    if (!small && r->round > longest(r)) r->round = longest(r);
    const size_t row = (size_t)r->round * r->element;
    const size_t rows = rounded(2 * (size_t)ranks * row), results = rounded(2 * row);
    char *scratch = tdmi_comm_scratch(r->comm, rows + results + (size_t)ranks * sizeof(void *));
    if (!scratch)
        return tdmi_comm_fail(r->comm, TDM_ERROR_OUT_OF_MEMORY, "rank %d is out of host memory",
                              r->comm->rank);
    r->rows = scratch;
    r->results = r->rows + rows;
    r->sources = (const void **)(void *)(r->results + results);
    return small || ranks == 1 ? at_once(r, n) : in_rounds(r);
}

static tdm_status check(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, const tdm_tensor *x,
                        const tdm_tensor *y, bool has_y) {
    const tdm_operand args[] = {{"x", x, TDM_OPERAND_MOVED, 0},
                                {"y", y, TDM_OPERAND_MOVED | TDM_OPERAND_OUTPUT, 1u}};
    TDMI_TRY(tdmi_comm_check_args(comm, queue, args, has_y ? 2 : 1));
    if ((unsigned)op >= TDM_COMM_OP_COUNT)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT,
                               "%s: op is %d, which is not an operation", comm->function, (int)op);
    if (op == TDM_COMM_SUM && x->dtype == TDM_BOOL)
        return tdmi_comm_error(TDM_ERROR_INVALID_DTYPE,
                               "%s: x is bool, which has no sum; tdm_cast converts",
                               comm->function);
    if (op == TDM_COMM_MEAN && !tdm_dtype_is_float(x->dtype))
        return tdmi_comm_error(TDM_ERROR_INVALID_DTYPE,
                               "%s: the dtype of x is %s, but a mean is of floats", comm->function,
                               tdm_dtype_name(x->dtype));
    if (!has_y) return TDM_OK;
    TDMI_TRY(tdmi_comm_check_same_dtype(comm, x, y));
    return tdmi_comm_check_same_shape(comm->function, "x", x, "y", y);
}

/* Even pieces, from room for ranks + 1. */
static void divide(int64_t n, int ranks, int64_t *starts) {
    const int64_t piece = ((n + ranks - 1) / ranks + ALIGNED - 1) / ALIGNED * ALIGNED;
    for (int i = 0; i <= ranks; i++)
        starts[i] = piece * i < n ? piece * i : n;
}

/* With TO_NONE each rank gets the piece of the result that comm->starts gives it, in y. */
static tdm_status reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, int to,
                         const tdm_tensor *x, tdm_tensor *y) {
    if (comm->team && to == TO_NONE) return tdmi_direct_reduce_scatter(comm, queue, op, x, y);
    if (comm->team) return tdmi_direct_reduce(comm, queue, op, to, x, y);
    const bool whole = to == TO_ALL || to == comm->rank;
    const int64_t n = tdm_tensor_get_count(x);
    tdmi_comm_side from = {0}, into = {0};
    tdm_status status = TDM_OK;
    if (to != TO_NONE) divide(n, comm->ranks, comm->starts);
    if (whole) {
        const bool same = y->buffer == x->buffer && y->offset == x->offset && n > 0;
        status = tdmi_comm_write(queue, y, same, &into);
        if (status == TDM_OK && !same) status = tdmi_comm_read(queue, x, &from);
        status = tdmi_comm_own_fault(comm, status);
    } else {
        status = tdmi_comm_sides(comm, queue, x, to == TO_NONE ? y : NULL, &from, &into);
    }
    reduction r = {.comm = comm,
                   .dtype = x->dtype,
                   .op = op,
                   .element = tdm_dtype_size(x->dtype),
                   .to = to,
                   .from = from.bytes ? &from : &into,
                   .into = &into,
                   .whole = whole,
                   .starts = comm->starts};
    if (status == TDM_OK) status = run(&r, (size_t)n);
    if (status == TDM_OK) status = tdmi_comm_check(comm);
    return tdmi_comm_leave(comm, queue, status, &from, &into);
}

tdm_status tdm_comm_all_reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op,
                               const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_all_reduce"));
    tdmi_comm_describe(comm, TDMI_COMM_ALL_REDUCE, (int)op, -1, x);
    TDMI_TRY(tdmi_comm_begin(comm, check(comm, queue, op, x, y, true)));
    return reduce(comm, queue, op, TO_ALL, x, y);
}

tdm_status tdm_comm_reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, int root,
                           const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_reduce"));
    tdmi_comm_describe(comm, TDMI_COMM_REDUCE, (int)op, root, x);
    tdm_status status = tdmi_comm_check_rank(comm, "root", root);
    if (status == TDM_OK) status = check(comm, queue, op, x, y, root == comm->rank);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    return reduce(comm, queue, op, root, x, y);
}

tdm_status tdm_comm_reduce_scatter(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op,
                                   const tdm_tensor *x, const int64_t *extents, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_reduce_scatter"));
    tdmi_comm_describe(comm, TDMI_COMM_REDUCE_SCATTER, (int)op, -1, x);
    tdm_status status = check(comm, queue, op, x, NULL, false);
    if (status == TDM_OK) status = tdmi_comm_check_parts(comm, queue, x, extents, y, false);
    TDMI_TRY(tdmi_comm_begin(comm, status));
    return reduce(comm, queue, op, TO_NONE, x, y);
}
