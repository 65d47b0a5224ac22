/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A peak: the fastest that a device was seen to do, to compare the rows with. It is the better of
 * Tandem's and the baseline's in an ordinary case. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "rows/row.h"

typedef enum bench_peak_kind {
    BENCH_PEAK_COPY,
    BENCH_PEAK_READ,
    BENCH_PEAK_LATENCY,  /* from a call to the end of what it launched */
    BENCH_PEAK_LAUNCHES, /* in a row */
    BENCH_PEAK_PRODUCTS
} bench_peak_kind;

typedef struct bench_peak {
    bench_peak_kind kind;
    bench_row row;
    bool measured;
} bench_peak;

/* Seconds of the best way to do the case, and whose it is (borrowed): "Tandem" or a baseline. NaN
 * where it was not measured. */
double bench_peak_seconds(const bench_peak *peak, const char **whose);

/* The figure of these seconds in the unit of programs: bytes, calls or operations per second, or
 * seconds. */
double bench_peak_value(const bench_peak *peak, double seconds, const char **unit);

/* "launch latency", "bf16 products"; and the figure, "34.50 GB/s". Both return `text`. */
const char *bench_peak_name(const bench_peak *peak, char text[32]);
const char *bench_format_peak(const bench_peak *peak, double seconds, char text[32]);

#endif
