/* The table that people read. */
#include <math.h>
#include <string.h>

#include "row.h"

/* "12.3 us": four significant digits at most, the unit that fits. */
static const char *format_seconds(double seconds, char text[16]) {
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

void bench_table_head(FILE *stream) {
    fprintf(stream, "%-9s %-23s %-5s %-17s %8s %6s %14s  %-29s %8s %6s  %8s  %s\n", "device", "op",
            "dtype", "shape", "median", "spread", "rate", "baseline", "median", "ratio", "first",
            "error / bound");
}

void bench_table_row(FILE *stream, const bench_row *row) {
    char median[16], first[16], baseline[16], rate[24] = "-", spread[16] = "-", ratio[16] = "-";
    char error[32] = "-";
    if (!isnan(row->gflops))
        snprintf(rate, sizeof rate, "%.1f GFLOP/s", row->gflops);
    else if (!isnan(row->gbytes_per_s))
        snprintf(rate, sizeof rate, "%.2f GB/s", row->gbytes_per_s);
    if (row->seconds.median > 0.0)
        snprintf(spread, sizeof spread, "%.0f %%", 100.0 * row->seconds.iqr / row->seconds.median);
    if (!isnan(row->ratio)) snprintf(ratio, sizeof ratio, "%.2f", row->ratio);
    if (!isnan(row->max_error))
        snprintf(error, sizeof error, "%.1e / %.1e", row->max_error, row->error_bound);
    fprintf(stream, "%-9s %-23s %-5s %-17s %8s %6s %14s  %-29s %8s %6s  %8s  %s%s\n",
            row->device->id, row->c->op->name, tdm_dtype_name(row->c->dtype), row->c->shape,
            format_seconds(row->seconds.median, median), spread, rate,
            row->baseline[0] ? row->baseline : "none",
            format_seconds(row->baseline_seconds, baseline), ratio,
            format_seconds(row->first_call_seconds, first), error,
            row->verified ? "" : "  NOT VERIFIED");
}
