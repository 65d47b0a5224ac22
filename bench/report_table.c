/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table that people read. */
#include <math.h>

#include "row.h"

void bench_table_head(FILE *stream) {
    fprintf(stream, "%-14s %-23s %-5s %-17s %8s %6s %14s  %-29s %8s %6s  %8s  %s\n", "device", "op",
            "dtype", "shape", "median", "spread", "rate", "baseline", "median", "ratio", "first",
            "error / bound");
}

void bench_table_row(FILE *stream, const bench_row *row) {
    char median[16], first[16], baseline[16], rate[24], spread[16] = "-", ratio[16] = "-";
    char error[32] = "-", devices[80], pytorch[16];
    if (row->seconds.median > 0.0)
        snprintf(spread, sizeof spread, "%.0f %%", 100.0 * row->seconds.iqr / row->seconds.median);
    if (!isnan(row->ratio)) snprintf(ratio, sizeof ratio, "%.2f", row->ratio);
    if (!isnan(row->max_error))
        snprintf(error, sizeof error, "%.1e / %.1e", row->max_error, row->error_bound);
    fprintf(stream, "%-14s %-23s %-5s %-17s %8s %6s %14s  %-29s %8s %6s  %8s  %s%s",
            bench_row_devices(row, devices), row->c->op->name, tdm_dtype_name(row->c->dtype),
            row->c->shape, bench_format_seconds(row->seconds.median, median), spread,
            bench_format_rate(row, rate), row->baseline[0] ? row->baseline : "none",
            bench_format_seconds(row->baseline_seconds, baseline), ratio,
            bench_format_seconds(row->first_call_seconds, first), error,
            row->verified ? "" : "  NOT VERIFIED");
    if (!isnan(row->pytorch_seconds))
        fprintf(stream, "  PyTorch %s, ratio %.2f",
                bench_format_seconds(row->pytorch_seconds, pytorch),
                row->pytorch_seconds / row->seconds.median);
    fprintf(stream, "%s%s\n", row->note[0] ? "  " : "", row->note);
}
