/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tasks of tdm_to: a tensor from one device to another, and to the device where it is already. */
#include <stdio.h>
#include <string.h>

#include <tandem/create.h>
#include <tandem/move.h>

#include "cases/task.h"
#include "machine/machine.h"

/* The time that a call with nothing to copy may take. */
static const double no_copy_seconds = 100e-9;

typedef struct move {
    tdm_device *device; /* where the tensor goes */
    tdm_queue *from, *to;
    tdm_tensor x, y;
    size_t size;
    void *values, *copy; /* of x; the bytes read back, and the target of the baseline */
} move;

static bool make_tensor(bench_task_run *run) {
    move *m = run->state;
    const int64_t count = run->c->shape.extent[0];
    m->size = (size_t)count * tdm_dtype_size(run->c->dtype);
    tdm_device *devices[2] = {tdm_queue_get_device(m->from), m->device};
    for (int i = 0; i < 2; i++) {
        const tdm_device_info *info = tdm_device_get_info(devices[i]);
        if (m->size > info->max_allocation ||
            (info->memory_total != TDM_UNKNOWN && m->size > info->memory_total / 4))
            return bench_task_skip(run, "a device has not enough memory");
    }
    m->copy = bench_alloc(m->size);
    if (!m->copy) return bench_row_fail(run->row, "inputs", "out of memory");
    m->x = tdm_tensor_1d(NULL, run->c->dtype, count);
    return bench_task_random(run, run->seed, run->c->dtype, count, -1.0, 1.0, &m->values) &&
           bench_task_buffer(run, m->from, m->size, m->values, &m->x.buffer);
}

static bool copy_plain(void *state, unsigned set) {
    const move *m = state;
    (void)set;
    memcpy(m->copy, m->values, m->size);
    return true;
}

static bool prepare_between(bench_task_run *run, bool back) {
    move *m = run->state;
    const bench_devices *r = run->on;
    bench_row *row = run->row;
    m->from = back ? r->second_queue : r->queue;
    m->to = back ? r->queue : r->second_queue;
    m->device = back ? r->device : r->second;
    snprintf(row->note, sizeof row->note, "from %s to %s", (back ? row->second : row->device)->id,
             (back ? row->device : row->second)->id);
    if (!make_tensor(run)) return false;
    row->bytes = 2.0 * (double)m->size;
    if (bench_is_host(row->device) && bench_is_host(row->second))
        run->baseline = (bench_baseline){.name = "memcpy", .state = m, .call = copy_plain};
    else
        snprintf(row->problem, sizeof row->problem,
                 "no baseline: the two are not both the host's memory");
    return true;
}

static bool prepare_there(bench_task_run *run) { return prepare_between(run, false); }
static bool prepare_back(bench_task_run *run) { return prepare_between(run, true); }

static bool prepare_same(bench_task_run *run) {
    move *m = run->state;
    m->from = m->to = run->on->queue;
    m->device = run->on->device;
    run->bound_seconds = no_copy_seconds;
    snprintf(run->row->note, sizeof run->row->note, "no copy: the tensor is there already");
    return make_tensor(run);
}

static tdm_status call(bench_task_run *run) {
    move *m = run->state;
    tdm_tensor_release(&m->y);
    return tdm_to(m->from, &m->x, m->device, &m->y);
}

static void check(bench_task_run *run, bench_verdict *verdict) {
    const move *m = run->state;
    memset(m->copy, 0xff, m->size);
    verdict->verified = m->y.buffer && tdm_tensor_get_device(&m->y) == m->device &&
                        tdm_tensor_get_count(&m->y) == tdm_tensor_get_count(&m->x) &&
                        tdm_buffer_read(m->to, m->y.buffer, 0, m->copy, m->size) == TDM_OK &&
                        memcmp(m->copy, m->values, m->size) == 0;
    if (!verdict->verified) snprintf(verdict->problem, sizeof verdict->problem, "the bytes differ");
    if (run->bound_seconds > 0.0 && m->y.buffer != m->x.buffer) {
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem, "it was copied");
    }
}

static void destroy(bench_task_run *run) {
    move *m = run->state;
    tdm_tensor_release(&m->y);
    tdm_tensor_release(&m->x);
    bench_free(m->values);
    bench_free(m->copy);
}

const bench_task bench_task_to_there = {true, sizeof(move), prepare_there, call, check, destroy};
const bench_task bench_task_to_back = {true, sizeof(move), prepare_back, call, check, destroy};
const bench_task bench_task_to_same = {false, sizeof(move), prepare_same, call, check, destroy};
