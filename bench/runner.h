/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Measuring one case. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include "cases/case.h"
#include "rows/row.h"
#include "rows/timing.h"

/* The devices and settings that measuring a case needs. */
typedef struct bench_runner {
    bench_devices on;
    uint64_t seed;
    bench_pace pace;
} bench_runner;

/* Measure one case on open devices, of the first kind or of the second. *row was begun by
 * bench_row_init and is complete also when something failed. Return false when it cannot run there
 * (no f64, not enough memory); row->problem says why, and there is nothing to report. */
bool bench_measure_op(const bench_runner *runner, const bench_case *c, bench_row *row);
bool bench_measure_task(const bench_runner *runner, const bench_case *c, bench_row *row);

/* The part that both have: takes the samples and fills the row's figures from them. row->flops and bytes are set
 * before. False when a call failed. */
bool bench_measure_times(const bench_pace *pace, bench_timed *tandem, bench_baseline *b,
                         bench_row *row);

#endif
