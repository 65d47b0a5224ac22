/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The samples of a case, and a row's figures from them. */
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool bench_measure_times(const bench_pace *pace, bench_timed *tandem, const bench_baseline *b,
                         unsigned baseline_sets, bench_row *row) {
    const double unknown = (double)NAN;
    bench_timed raw = bench_baseline_timed(b, baseline_sets);
    bench_times times = {.baseline = {unknown, unknown, unknown}};
    switch (bench_time(pace, tandem, &raw, &times)) {
    case BENCH_TANDEM_FAILED:
        return bench_row_fail(row, "call", tdm_last_error());
    case BENCH_BASELINE_FAILED:
        return bench_row_fail(row, b->name, "the baseline's call failed");
    default:
        break;
    }
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
    row->ratio = row->baseline_seconds / row->seconds.median;
    snprintf(row->baseline, sizeof row->baseline, "%s", b->name);
    return true;
}
