/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks of a call's arguments. */
#include "comm.h"

#include <stdio.h>

tdm_status tdmi_comm_enter(tdm_comm *comm, const char *function) {
    TDMI_NOT_FORKED(function);
    TDMI_NOT_NULL(function, comm);
    TDMI_TRY(tdmi_comm_usable(comm, function));
    comm->function = function;
    const char *why = NULL;
    if (comm->team && tdmi_team_is_lost(comm->team, &why))
        return tdmi_comm_fail(comm, TDM_ERROR_RANK_LOST, "%s", why);
    return TDM_OK;
}

tdm_status tdmi_comm_check_args(const tdm_comm *comm, tdm_queue *queue, const tdm_operand *args,
                                int count) {
    const tdm_device *device = tdm_queue_get_device(queue);
    if (queue && device != comm->device)
        return tdmi_comm_error(TDM_ERROR_DEVICE_MISMATCH, "%s: queue is of %s, but comm has %s",
                               comm->function, tdm_device_get_info(device)->id,
                               tdm_device_get_info(comm->device)->id);
    return tdm_check_operands(comm->function, queue, args, count);
}

tdm_status tdmi_comm_check_rank(const tdm_comm *comm, const char *name, int rank) {
    if (rank >= 0 && rank < comm->ranks) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is %d, allowed are 0 to %d",
                           comm->function, name, rank, comm->ranks - 1);
}

const char *tdmi_comm_shape_text(const tdm_tensor *tensor, char text[128]) {
    size_t length = (size_t)snprintf(text, 128, "[");
    for (int i = 0; i < tensor->ndim && length < 120; i++)
        length += (size_t)snprintf(text + length, 128 - length, "%s%lld", i ? ", " : "",
                                   (long long)tensor->shape[i]);
    if (length < 127) snprintf(text + length, 128 - length, "]");
    return text;
}

tdm_status tdmi_comm_check_same_dtype(const tdm_comm *comm, const tdm_tensor *x,
                                      const tdm_tensor *y) {
    if (x->dtype == y->dtype) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of y is %s, but that of x is %s",
                           comm->function, tdm_dtype_name(y->dtype), tdm_dtype_name(x->dtype));
}

tdm_status tdmi_comm_check_same_shape(const char *function, const char *a_name, const tdm_tensor *a,
                                      const char *b_name, const tdm_tensor *b) {
    const size_t size = (size_t)a->ndim * sizeof *a->shape;
    char a_text[128], b_text[128];
    if (a->ndim == b->ndim && memcmp(a->shape, b->shape, size) == 0) return TDM_OK;
    return tdmi_comm_error(
        TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, but that of %s is %s", function,
        a_name, tdmi_comm_shape_text(a, a_text), b_name, tdmi_comm_shape_text(b, b_text));
}

/* Rows [begin, end) of a tensor. */
static tdm_tensor rows(const tdm_tensor *tensor, int64_t begin, int64_t end) {
    tdm_tensor view = *tensor;
    view.shape[0] = end - begin;
    if (tdm_tensor_get_count(&view) > 0) view.offset += begin * view.strides[0];
    return view;
}

/* The ranks' first extents, added up, into comm->starts. */
static tdm_status add_up(tdm_comm *comm, const char *name, const tdm_tensor *whole,
                         const int64_t *extents) {
    const int64_t all = whole->shape[0];
    if (!extents && all % comm->ranks != 0)
        return tdmi_comm_error(
            TDM_ERROR_INVALID_SHAPE,
            "%s: the first extent of %s is %lld, which %d ranks cannot share evenly; "
            "give extents",
            comm->function, name, (long long)all, comm->ranks);
    int64_t sum = 0;
    for (int i = 0; i < comm->ranks; i++) {
        const int64_t extent = extents ? extents[i] : all / comm->ranks;
        comm->starts[i] = sum;
        if (extent < 0 || __builtin_add_overflow(sum, extent, &sum))
            return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: extents[%d] is %lld",
                                   comm->function, i, (long long)extent);
        comm->header.extents = (comm->header.extents ^ (uint64_t)extent) * 0x100000001b3u + 1;
    }
    comm->starts[comm->ranks] = sum;
    if (sum == all) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_INVALID_SHAPE,
                           "%s: the extents add up to %lld, but the first extent of %s is %lld",
                           comm->function, (long long)sum, name, (long long)all);
}

tdm_status tdmi_comm_check_parts(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                 const int64_t *extents, const tdm_tensor *y, bool y_is_whole) {
    const char *name = y_is_whole ? "y" : "x", *other_name = y_is_whole ? "x" : "y";
    const unsigned output = TDM_OPERAND_MOVED | TDM_OPERAND_OUTPUT;
    const tdm_operand alone[] = {{"x", x, TDM_OPERAND_MOVED, 0}};
    TDMI_TRY(tdmi_comm_check_args(comm, queue, alone, 1));
    const tdm_operand out[] = {{"y", y, output, 0}};
    TDMI_TRY(tdmi_comm_check_args(comm, queue, out, 1));
    const tdm_tensor *whole = y_is_whole ? y : x, *part = y_is_whole ? x : y;
    TDMI_TRY(tdmi_comm_check_same_dtype(comm, x, y));
    TDMI_TRY(add_up(comm, name, whole, extents));
    const int64_t begin = comm->starts[comm->rank], end = comm->starts[comm->rank + 1];
    tdm_tensor own = rows(whole, begin, end), before = rows(whole, 0, begin),
               after = rows(whole, end, whole->shape[0]);
    TDMI_TRY(
        tdmi_comm_check_same_shape(comm->function, other_name, part, "this rank's part", &own));
    const tdm_operand gathered[] = {{"x", x, TDM_OPERAND_MOVED, 0},
                                    {"y", &own, output, 1u},
                                    {"y", &before, output, 0},
                                    {"y", &after, output, 0}};
    const tdm_operand scattered[] = {{"x", &own, TDM_OPERAND_MOVED, 0},
                                     {"x", &before, TDM_OPERAND_MOVED, 0},
                                     {"x", &after, TDM_OPERAND_MOVED, 0},
                                     {"y", y, output, 1u}};
    TDMI_TRY(tdmi_comm_check_args(comm, queue, y_is_whole ? gathered : scattered, 4));
    int64_t row = 1; /* elements of a first extent of one */
    for (int i = 1; i < whole->ndim; i++)
        row *= whole->shape[i];
    for (int i = 0; i <= comm->ranks; i++)
        comm->starts[i] *= row;
    return TDM_OK;
}
