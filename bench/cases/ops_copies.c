/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Copies of bytes: host to device, device to host, device to device. Host memory comes from
 * tdm_host_alloc, pinned where the backend has it. */
#include <string.h>

#include "cases/segment.h"

enum { H2D, D2H, D2D };

static void plan_copy(const bench_case *c, bench_plan *plan) {
    bench_add_operand(plan, c->dtype, 1, c->shape.extent, true, false, -1.0, 1.0);
    bench_add_operand(plan, c->dtype, 1, c->shape.extent, false, true, 0.0, 0.0);
    plan->operand[0].on_host = c->op->variant == H2D;
    plan->operand[1].on_host = c->op->variant == D2H;
    plan->row_count = 1;
    plan->row_length = c->shape.extent[0];
    plan->row_cost = 1;
}

static tdm_status call_copy(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const size_t size = (size_t)c->shape.extent[0] * tdm_dtype_size(c->dtype);
    switch (c->op->variant) {
    case H2D:
        return tdm_buffer_write_async(queue, set->tensor[1].buffer, 0, set->host[0], size);
    case D2H:
        return tdm_buffer_read_async(queue, set->tensor[0].buffer, 0, set->host[1], size);
    default:
        return tdm_buffer_copy_async(queue, set->tensor[0].buffer, 0, set->tensor[1].buffer, 0,
                                     size);
    }
}

static bool reference_copy(bench_segment *s) {
    const double *x = bench_same(s, 0);
    if (!x) return false;
    memcpy(s->y, x, (size_t)s->count * sizeof *x);
    return true;
}

#define COPY(title, kind)                                                                          \
    {                                                                                              \
        .name = title, .variant = kind, .baseline = BENCH_BASELINE_##kind, .plan = plan_copy,      \
        .call = call_copy, .reference = reference_copy                                             \
    }

const bench_op bench_ops_copies[] = {
    COPY("copy_h2d", H2D),
    COPY("copy_d2h", D2H),
    COPY("copy_d2d", D2D),
    {0},
};
