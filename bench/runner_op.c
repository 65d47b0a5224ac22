/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An operation on one device: buffers, the first call, the check, then samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"
#include "cases/verify.h"
#include "machine/clock.h"
#include "machine/machine.h"
#include "reference/random.h"
#include "runner.h"

enum { MAX_SETS = 64 };

typedef struct run {
    const bench_runner *runner;
    const bench_case *c;
    bench_plan plan;
    bench_request request; /* for the baseline */
    unsigned set_count, next_set;
    bench_set *sets;
    void *input[BENCH_MAX_OPERANDS]; /* host copies of the inputs, by operand */
    bench_row *row;
} run;

#define TRY(r, what, call)                                                                         \
    do {                                                                                           \
        if ((call) != TDM_OK) return bench_row_fail((r)->row, what, tdm_last_error());             \
    } while (0)

/* No API reports it for every GPU. An H200 has 50 MB, an RTX 5090 96; AMD's MI300X has 256, which is twice this. */
static const uint64_t gpu_cache_bytes = (uint64_t)128 << 20;

/* Cases that do not fit well into the device's last-level cache rotate over buffers of twice its size in
 * all; smaller ones keep one set, and are meant to run in cache. */
static unsigned choose_set_count(uint64_t set_bytes, uint64_t memory, bool is_host) {
    uint64_t cache = is_host ? bench_cache_bytes() : gpu_cache_bytes;
    uint64_t sets = 1;
    if (set_bytes >= cache / 8) sets = (2 * cache + set_bytes - 1) / set_bytes;
    if (sets > MAX_SETS) sets = MAX_SETS;
    while (sets > 1 && sets * set_bytes > memory / 4)
        sets--;
    return (unsigned)sets;
}

static bool can_run(run *r) {
    const tdm_device_info *info = tdm_device_get_info(r->runner->on.device);
    uint64_t bytes = 0, largest = 0;
    for (int i = 0; i < r->plan.operands; i++) {
        const bench_operand *operand = &r->plan.operand[i];
        const uint64_t size = bench_operand_bytes(operand);
        bytes += size;
        if (size > largest) largest = size;
        if (operand->tensor.dtype == TDM_F64 && !info->has_f64)
            return bench_row_not_applicable(r->row, "the device has no f64 arithmetic");
    }
    const uint64_t memory = info->memory_total == TDM_UNKNOWN ? bytes * 8 : info->memory_total;
    if (largest > info->max_allocation || bytes > memory / 2)
        return bench_row_skip(r->row, "the device has not enough memory");
    r->set_count = r->request.sets = r->row->sets =
        choose_set_count(bytes, memory, bench_is_host(info));
    return true;
}

static bool make_inputs(run *r) {
    for (int i = 0; i < r->plan.operands; i++) {
        const bench_operand *operand = &r->plan.operand[i];
        if (!operand->is_input) continue;
        r->input[i] = bench_alloc(bench_operand_bytes(operand));
        if (!r->input[i] || !random_fill(r->runner->seed + (uint64_t)i, operand->tensor.dtype,
                                         tdm_tensor_get_count(&operand->tensor), operand->low,
                                         operand->high, r->input[i]))
            return bench_row_fail(r->row, "inputs", "out of memory");
        r->request.input[i] = r->input[i];
    }
    return true;
}

/* Inputs get their values, outputs NaN in every element, so that an element that is not written is
 * seen. */
static bool make_set(run *r, bench_set *set) {
    const unsigned char nan_byte = 0xff;
    tdm_queue *queue = r->runner->on.queue;
    for (int i = 0; i < r->plan.operands; i++) {
        const bench_operand *operand = &r->plan.operand[i];
        const size_t size = bench_operand_bytes(operand);
        set->tensor[i] = operand->tensor;
        if (operand->on_host) {
            TRY(r, "host memory", tdm_host_alloc(r->runner->on.device, size, &set->host[i]));
            if (operand->is_input)
                memcpy(set->host[i], r->input[i], size);
            else
                memset(set->host[i], nan_byte, size);
            continue;
        }
        TRY(r, "buffer", tdm_buffer_create(r->runner->on.device, size, &set->tensor[i].buffer));
        if (operand->is_input)
            TRY(r, "write", tdm_buffer_write(queue, set->tensor[i].buffer, 0, r->input[i], size));
        else
            TRY(r, "fill", tdm_buffer_fill(queue, set->tensor[i].buffer, 0, size, &nan_byte, 1));
    }
    return true;
}

static void free_run(run *r) {
    for (unsigned s = 0; r->sets && s < r->set_count; s++) {
        for (int i = 0; i < r->plan.operands; i++) {
            tdm_buffer_release(r->sets[s].tensor[i].buffer);
            tdm_host_free(r->runner->on.device, r->sets[s].host[i]);
        }
    }
    free(r->sets);
    for (int i = 0; i < r->plan.operands; i++)
        bench_free(r->input[i]);
    /* the next case has other sizes; nothing is gained by keeping these */
    if (tdm_device_trim(r->runner->on.device) != TDM_OK)
        fprintf(stderr, "tdm bench: %s\n", tdm_last_error());
}

