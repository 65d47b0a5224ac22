/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tasks of two devices: a product on each of them at once, compared with both products on the first. */
#include <stdio.h>
#include <string.h>

#include "cases/task.h"
#include "machine/machine.h"
#include "platform/threads.h"

enum { A, B, C, OPERANDS };

/* A product on one device; the first device has room for two results, as the baseline makes two. */
typedef struct product {
    tdm_queue *queue;
    tdm_tensor tensor[OPERANDS], again;
    tdm_status status;
    char message[256];
} product;

typedef struct two_products {
    bench_case c; /* the same shape as one matmul, which knows the reference */
    bench_plan plan;
    void *input[OPERANDS];
    product side[2];
} two_products;

static bool make_product(bench_task_run *run, int which) {
    two_products *state = run->state;
    product *p = &state->side[which];
    p->queue = which == 0 ? run->on->queue : run->on->second_queue;
    for (int i = 0; i < OPERANDS; i++) {
        const size_t size = bench_operand_bytes(&state->plan.operand[i]);
        p->tensor[i] = state->plan.operand[i].tensor;
        if (!bench_task_buffer(run, p->queue, size, state->input[i], &p->tensor[i].buffer))
            return false;
    }
    p->again = state->plan.operand[C].tensor;
    if (which != 0) return true;
    return bench_task_buffer(run, p->queue, bench_operand_bytes(&state->plan.operand[C]), NULL,
                             &p->again.buffer);
}

/* The baseline: both products on the first device, one after the other. */
static bool call_on_one(void *argument, unsigned set) {
    two_products *state = argument;
    product *p = &state->side[0];
    (void)set;
    return tdm_matmul(p->queue, NULL, &p->tensor[A], &p->tensor[B], &p->tensor[C]) == TDM_OK &&
           tdm_matmul(p->queue, NULL, &p->tensor[A], &p->tensor[B], &p->again) == TDM_OK &&
           tdm_queue_finish(p->queue) == TDM_OK;
}

static bool prepare_two(bench_task_run *run) {
    two_products *state = run->state;
    bench_row *row = run->row;
    state->c = *run->c;
    state->c.op = &bench_ops_matmul[0];
    state->c.op->plan(&state->c, &state->plan);
    row->flops = 2.0 * state->plan.flops;
    for (int i = 0; i < C; i++) {
        const bench_operand *operand = &state->plan.operand[i];
        if (!bench_task_random(run, run->seed + (uint64_t)i, operand->tensor.dtype,
                               tdm_tensor_get_count(&operand->tensor), operand->low, operand->high,
                               &state->input[i]))
            return false;
    }
    if (!make_product(run, 0) || !make_product(run, 1)) return false;
    run->baseline = (bench_baseline){.state = state, .call = call_on_one};
    snprintf(run->baseline.name, sizeof run->baseline.name, "both on %s", row->device->id);
    if (bench_is_host(row->device) && bench_is_host(row->second))
        snprintf(row->note, sizeof row->note, "the two devices share the same cores");
    else if (strcmp(row->device->id, row->second->same_as) == 0 ||
             strcmp(row->second->id, row->device->same_as) == 0 || row->device == row->second)
        snprintf(row->note, sizeof row->note, "the two devices are one card");
    return true;
}

static void *run_product(void *argument) {
    product *p = argument;
    p->status = tdm_matmul(p->queue, NULL, &p->tensor[A], &p->tensor[B], &p->tensor[C]);
    if (p->status == TDM_OK) p->status = tdm_queue_finish(p->queue);
    if (p->status != TDM_OK) snprintf(p->message, sizeof p->message, "%s", tdm_last_error());
    return NULL;
}

/* A thread for the second device, as a product on a cpu device blocks; starting one takes some tens
 * of microseconds, which count. */
static tdm_status call_two(bench_task_run *run) {
    two_products *state = run->state;
    tdmi_thread thread;
    if (!tdmi_thread_start(&thread, run_product, &state->side[1])) {
        run->failure = "no thread can be started";
        return TDM_ERROR_OUT_OF_MEMORY;
    }
    run_product(&state->side[0]);
    tdmi_thread_join(thread);
    for (int i = 0; i < 2; i++) {
        if (state->side[i].status == TDM_OK) continue;
        run->failure = state->side[i].message;
        return state->side[i].status;
    }
    return TDM_OK;
}

static void check_two(bench_task_run *run, bench_verdict *verdict) {
    two_products *state = run->state;
    const size_t size = bench_operand_bytes(&state->plan.operand[C]);
    void *copy = bench_alloc(size);
    for (int i = 0; i < 2 && verdict->verified; i++) {
        product *p = &state->side[i];
        verdict->verified =
            copy && tdm_buffer_read(p->queue, p->tensor[C].buffer, 0, copy, size) == TDM_OK;
        if (!verdict->verified) {
            snprintf(verdict->problem, sizeof verdict->problem, "it cannot be read back");
            break;
        }
        bench_verify(&state->c, &state->plan, (const void *const *)state->input, C, copy,
                     run->seed + 1000, verdict);
    }
    bench_free(copy);
}

static void destroy_two(bench_task_run *run) {
    two_products *state = run->state;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < OPERANDS; j++)
            tdm_buffer_release(state->side[i].tensor[j].buffer);
        tdm_buffer_release(state->side[i].again.buffer);
    }
    for (int i = 0; i < OPERANDS; i++)
        bench_free(state->input[i]);
}

const bench_task bench_task_two_devices = {true,      sizeof(two_products), prepare_two, call_two,
                                           check_two, destroy_two};
