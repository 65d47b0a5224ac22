/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "peaks.h"

#include <math.h>
#include <string.h>

#include "task.h"

static const struct {
    bench_peak_kind kind;
    const char *op;
    tdm_dtype dtype;
    const char *shape; /* NULL: of products, by the device */
} table[BENCH_PEAKS] = {
    {BENCH_PEAK_COPY, "copy_d2d", TDM_F32, "33554432"},
    {BENCH_PEAK_READ, "norm_l2", TDM_F32, "8192x4096"},
    {BENCH_PEAK_LATENCY, "empty+finish", TDM_F32, "1"},
    {BENCH_PEAK_LAUNCHES, "empty", TDM_F32, "1"},
    {BENCH_PEAK_PRODUCTS, "matmul", TDM_F32, NULL},
    {BENCH_PEAK_PRODUCTS, "matmul", TDM_F64, NULL},
    {BENCH_PEAK_PRODUCTS, "matmul", TDM_F16, NULL},
    {BENCH_PEAK_PRODUCTS, "matmul", TDM_BF16, NULL},
};

/* Large enough to keep the device busy, and no larger: a core takes a second for what a large card
 * does in one millisecond. */
static const char *product_shape(const tdm_device_info *device, tdm_dtype dtype) {
    if (bench_is_host(device)) return tdm_dtype_size(dtype) == 2 ? "512x512x512" : "1024x1024x1024";
    return device->backend == TDM_CUDA ? "4096x4096x4096" : "2048x2048x2048";
}

void bench_peaks_of(const tdm_device_info *device, bench_peak peaks[BENCH_PEAKS]) {
    for (int i = 0; i < BENCH_PEAKS; i++) {
        const char *shape = table[i].shape ? table[i].shape : product_shape(device, table[i].dtype);
        memset(&peaks[i], 0, sizeof peaks[i]);
        peaks[i].kind = table[i].kind;
        bench_make_case(table[i].op, table[i].dtype, shape, &peaks[i].c);
        bench_row_init(&peaks[i].row, device, NULL, &peaks[i].c);
    }
}

/* Is the baseline the same work? A plain C function is no launch, CBLAS has no 16-bit products, and
 * where the memory is not the host's a read is compared with a copy. */
static bool has_baseline(const bench_peak *peak) {
    const bench_row *row = &peak->row;
    if (!(row->baseline_seconds > 0.0)) return false;
    if (peak->kind == BENCH_PEAK_LATENCY || peak->kind == BENCH_PEAK_LAUNCHES)
        return row->device->backend != TDM_CPU;
    if (peak->kind == BENCH_PEAK_PRODUCTS)
        return !bench_is_host(row->device) || tdm_dtype_size(peak->c.dtype) > 2;
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

static const char *peak_name(const bench_peak *peak, char text[32]) {
    static const char *const names[] = {"copy", "read", "launch latency", "launches"};
    if (peak->kind == BENCH_PEAK_PRODUCTS)
        snprintf(text, 32, "%s products", tdm_dtype_name(peak->c.dtype));
    else
        snprintf(text, 32, "%s", names[peak->kind]);
    return text;
}

/* In the unit of programs: bytes, calls or operations per second, or seconds. */
static double peak_value(const bench_peak *peak, double seconds, const char **unit) {
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
        return 1.0 / seconds;
    default:
        *unit = "flop/s";
        return peak->row.flops / seconds;
    }
}

static const char *format_value(const bench_peak *peak, double seconds, char text[32]) {
    const char *unit;
    const double value = peak_value(peak, seconds, &unit);
    if (peak->kind == BENCH_PEAK_LATENCY) return bench_format_seconds(seconds, text);
    if (peak->kind == BENCH_PEAK_LAUNCHES)
        snprintf(text, 32, "%.0f /s", value);
    else
        snprintf(text, 32, peak->row.flops > 0.0 ? "%.1f GFLOP/s" : "%.2f GB/s", 1e-9 * value);
    return text;
}

void bench_print_peaks(const bench_output *output, const bench_peak peaks[BENCH_PEAKS]) {
    const tdm_device_info *device = peaks[0].row.device;
    const bool is_markdown = output->format == BENCH_MD;
    if (!is_markdown && output->format != BENCH_TABLE) return;
    if (is_markdown) {
        printf("| peaks of %s | | by |\n| --- | ---: | --- |\n", device->id);
    } else {
        char title[256];
        snprintf(title, sizeof title, "Peaks of %s (%s):", device->id, device->name);
        bench_print_wrapped(stdout, title, output->width, 0);
    }
    for (int i = 0; i < BENCH_PEAKS; i++) {
        char name[32], value[32];
        const char *whose;
        const double seconds = bench_peak_seconds(&peaks[i], &whose);
        if (!(seconds > 0.0)) continue;
        printf(is_markdown ? "| %s | %s | %s |\n" : "  %-14s  %15s  %s\n",
               peak_name(&peaks[i], name), format_value(&peaks[i], seconds, value), whose);
    }
    putchar('\n');
    fflush(stdout);
}

json_t *bench_json_peak(const bench_peak *peak) {
    static const char *const kinds[] = {"copy", "read", "launch_latency", "launches", "products"};
    const char *whose, *unit;
    const double seconds = bench_peak_seconds(peak, &whose);
    const double value = peak_value(peak, seconds, &unit);
    json_t *object = json_object();
    json_object_set_new(object, "device", json_string(peak->row.device->id));
    json_object_set_new(object, "kind", json_string(kinds[peak->kind]));
    json_object_set_new(object, "dtype", json_string(tdm_dtype_name(peak->c.dtype)));
    json_object_set_new(object, "shape", json_string(peak->c.shape));
    json_object_set_new(object, "value", isfinite(value) ? json_real(value) : json_null());
    json_object_set_new(object, "unit", json_string(unit));
    json_object_set_new(object, "by", isfinite(value) ? json_string(whose) : json_null());
    return object;
}
