/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a device can do at best, which the rows are to be seen beside: moving bytes, launching,
 * products. They are figures of ordinary cases: the better of Tandem's and the baseline's. */
#ifndef BENCH_PEAKS_H
#define BENCH_PEAKS_H

#include "output.h"

enum { BENCH_PEAKS = 8 };

typedef enum bench_peak_kind {
    BENCH_PEAK_COPY,
    BENCH_PEAK_READ,
    BENCH_PEAK_LATENCY,  /* from a call to the end of what it launched */
    BENCH_PEAK_LAUNCHES, /* in a row */
    BENCH_PEAK_PRODUCTS
} bench_peak_kind;

typedef struct bench_peak {
    bench_peak_kind kind;
    bench_case c;
    bench_row row;
    bool measured;
} bench_peak;

/* The peaks of a device, to be measured. */
void bench_peaks_of(const tdm_device_info *device, bench_peak peaks[BENCH_PEAKS]);

/* Seconds of the best way to do the case, and whose it is (borrowed): "Tandem" or a baseline. NaN
 * where it was not measured. */
double bench_peak_seconds(const bench_peak *peak, const char **whose);

/* The peaks of one device as part of the table or of Markdown; nothing in the other formats. */
void bench_print_peaks(const bench_output *output, const bench_peak peaks[BENCH_PEAKS]);

/* The same for programs; the caller gives it back. */
json_t *bench_json_peak(const bench_peak *peak);

#endif
