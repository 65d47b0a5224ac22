/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Collectives that go from device to device, by a team (team.h): what the vendor's library does not promise is made
 * here of what it does. It knows contiguous tensors: others are packed. It adds 16-bit floats in 16 bits: they are
 * converted to f32, in pieces that fit some further memory. Its maxima may lose a NaN: those of floats are
 * gathered, and compared by tdm_max. */
#include "direct.h"

#include <tandem/functions.h>
#include <tandem/reduce.h>

enum { ASIDE = 16 << 20 /* bytes of device memory for what is converted or gathered at a time */ };

/* n elements of a contiguous tensor, from `first` on. */
static tdm_tensor flat(const tdm_tensor *x, int64_t first, int64_t n) {
    tdm_tensor view = tdm_tensor_1d(x->buffer, x->dtype, n);
    view.offset = x->offset + first;
    return view;
}

/* Part of a reduction: x and y are flat; y is not looked at where this rank gets nothing. */
typedef struct reduction {
    tdm_comm *comm;
    tdm_queue *queue;
    tdm_comm_op op;
    int to;
    bool gets;
} reduction;

static const ncclRedOp_t ops[TDM_COMM_OP_COUNT] = {ncclSum, ncclSum, ncclMax, ncclMin};

static tdm_status add(const reduction *r, const tdm_tensor *x, const tdm_tensor *y, int64_t n) {
    const tdmi_piece piece = {.kind =
                                  r->to == TDMI_TO_ALL ? TDMI_PIECE_ALL_REDUCE : TDMI_PIECE_REDUCE,
                              .op = ops[r->op],
                              .dtype = x->dtype,
                              .peer = r->to,
                              .count = (size_t)n};
    return tdmi_direct_run(r->comm, r->queue, piece, x, r->gets ? y : NULL);
}

/* The second half of a mean: y is a sum. */
static tdm_status divide(const reduction *r, tdm_tensor *y) {
    static const int64_t one[] = {1};
    if (r->op != TDM_COMM_MEAN || !r->gets) return TDM_OK;
    tdm_tensor ranks = {0};
    TDMI_TRY(tdm_empty(r->queue, y->dtype, 1, one, &ranks));
    tdm_status status = tdm_fill(r->queue, r->comm->ranks, &ranks);
    if (status == TDM_OK) status = tdm_div(r->queue, y, &ranks, y);
    tdm_tensor_release(&ranks);
    return status;
}

static tdm_status add_as(const reduction *r, tdm_dtype as, const tdm_tensor *x, tdm_tensor *y,
                         int64_t n) {
    const int64_t most = ASIDE / (int64_t)tdm_dtype_size(as);
    const int64_t room[] = {n < most ? n : most};
    tdm_tensor aside = {0};
    TDMI_TRY(tdm_empty(r->queue, as, 1, room, &aside));
    tdm_status status = TDM_OK;
    for (int64_t at = 0; status == TDM_OK && at < n; at += room[0]) {
        const int64_t count = n - at < room[0] ? n - at : room[0];
        const tdm_tensor from = flat(x, at, count);
        tdm_tensor sum = flat(&aside, 0, count);
        status = tdm_cast(r->queue, &from, &sum);
        if (status == TDM_OK) status = add(r, &sum, &sum, count);
        if (status == TDM_OK) status = divide(r, &sum);
        if (status != TDM_OK || !r->gets) continue;
        tdm_tensor to = flat(y, at, count);
        status = tdm_cast(r->queue, &sum, &to);
    }
    tdm_tensor_release(&aside);
    return status;
}

