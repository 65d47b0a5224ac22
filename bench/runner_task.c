/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A task: it is prepared, called and checked, then timed, then checked again. */
#include <stdio.h>
#include <stdlib.h>

#include "cases/task.h"
#include "machine/clock.h"
#include "runner.h"

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

static bool time_task(bench_task_run *run, const bench_pace *pace) {
    bench_row *row = run->row;
    bench_timed tandem = {.state = run, .call = call_task, .sets = 1};
    run->baseline.sets = 1;
    if (!bench_measure_times(pace, &tandem, &run->baseline, row))
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

static bool run_task(bench_task_run *run, const bench_pace *pace) {
    const bench_task *task = run->c->op->task;
    if (!task->prepare(run)) return false;
    const double start = bench_now();
    const tdm_status status = task->call(run);
    if (status == TDM_ERROR_UNSUPPORTED) return bench_task_skip(run, tdm_last_error());
    if (status != TDM_OK) return bench_task_failed(run, "call");
    run->row->first_call_seconds = bench_now() - start;
    return check(run) && time_task(run, pace) && check(run);
}

bool bench_measure_task(const bench_runner *runner, const bench_case *c, bench_row *row) {
    const bench_task *task = c->op->task;
    bench_task_run run = {.on = &runner->on, .seed = runner->seed, .c = c, .row = row};
    run.state = calloc(1, task->state_size);
    if (!run.state) {
        bench_row_fail(row, "state", "out of memory");
        return true;
    }
    if (!run_task(&run, &runner->pace)) row->verified = false;
    task->destroy(&run);
    if (run.baseline.destroy) run.baseline.destroy(run.baseline.state);
    free(run.state);
    tdm_device *devices[2] = {runner->on.device, task->two_devices ? runner->on.second : NULL};
    for (int i = 0; i < 2 && devices[i]; i++)
        if (tdm_device_trim(devices[i]) != TDM_OK)
            fprintf(stderr, "tdm bench: %s\n", tdm_last_error());
    return !run.skipped;
}
