/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Headers of calls, and what is said of two that differ. */
#include <stdio.h>

#include "comm.h"

#define CHECK_MAGIC 0x63646d74u

#define FUNCTION_NAME(NAME, name) #name,
static const char *const function_names[] = {TDMI_COMM_FUNCTION_LIST(FUNCTION_NAME)};
static const char *const op_names[TDM_COMM_OP_COUNT] = {"sum", "mean", "max", "min"};

static const char *function_name(int function) {
    return function >= 0 && function < TDMI_COMM_FUNCTION_COUNT ? function_names[function]
                                                                : "an unknown function";
}

void tdmi_comm_describe(tdm_comm *comm, tdmi_comm_function function, int op, int root,
                        const tdm_tensor *tensor) {
    comm->header = (tdmi_comm_header){
        .magic = CHECK_MAGIC, .function = (uint8_t)function, .op = (uint8_t)op, .root = root};
    if (!tensor) return;
    comm->header.dtype = (uint8_t)tensor->dtype;
    comm->header.ndim = tensor->ndim;
    for (int i = 0; i < tensor->ndim && i < TDM_MAX_DIMS; i++)
        comm->header.shape[i] = tensor->shape[i];
}

/* "tdm_comm_all_reduce (sum) of f32 [2, 3]" */
static void describe(const tdmi_comm_header *header, char text[256]) {
    int at = snprintf(text, 256, "%s", function_name(header->function));
    const bool combines =
        header->function <= TDMI_COMM_REDUCE || header->function == TDMI_COMM_REDUCE_SCATTER;
    if (combines && header->op < TDM_COMM_OP_COUNT)
        at += snprintf(text + at, 256 - (size_t)at, " (%s)", op_names[header->op]);
    if (header->function >= TDMI_COMM_COLUMN_PARALLEL && header->function != TDMI_COMM_GRID_CREATE)
        at += snprintf(text + at, 256 - (size_t)at, " (activation %s, %s bias)",
                       tdm_activation_name((tdm_activation)(header->op & 0x7f)),
                       header->op & 0x80 ? "with a" : "no");
    if (header->ndim > 0 && header->ndim <= TDM_MAX_DIMS) {
        tdm_tensor tensor = {.ndim = header->ndim};
        char shape[128];
        memcpy(tensor.shape, header->shape, sizeof tensor.shape);
        at += snprintf(text + at, 256 - (size_t)at, " of %s %s",
                       tdm_dtype_name((tdm_dtype)header->dtype),
                       tdmi_comm_shape_text(&tensor, shape));
    }
    if (header->root >= 0) snprintf(text + at, 256 - (size_t)at, ", root %d", header->root);
}

tdm_status tdmi_comm_compare(tdm_comm *comm, int rank) {
    const tdmi_comm_header *own = &comm->header, *other = &comm->headers[rank];
    if (own->refused && other->refused && own->function == other->function) return TDM_OK;
    if (own->refused)
        return tdmi_comm_fail(comm, comm->refusal, "rank %d refused its call: %s", comm->rank,
                              comm->refusal_text);
    if (memcmp(own, other, sizeof *own) == 0) return TDM_OK;
    if (other->refused) TDMI_TRY(tdmi_comm_explain(comm, rank, tdmi_comm_look));
    char own_text[256], other_text[256];
    describe(own, own_text);
    describe(other, other_text);
    tdm_status status = TDM_ERROR_INVALID_SHAPE;
    if (own->function != other->function || own->op != other->op || own->root != other->root)
        status = TDM_ERROR_INVALID_ARGUMENT;
    else if (own->dtype != other->dtype)
        status = TDM_ERROR_INVALID_DTYPE;
    return tdmi_comm_fail(comm, status, "rank %d called %s, but rank %d %s (call %llu)%s", rank,
                          other_text, comm->rank, own_text, (unsigned long long)own->call + 1,
                          own->extents != other->extents ? "; their extents differ" : "");
}