/* Each output is compared with what the inputs, and the outputs before it, should give. */
static bool verify_outputs(run *r, const bench_set *set, void *copy[BENCH_MAX_OPERANDS],
                           bench_verdict *verdict) {
    const void *data[BENCH_MAX_OPERANDS];
    memcpy(data, r->input, sizeof data);
    for (int i = 0; i < r->plan.operands && verdict->verified; i++) {
        const bench_operand *operand = &r->plan.operand[i];
        if (!operand->is_output) continue;
        const void *output = set->host[i];
        if (!operand->on_host) {
            const size_t size = bench_operand_bytes(operand);
            output = copy[i] = bench_alloc(size);
            if (!output) return bench_row_fail(r->row, "check", "out of memory");
            TRY(r, "read",
                tdm_buffer_read(r->runner->on.queue, set->tensor[i].buffer, 0, copy[i], size));
        }
        bench_verify(r->c, &r->plan, data, i, output, r->runner->seed + 1000, verdict);
        data[i] = output;
    }
    return true;
}

static bool verify_set(run *r, const bench_set *set) {
    bench_verdict verdict = {.verified = true};
    void *copy[BENCH_MAX_OPERANDS] = {NULL};
    const bool good = verify_outputs(r, set, copy, &verdict);
    for (int i = 0; i < r->plan.operands; i++)
        bench_free(copy[i]);
    if (!good) return false;
    if (!verdict.verified) bench_row_fail(r->row, "wrong result", verdict.problem);
    r->row->max_error = verdict.max_error;
    r->row->error_bound = verdict.error_bound;
    r->row->verified = verdict.verified;
    return verdict.verified;
}

static bool first_call(run *r) {
    const double start = bench_now();
    TRY(r, "call", r->c->op->call(r->c, r->runner->on.queue, &r->sets[0]));
    TRY(r, "finish", tdm_queue_finish(r->runner->on.queue));
    r->row->first_call_seconds = bench_now() - start;
    r->next_set = 1;
    return verify_set(r, &r->sets[0]);
}

/* The samples' view of a run. */
static bool call_run(void *state, unsigned set) {
    const run *r = state;
    return r->c->op->call(r->c, r->runner->on.queue, &r->sets[set]) == TDM_OK;
}

static bool finish_run(void *state) {
    const run *r = state;
    return tdm_queue_finish(r->runner->on.queue) == TDM_OK;
}

static bool measure(run *r, bench_baseline *b) {
    bench_timed tandem = {.state = r,
                          .call = call_run,
                          .finish = finish_run,
                          .sets = r->set_count,
                          .next_set = r->next_set};
    const bool good = bench_measure_times(&r->runner->pace, &tandem, b, r->row);
    r->next_set = tandem.next_set;
    return good;
}

/* An operation in place has another input after each call: only its first result can be checked. */
static bool repeats(const bench_plan *plan) {
    for (int i = 0; i < plan->operands; i++)
        if (plan->operand[i].is_input && plan->operand[i].is_output) return false;
    return true;
}

static bool create_baseline(const bench_request *request, bench_baseline *baseline, char *why) {
    if (request->kind == BENCH_BASELINE_TWO_GEMMS)
        return bench_two_gemms_create(request, baseline, why);
    return bench_baseline_create(request, baseline, why);
}

static bool run_case(run *r) {
    if (!make_inputs(r)) return false;
    r->sets = calloc(r->set_count, sizeof *r->sets);
    if (!r->sets) return bench_row_fail(r->row, "sets", "out of memory");
    for (unsigned s = 0; s < r->set_count; s++)
        if (!make_set(r, &r->sets[s])) return false;
    if (!first_call(r)) return false;
    bench_baseline baseline = {.name = ""};
    char why[BENCH_WHY_SIZE] = "";
    if (!create_baseline(&r->request, &baseline, why))
        snprintf(r->row->problem, sizeof r->row->problem, "no baseline: %s", why);
    bool good = measure(r, &baseline);
    if (baseline.destroy) baseline.destroy(baseline.state);
    /* the set that was written last, so that the timed calls are known to have done the work */
    if (good && repeats(&r->plan)) good = verify_set(r, &r->sets[r->next_set - 1]);
    return good;
}

bool bench_measure_op(const bench_runner *runner, const bench_case *c, bench_row *row) {
    run r = {.runner = runner, .c = c, .row = row};
    c->op->plan(c, &r.plan);
    row->flops = r.plan.flops;
    r.request = bench_case_request(c, &r.plan);
    r.request.device = row->device;
    row->bytes = (double)(r.request.bytes_in + r.request.bytes_out);
    if (!can_run(&r)) return false;
    if (!run_case(&r)) row->verified = false;
    free_run(&r);
    return true;
}