static tdm_status gather_and_compare(const reduction *r, const tdm_tensor *x, tdm_tensor *y,
                                     int64_t n) {
    static const int first_dim[] = {0};
    const int64_t element = (int64_t)tdm_dtype_size(x->dtype), ranks = r->comm->ranks;
    const int64_t most = ASIDE / (element * ranks) > 0 ? ASIDE / (element * ranks) : 1;
    const int64_t room[] = {ranks, n < most ? n : most};
    tdm_tensor aside = {0};
    TDMI_TRY(tdm_empty(r->queue, x->dtype, 2, room, &aside));
    tdm_status status = TDM_OK;
    for (int64_t at = 0; status == TDM_OK && at < n; at += room[1]) {
        const int64_t count = n - at < room[1] ? n - at : room[1];
        const tdm_tensor from = flat(x, at, count);
        const tdmi_piece piece = {.kind = TDMI_PIECE_ALL_GATHER,
                                  .count = (size_t)(count * element)};
        status = tdmi_direct_run(r->comm, r->queue, piece, &from, &aside);
        if (status != TDM_OK || !r->gets) continue;
        tdm_tensor all = aside, to = flat(y, at, count);
        all.shape[1] = all.strides[0] = count;
        status = r->op == TDM_COMM_MAX ? tdm_max(r->queue, &all, first_dim, 1, &to)
                                       : tdm_min(r->queue, &all, first_dim, 1, &to);
    }
    tdm_tensor_release(&aside);
    return status;
}

static tdm_status combine(const reduction *r, const tdm_tensor *x, tdm_tensor *y, int64_t n) {
    const bool is_float = tdm_dtype_is_float(x->dtype);
    if (n == 0) return TDM_OK;
    if (is_float && (r->op == TDM_COMM_MAX || r->op == TDM_COMM_MIN))
        return gather_and_compare(r, x, y, n);
    if (tdm_dtype_size(x->dtype) == 2) return add_as(r, is_float ? TDM_F32 : TDM_I32, x, y, n);
    TDMI_TRY(add(r, x, y, n));
    tdm_tensor all = r->gets ? flat(y, 0, n) : (tdm_tensor){0};
    return divide(r, &all);
}

tdm_status tdmi_direct_reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, int to,
                              const tdm_tensor *x, tdm_tensor *y) {
    const reduction r = {comm, queue, op, to, to == TDMI_TO_ALL || to == comm->rank};
    tdm_tensor from = {0}, into = {0};
    TDMI_TRY(tdmi_comm_end(comm, tdmi_comm_check(comm)));
    tdm_status status = tdmi_comm_pack(queue, x, &from);
    if (status == TDM_OK && r.gets) status = tdmi_comm_pack_room(queue, y, &into);
    if (status == TDM_OK) status = combine(&r, &from, &into, tdm_tensor_get_count(x));
    tdm_tensor_release(&from);
    return tdmi_direct_leave(comm, tdmi_direct_give(queue, y, &into, status));
}

/* Equal parts of what the library adds at once; else part by part, each to its rank. */
static tdm_status scatter(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, const tdm_tensor *x,
                          tdm_tensor *y) {
    const int64_t *starts = comm->starts, part = starts[1];
    bool equal = true;
    for (int i = 0; i < comm->ranks; i++)
        equal = equal && starts[i + 1] - starts[i] == part;
    const bool adds = op == TDM_COMM_SUM || op == TDM_COMM_MEAN;
    if (equal && tdm_dtype_size(x->dtype) != 2 && (adds || !tdm_dtype_is_float(x->dtype))) {
        const reduction r = {comm, queue, op, comm->rank, part > 0};
        const tdmi_piece piece = {.kind = TDMI_PIECE_REDUCE_SCATTER,
                                  .op = ops[op],
                                  .dtype = x->dtype,
                                  .count = (size_t)part};
        TDMI_TRY(tdmi_direct_run(comm, queue, piece, x, y));
        return divide(&r, y);
    }
    for (int i = 0; i < comm->ranks; i++) {
        const reduction r = {comm, queue, op, i, i == comm->rank};
        const tdm_tensor from = flat(x, starts[i], starts[i + 1] - starts[i]);
        TDMI_TRY(combine(&r, &from, y, starts[i + 1] - starts[i]));
    }
    return TDM_OK;
}

tdm_status tdmi_direct_reduce_scatter(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op,
                                      const tdm_tensor *x, tdm_tensor *y) {
    tdm_tensor from = {0}, into = {0};
    TDMI_TRY(tdmi_comm_end(comm, tdmi_comm_check(comm)));
    tdm_status status = tdmi_comm_pack(queue, x, &from);
    if (status == TDM_OK) status = tdmi_comm_pack_room(queue, y, &into);
    if (status == TDM_OK) status = scatter(comm, queue, op, &from, &into);
    tdm_tensor_release(&from);
    return tdmi_direct_leave(comm, tdmi_direct_give(queue, y, &into, status));
}
