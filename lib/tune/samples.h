/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Samples of how long something takes, as the measurements of products and of rows take them. */
#ifndef TDMI_SAMPLES_H
#define TDMI_SAMPLES_H

enum { TDMI_SAMPLES = 21, TDMI_LEAST_SAMPLES = 3 };

/* A sample takes so long at least, so that neither the clock nor a queue's end is measured. */
#define TDMI_SAMPLE_SECONDS 2e-3

/* After one run: what takes this many times as long as the fastest is not measured again. */
#define TDMI_HOPELESS 1.5

/* How much faster another way must be to take the place of the usual one. */
#define TDMI_WORTH 0.97

/* Seconds on a clock. */
double tdmi_samples_now(void);

/* How many runs of so many seconds make a sample. */
int tdmi_samples_runs(double seconds);

/* The median of up to TDMI_SAMPLES samples. */
double tdmi_samples_median(const double *samples, int count);

#endif
