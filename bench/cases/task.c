/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "cases/task.h"

bool bench_task_failed(bench_task_run *run, const char *what) {
    return bench_row_fail(run->row, what, run->failure ? run->failure : tdm_last_error());
}

bool bench_task_skip(bench_task_run *run, const char *why) {
    run->skipped = true;
    return bench_row_skip(run->row, why);
}

bool bench_needs_two_devices(const bench_case *c) {
    return c->op->task && c->op->task->two_devices;
}
