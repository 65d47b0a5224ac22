/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Measuring a task: it is prepared, called and checked, then timed, then checked again. */
#include "task.h"

#include <stdio.h>
#include <stdlib.h>

bool bench_task_failed(bench_task_run *run, const char *what) {
    return bench_row_fail(run->row, what, run->failure ? run->failure : tdm_last_error());
}

bool bench_task_skip(bench_task_run *run, const char *why) {
    run->skipped = true;
    return bench_row_skip(run->row, why);
}

bool bench_is_host(const tdm_device_info *info) { return info->type == TDM_DEVICE_CPU; }

bool bench_needs_two_devices(const bench_case *c) {
    return c->op->task && c->op->task->two_devices;
}

static bool call_task(void *state, unsigned set) {
    bench_task_run *run = state;
    (void)set;
    return run->c->op->task->call(run) == TDM_OK;
}

static bool check(bench_task_run *run) {
    bench_verdict verdict = {.verified = true};
    run->c->op->task->check(run, &verdict);
    if (!verdict.verified) bench_row_fail(run->row, "wrong result", verdict.problem);
    run->row->max_error = verdict.max_error;
    run->row->error_bound = verdict.error_bound;
    run->row->verified = verdict.verified;
    return verdict.verified;
}

static bool time_task(bench_task_run *run) {
    bench_row *row = run->row;
    bench_timed tandem = {.state = run, .call = call_task, .sets = 1};
    if (!bench_measure_times(run->runner, &tandem, &run->baseline, 1, row))
        return run->failure ? bench_task_failed(run, "call") : false;
    if (run->bound_seconds > 0.0) {
        char bound[16];
        snprintf(row->baseline, sizeof row->baseline, "bound: %s",
                 bench_format_seconds(run->bound_seconds, bound));
        row->baseline_seconds = run->bound_seconds;
        row->ratio = run->bound_seconds / row->seconds.median;
    }
    return true;
}

static bool run_task(bench_task_run *run) {
    const bench_task *task = run->c->op->task;
    if (!task->prepare(run)) return false;
    const double start = bench_now();
    const tdm_status status = task->call(run);
    if (status == TDM_ERROR_UNSUPPORTED) return bench_task_skip(run, tdm_last_error());
    if (status != TDM_OK) return bench_task_failed(run, "call");
    run->row->first_call_seconds = bench_now() - start;
    return check(run) && time_task(run) && check(run);
}

bool bench_measure_task(const bench_runner *runner, const bench_case *c, bench_row *row) {
    const bench_task *task = c->op->task;
    bench_task_run run = {.runner = runner, .c = c, .row = row};
    run.state = calloc(1, task->state_size);
    if (!run.state) {
        bench_row_fail(row, "state", "out of memory");
        return true;
    }
    if (!run_task(&run)) row->verified = false;
    task->destroy(&run);
    if (run.baseline.destroy) run.baseline.destroy(run.baseline.state);
    free(run.state);
    tdm_device *devices[2] = {runner->device, task->two_devices ? runner->second : NULL};
    for (int i = 0; i < 2 && devices[i]; i++) {
        if (tdm_device_trim(devices[i]) != TDM_OK)
            fprintf(stderr, "tdm bench: %s\n", tdm_last_error());
    }
    return !run.skipped;
}

#define TASK(name, baseline, task)                                                                 \
    { name, 0, baseline, 0.0, NULL, NULL, NULL, &bench_task_##task }

const bench_op bench_ops_tasks[] = {
    TASK("two_devices", BENCH_BASELINE_GEMM, two_devices),
    TASK("file_save", BENCH_BASELINE_MOVE, save),
    TASK("file_load", BENCH_BASELINE_MOVE, load),
    TASK("to_device", BENCH_BASELINE_MOVE, to_there),
    TASK("to_device+back", BENCH_BASELINE_MOVE, to_back),
    TASK("to_device+same", BENCH_BASELINE_MOVE, to_same),
};
const size_t bench_ops_tasks_count = sizeof bench_ops_tasks / sizeof *bench_ops_tasks;
