/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The samples of a case, and a row's figures from them. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

bool bench_measure_times(const bench_pace *pace, bench_timed *tandem, bench_baseline *b,
                         bench_row *row) {
    bench_times times = {0};
    const bench_outcome outcome = bench_time(pace, tandem, b, &times);
    if (outcome == BENCH_BASELINE_FAILED) {
        snprintf(row->problem, sizeof row->problem, "no baseline: %s: its call failed", b->name);
        return bench_measure_times(pace, tandem, &(bench_baseline){.sets = 1}, row);
    }
    if (outcome != BENCH_TIMED) return bench_row_fail(row, "call", tdm_last_error());
    row->seconds = times.tandem;
    row->sample_count = times.count;
    memcpy(row->samples, times.samples, sizeof row->samples);
    memcpy(row->baseline_samples, times.baseline_samples, sizeof row->baseline_samples);
    if (row->flops > 0.0)
        row->gflops = 1e-9 * row->flops / row->seconds.median;
    else if (row->bytes > 0.0)
        row->gbytes_per_s = 1e-9 * row->bytes / row->seconds.median;
    if (!b->call && !b->sample) return true;
    row->baseline_seconds = times.baseline.median;
    row->baseline_iqr = times.baseline.iqr;
    row->ratio = row->baseline_seconds / row->seconds.median;
    snprintf(row->baseline, sizeof row->baseline, "%s", b->name);
    return true;
}
