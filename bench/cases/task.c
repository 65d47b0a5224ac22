/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "cases/task.h"

#include "machine/machine.h"
#include "reference/random.h"

bool bench_task_failed(bench_task_run *run, const char *what) {
    return bench_row_fail(run->row, what, run->failure ? run->failure : tdm_last_error());
}

bool bench_task_skip(bench_task_run *run, const char *why) {
    run->skipped = true;
    return bench_row_skip(run->row, why);
}

bool bench_task_random(bench_task_run *run, uint64_t seed, tdm_dtype dtype, int64_t count,
                       double low, double high, void **values) {
    *values = bench_alloc((size_t)count * tdm_dtype_size(dtype));
    return (*values && random_fill(seed, dtype, count, low, high, *values)) ||
           bench_row_fail(run->row, "inputs", "out of memory");
}

bool bench_task_buffer(bench_task_run *run, tdm_queue *queue, size_t size, const void *values,
                       tdm_buffer **buffer) {
    if (tdm_buffer_create(tdm_queue_get_device(queue), size, buffer) != TDM_OK)
        return bench_task_failed(run, "buffer");
    return !values || tdm_buffer_write(queue, *buffer, 0, values, size) == TDM_OK ||
           bench_task_failed(run, "write");
}

bool bench_needs_two_devices(const bench_case *c) {
    return c->op->task && c->op->task->two_devices;
}
