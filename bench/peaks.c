/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "peaks.h"

#include <string.h>

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

void bench_peaks_of(const tdm_device_info *device, bench_case cases[BENCH_PEAKS],
                    bench_peak peaks[BENCH_PEAKS]) {
    for (int i = 0; i < BENCH_PEAKS; i++) {
        const char *shape = table[i].shape ? table[i].shape : product_shape(device, table[i].dtype);
        memset(&peaks[i], 0, sizeof peaks[i]);
        peaks[i].kind = table[i].kind;
        bench_make_case(table[i].op, table[i].dtype, shape, &cases[i]);
        bench_row_init(&peaks[i].row, device, NULL, table[i].op, table[i].dtype, &cases[i].shape);
    }
}
