/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A case's operands, and the baseline that it is compared with. */
#include "cases/case.h"

#include <string.h>

int bench_add_operand(bench_plan *plan, tdm_dtype dtype, int ndim, const int64_t *shape,
                      bool is_input, bool is_output, double low, double high) {
    bench_operand *operand = &plan->operand[plan->operands];
    *operand =
        (bench_operand){.is_input = is_input, .is_output = is_output, .low = low, .high = high};
    operand->tensor.dtype = dtype;
    operand->tensor.ndim = ndim;
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        operand->tensor.shape[d] = shape[d];
        operand->tensor.strides[d] = stride;
        stride *= shape[d];
    }
    return plan->operands++;
}

/* Its op's kind, but for the smallest layer_norm a call. */
static bench_baseline_kind baseline_kind(const bench_case *c) {
    const bool smallest =
        c->shape.extents == 2 && c->shape.extent[0] == 8 && c->shape.extent[1] == 8;
    if (smallest && c->dtype == TDM_F32 && strcmp(c->op->name, "layer_norm") == 0)
        return BENCH_BASELINE_LAYER_NORM;
    return c->op->baseline;
}

size_t bench_operand_bytes(const bench_operand *operand) {
    return (size_t)tdm_tensor_get_count(&operand->tensor) * tdm_dtype_size(operand->tensor.dtype);
}

bench_request bench_case_request(const bench_case *c, const bench_plan *plan) {
    bench_request request = {.kind = baseline_kind(c),
                             .dtype = c->dtype,
                             .shape = c->shape,
                             .transpose_b = plan->transpose_b,
                             .operands = plan->operands};
    for (int i = 0; i < plan->operands; i++) {
        const bench_operand *operand = &plan->operand[i];
        request.bytes[i] = bench_operand_bytes(operand);
        if (operand->is_input) request.bytes_in += request.bytes[i];
        if (operand->is_output) request.bytes_out += request.bytes[i];
    }
    return request;
}

int64_t bench_rows(const bench_case *c) { return c->shape.extents > 1 ? c->shape.extent[0] : 1; }
int64_t bench_cols(const bench_case *c) { return c->shape.extent[c->shape.extents - 1]; }
