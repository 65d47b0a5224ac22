/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "rows/peak.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Is the baseline the same work? A plain C function is no launch, a library may have 16-bit products in f32 alone, and
 * where the memory is not the host's a read is compared with a copy. */
static bool has_baseline(const bench_peak *peak) {
    const bench_row *row = &peak->row;
    if (!(row->baseline_seconds > 0.0)) return false;
    if (peak->kind == BENCH_PEAK_LATENCY || peak->kind == BENCH_PEAK_LAUNCHES)
        return row->device->backend != TDM_CPU;
    if (peak->kind == BENCH_PEAK_PRODUCTS)
        return tdm_dtype_size(row->dtype) > 2 || !strstr(row->baseline, " in f32");
    return peak->kind == BENCH_PEAK_COPY || bench_is_host(row->device);
}

double bench_peak_seconds(const bench_peak *peak, const char **whose) {
    const bench_row *row = &peak->row;
    *whose = "Tandem";
    if (!peak->measured || !row->verified || !(row->seconds.median > 0.0)) return (double)NAN;
    if (!has_baseline(peak) || row->baseline_seconds >= row->seconds.median)
        return row->seconds.median;
    *whose = row->baseline;
    return row->baseline_seconds;
}

const char *bench_peak_name(const bench_peak *peak, char text[32]) {
    static const char *const names[] = {"copy", "read", "launch latency", "launches"};
    if (peak->kind == BENCH_PEAK_PRODUCTS)
        snprintf(text, 32, "%s products", tdm_dtype_name(peak->row.dtype));
    else
        snprintf(text, 32, "%s", names[peak->kind]);
    return text;
}

double bench_peak_value(const bench_peak *peak, double seconds, const char **unit) {
    switch (peak->kind) {
    case BENCH_PEAK_COPY:
    case BENCH_PEAK_READ:
        *unit = "byte/s";
        return peak->row.bytes / seconds;
    case BENCH_PEAK_LATENCY:
        *unit = "s";
        return seconds;
    case BENCH_PEAK_LAUNCHES:
        *unit = "1/s";
        return round(1.0 /
                     seconds); /* more digits than JSON keeps would round to another number there */
    default:
        *unit = "flop/s";
        return peak->row.flops / seconds;
    }
}

const char *bench_format_peak(const bench_peak *peak, double seconds, char text[32]) {
    const char *unit;
    const double value = bench_peak_value(peak, seconds, &unit);
    if (peak->kind == BENCH_PEAK_LATENCY) return bench_format_seconds(seconds, text);
    if (peak->kind == BENCH_PEAK_LAUNCHES)
        snprintf(text, 32, "%.0f /s", value);
    else
        snprintf(text, 32, peak->row.flops > 0.0 ? "%.1f GFLOP/s" : "%.2f GB/s", 1e-9 * value);
    return text;
}
