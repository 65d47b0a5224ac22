/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows: how one begins and fails, and how its figures are written. */
#include "rows/row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bench_row_init(bench_row *row, const tdm_device_info *device, const tdm_device_info *second,
                    const char *op, tdm_dtype dtype, const bench_shape *shape) {
    const double unknown = (double)NAN;
    *row = (bench_row){.device = device,
                       .second = second,
                       .op = op,
                       .dtype = dtype,
                       .shape = *shape,
                       .seconds = {unknown, unknown, unknown},
                       .gflops = unknown,
                       .gbytes_per_s = unknown,
                       .baseline_seconds = unknown,
                       .baseline_iqr = unknown,
                       .ratio = unknown,
                       .first_call_seconds = unknown,
                       .max_error = unknown,
                       .error_bound = unknown};
    for (int i = 0; i < BENCH_PEERS; i++)
        row->peer_seconds[i] = unknown;
}

const char *bench_peer_title(bench_peer peer) {
    static const char *const titles[] = {
#define TITLE(NAME, key, module, title) title,
        BENCH_PEER_LIST(TITLE)};
    return titles[peer];
}

const char *bench_peer_key(bench_peer peer) {
    static const char *const keys[] = {
#define KEY(NAME, key, module, title) key,
        BENCH_PEER_LIST(KEY)};
    return keys[peer];
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

bool bench_row_is_noisy(const bench_row *row) {
    return row->seconds.iqr > BENCH_NOISY * row->seconds.median ||
           row->baseline_iqr > BENCH_NOISY * row->baseline_seconds;
}

const char *bench_format_spread(const bench_row *row, char text[16]) {
    if (!(row->seconds.median > 0.0)) return strcpy(text, "-");
    snprintf(text, 16, "%.0f %%", 100.0 * row->seconds.iqr / row->seconds.median);
    return text;
}

bool bench_row_is_like(const bench_row *row, const bench_row *other) {
    return row->dtype == other->dtype && strcmp(row->op, other->op) == 0;
}

bool bench_is_host(const tdm_device_info *info) { return info->type == TDM_DEVICE_CPU; }

const char *bench_row_devices(const bench_row *row, char text[80]) {
    char ranks[16] = "";
    if (row->ranks) snprintf(ranks, sizeof ranks, "%d x ", row->ranks);
    snprintf(text, 80, "%s%s%s%s", ranks, row->device->id, row->second ? "+" : "",
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

/* In thousands or millions where a thousand million is too much, so that what is slow is not 0. */
static const char *format_speed(double per_second, const char *unit, int decimals, char text[24]) {
    static const char prefixes[] = "GMk";
    int i = 0;
    double value = 1e-9 * per_second;
    for (; value < 0.1 && i < 2; i++)
        value *= 1e3;
    snprintf(text, 24, "%.*f %c%s", decimals, value, prefixes[i], unit);
    return text;
}

const char *bench_format_rate(const bench_row *row, char text[24]) {
    if (!isnan(row->gflops)) return format_speed(1e9 * row->gflops, "FLOP/s", 1, text);
    if (!isnan(row->gbytes_per_s)) return format_speed(1e9 * row->gbytes_per_s, "B/s", 2, text);
    return strcpy(text, "-");
}

const char *bench_format_cell(const bench_row *row, bench_column column,
                              char text[BENCH_CELL_SIZE]) {
    strcpy(text, "-");
    switch (column) {
    case BENCH_DEVICES:
        return bench_row_devices(row, text);
    case BENCH_MEDIAN:
        return bench_format_seconds(row->seconds.median, text);
    case BENCH_SPREAD:
        return bench_format_spread(row, text);
    case BENCH_RATE:
        return bench_format_rate(row, text);
    case BENCH_RATIO:
        if (!isnan(row->ratio)) snprintf(text, BENCH_CELL_SIZE, "%.2f", row->ratio);
        return text;
    case BENCH_ITS_MEDIAN:
        return bench_format_seconds(row->baseline_seconds, text);
    case BENCH_FIRST:
        return bench_format_seconds(row->first_call_seconds, text);
    case BENCH_ERROR:
        if (!isnan(row->max_error))
            snprintf(text, BENCH_CELL_SIZE, "%.1e / %.1e", row->max_error, row->error_bound);
        return text;
    default:
        break;
    }
    snprintf(text, BENCH_CELL_SIZE, "%s",
             column == BENCH_OP         ? row->op
             : column == BENCH_DTYPE    ? tdm_dtype_name(row->dtype)
             : column == BENCH_SHAPE    ? row->shape.text
             : column == BENCH_VERIFIED ? (row->verified ? "yes" : "NO")
             : row->baseline[0]         ? row->baseline
                                        : "none");
    return text;
}
