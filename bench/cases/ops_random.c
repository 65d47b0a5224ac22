/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers. The reference is Philox 4x32-10 as its paper has it (Salmon et al. 2011), from
 * the beginning of the stream: equal bit for bit on every device. */
#include "cases/case.h"

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

static void philox(uint64_t block, uint32_t word[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    word[0] = (uint32_t)block;
    word[1] = (uint32_t)(block >> 32);
    word[2] = word[3] = 0;
    for (int round = 0; round < 10; round++) {
        const uint64_t a = 0xd2511f53u * (uint64_t)word[0], b = 0xcd9e8d57u * (uint64_t)word[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ word[1] ^ key[0], (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ word[3] ^ key[1], (uint32_t)a};
        for (int i = 0; i < 4; i++)
            word[i] = next[i];
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
}

/* f32: the upper 24 bits of each word. */
static void reference_uniform(const bench_segment *s) {
    uint32_t word[4];
    for (int64_t i = 0; i < s->count; i++) {
        const uint64_t element = (uint64_t)(s->first + i);
        philox(element / 4, word);
        s->y[i] = (double)(word[element % 4] >> 8) * 0x1p-24;
        s->scale[i] = 0.0;
    }
}

const bench_op bench_ops_random[] = {
    {"fill_uniform", 0, BENCH_BASELINE_MOVE, 0.0, plan_uniform, call_uniform, reference_uniform,
     NULL},
};
const size_t bench_ops_random_count = sizeof bench_ops_random / sizeof *bench_ops_random;
