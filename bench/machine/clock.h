/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

/* Seconds of a monotonic clock. */
double bench_now(void);

#endif
