/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which cases are the peaks of a device: moving bytes, launching, products. */
#ifndef BENCH_PEAKS_H
#define BENCH_PEAKS_H

#include "cases/case.h"
#include "rows/peak.h"

enum { BENCH_PEAKS = 8 };

/* The peaks of a device, to be measured, and their cases. */
void bench_peaks_of(const tdm_device_info *device, bench_case cases[BENCH_PEAKS],
                    bench_peak peaks[BENCH_PEAKS]);

#endif
