/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Samples of how long something takes. */
#include "tune/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "platform/clock.h"

double tdmi_samples_now(void) { return 1e-9 * (double)tdmi_nanoseconds(); }

int tdmi_samples_runs(double seconds) {
    const int most = 1000;
    if (seconds * most <= TDMI_SAMPLE_SECONDS) return most;
    const int runs = (int)ceil(TDMI_SAMPLE_SECONDS / seconds);
    return runs < 1 ? 1 : runs;
}

static int compare(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double tdmi_samples_median(const double *samples, int count) {
    double sorted[TDMI_SAMPLES];
    memcpy(sorted, samples, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}
