/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Timing two ways to do the same work in turn, so that a disturbance of the machine meets both. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdbool.h>

#include "rows/stats.h"

/* The calls of a sample. Sets are the buffers to rotate over; a call with one set ignores the number. */
typedef struct bench_timed {
    void *state;
    bool (*call)(void *state,
                 unsigned set);  /* does or queues the work once; NULL: nothing to time */
    bool (*finish)(void *state); /* waits for it; NULL: call has waited */
    /* instead of both: seconds of a call, over so many; negative on failure */
    double (*sample)(void *state, int calls);
    unsigned sets, next_set;
    char name[48]; /* of a baseline */
    void (*destroy)(void *state);
} bench_timed;

/* How much to measure. */
typedef struct bench_pace {
    double seconds; /* to spend on the samples of one case */
    int max_pairs;  /* of samples */
} bench_pace;

enum { BENCH_MAX_SAMPLES = 64 };

typedef struct bench_times {
    bench_stats tandem, baseline; /* seconds of one call */
    int count;                    /* of the samples, in the order in which they were taken */
    double samples[BENCH_MAX_SAMPLES], baseline_samples[BENCH_MAX_SAMPLES];
} bench_times;

typedef enum bench_outcome {
    BENCH_TIMED,
    BENCH_TANDEM_FAILED,
    BENCH_BASELINE_FAILED
} bench_outcome;

/* Seconds of a call, over `calls` of them and one finish; negative on failure. */
double bench_sample(bench_timed *timed, int calls);

/* Warms both up, finds how many calls fill a sample, then takes samples in turn. Without a
 * baseline's call times->baseline is untouched and its samples are NaN. */
bench_outcome bench_time(const bench_pace *pace, bench_timed *tandem, bench_timed *baseline,
                         bench_times *times);

#endif
