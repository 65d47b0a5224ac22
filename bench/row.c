/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows: how one begins, is filled from samples, fails, and how its figures are written. */
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bench_row_init(bench_row *row, const tdm_device_info *device, const tdm_device_info *second,
                    const bench_case *c) {
    const double unknown = (double)NAN;
    *row = (bench_row){.device = device,
                       .second = second,
                       .c = c,
                       .seconds = {unknown, unknown, unknown},
                       .gflops = unknown,
                       .gbytes_per_s = unknown,
                       .baseline_seconds = unknown,
                       .ratio = unknown,
                       .pytorch_seconds = unknown,
                       .first_call_seconds = unknown,
                       .max_error = unknown,
                       .error_bound = unknown};
}

bool bench_row_fail(bench_row *row, const char *what, const char *why) {
    row->verified = false;
    snprintf(row->problem, sizeof row->problem, "%s: %s", what, why);
    return false;
}

bool bench_row_skip(bench_row *row, const char *why) {
    snprintf(row->problem, sizeof row->problem, "skipped: %s", why);
    return false;
}

bool bench_row_not_applicable(bench_row *row, const char *why) {
    row->not_applicable = true;
    snprintf(row->problem, sizeof row->problem, "not applicable: %s", why);
    return false;
}

bool bench_measure_times(const bench_runner *runner, bench_timed *tandem, const bench_baseline *b,
                         unsigned baseline_sets, bench_row *row) {
    const double unknown = (double)NAN;
    bench_timed raw = {.state = b->state,
                       .call = b->call,
                       .finish = b->finish,
                       .enter = b->enter,
                       .leave = b->leave,
                       .sets = baseline_sets};
    bench_times times = {.baseline = {unknown, unknown, unknown}};
    switch (bench_time(&runner->pace, tandem, &raw, &times)) {
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
    if (!b->call) return true;
    row->baseline_seconds = times.baseline.median;
    row->ratio = row->baseline_seconds / row->seconds.median;
    snprintf(row->baseline, sizeof row->baseline, "%s", b->name);
    return true;
}

bool bench_measure(const bench_runner *runner, const bench_case *c, bench_row *row) {
    return c->op->task ? bench_measure_task(runner, c, row) : bench_measure_op(runner, c, row);
}

const char *bench_row_devices(const bench_row *row, char text[80]) {
    snprintf(text, 80, "%s%s%s", row->device->id, row->second ? "+" : "",
             row->second ? row->second->id : "");
    return text;
}

const char *bench_format_seconds(double seconds, char text[16]) {
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1.0, "s"}};
    if (isnan(seconds)) return strcpy(text, "-");
    int u = 0;
    while (u < 3 && seconds * units[u].scale >= 1000.0)
        u++;
    double value = seconds * units[u].scale;
    snprintf(text, 16, "%.*f %s", value < 10.0 ? 2 : value < 100.0 ? 1 : 0, value, units[u].unit);
    return text;
}

const char *bench_format_rate(const bench_row *row, char text[24]) {
    if (!isnan(row->gflops))
        snprintf(text, 24, "%.1f GFLOP/s", row->gflops);
    else if (!isnan(row->gbytes_per_s))
        snprintf(text, 24, "%.2f GB/s", row->gbytes_per_s);
    else
        strcpy(text, "-");
    return text;
}
