/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, from the beginning of a stream: equal bit for bit on every device. */
#include "cases/segment.h"
#include "reference/philox.h"
#include "reference/values.h"

/* Any numbers, but the same ones in every call. */
static const uint64_t seed = 0x5eed0f7a4dee5u;

static void plan_uniform(const bench_case *c, bench_plan *plan) {
    bench_add_operand(plan, c->dtype, 1, c->shape.extent, false, true, 0.0, 0.0);
    plan->row_count = 1;
    plan->row_length = c->shape.extent[0];
    plan->row_cost = 16;
}

static tdm_status call_uniform(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_generator generator = {.seed = seed};
    (void)c;
    return tdm_fill_uniform(queue, &generator, 0.0, 1.0, &set->tensor[0]);
}

static bool reference_uniform(bench_segment *s) {
    for (int64_t i = 0; i < s->count; i++) {
        unsigned char element[8];
        philox_uniform(seed, (uint64_t)(s->first + i), s->c->dtype, 0.0, 1.0, element);
        s->y[i] = (double)decode(s->c->dtype, element);
    }
    return true;
}

const bench_op bench_ops_random[] = {
    {.name = "fill_uniform",
     .baseline = BENCH_BASELINE_MOVE,
     .plan = plan_uniform,
     .call = call_uniform,
     .reference = reference_uniform},
};
const size_t bench_ops_random_count = sizeof bench_ops_random / sizeof *bench_ops_random;
