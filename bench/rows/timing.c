/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Samples: as many calls as take 10 ms, then one finish. */
#include "rows/timing.h"

#include <math.h>
#include <stddef.h>

#include "machine/clock.h"

/* A sample lasts at least this long, so that the clock and one finish cost little. */
static const double sample_seconds = 10e-3;
/* One call of this length has warmed up everything. */
static const double long_call = 0.5;
enum { MIN_PAIRS = 5, FEWEST_PAIRS = 3, WARM_UPS = 8 };
enum { MAX_CALLS = 1000000 };

double bench_sample(bench_timed *timed, int calls) {
    if (timed->sample) return timed->sample(timed->state, calls);
    bool good = true;
    const double start = bench_now();
    for (int i = 0; i < calls && good; i++) {
        const unsigned set = timed->next_set < timed->sets ? timed->next_set : 0;
        timed->next_set = set + 1;
        good = timed->call(timed->state, set);
    }
    if (good && timed->finish) good = timed->finish(timed->state);
    const double elapsed = bench_now() - start;
    return good ? elapsed / calls : -1.0;
}

static int next_calls(int calls, double seconds) {
    double wanted = sample_seconds / (seconds > 0.0 ? seconds : 1e-9);
    if (wanted > (double)MAX_CALLS) wanted = (double)MAX_CALLS;
    return wanted > calls ? (int)wanted + 1 : calls;
}

/* A call with each set of buffers, which are then where they stay: pages that a process shares with the one of
 * a baseline, as they are after fork, are copied when they are first written to. False on failure. */
static bool touch(bench_timed *timed) {
    double spent = 0.0;
    for (unsigned i = 0; i < timed->sets && spent < long_call; i++) {
        const double seconds = bench_sample(timed, 1);
        if (seconds < 0.0) return false;
        spent += seconds;
    }
    return true;
}

/* Finds how many calls fill a sample; this is the warm-up too, of two samples at least where calls
 * are short. 0 on failure. */
static int calibrate(bench_timed *timed) {
    int calls = 1;
    if (!touch(timed)) return 0;
    for (int i = 0, before = 0; i < WARM_UPS && calls != before; i++) {
        const double seconds = bench_sample(timed, calls);
        if (seconds < 0.0) return 0;
        before = i > 0 || seconds > long_call ? calls : 0;
        calls = next_calls(calls, seconds);
    }
    return calls;
}

bench_outcome bench_time(const bench_pace *pace, bench_timed *tandem, bench_timed *baseline,
                         bench_times *times) {
    double *seconds = times->samples, *baseline_seconds = times->baseline_samples;
    const int calls = calibrate(tandem);
    if (calls == 0) return BENCH_TANDEM_FAILED;
    const bool compared = baseline->call || baseline->sample;
    const int baseline_calls = compared ? calibrate(baseline) : 1;
    if (baseline_calls == 0) return BENCH_BASELINE_FAILED;
    int pairs = 0;
    const double start = bench_now();
    while (pairs < pace->max_pairs && pairs < BENCH_MAX_SAMPLES) {
        const double elapsed = bench_now() - start;
        if (pairs >= MIN_PAIRS && elapsed > pace->seconds) break;
        if (pairs >= FEWEST_PAIRS && elapsed > 4.0 * pace->seconds) break;
        seconds[pairs] = bench_sample(tandem, calls);
        if (seconds[pairs] < 0.0) return BENCH_TANDEM_FAILED;
        if (compared) {
            baseline_seconds[pairs] = bench_sample(baseline, baseline_calls);
            if (baseline_seconds[pairs] < 0.0) return BENCH_BASELINE_FAILED;
        } else {
            baseline_seconds[pairs] = (double)NAN;
        }
        pairs++;
    }
    times->count = pairs;
    times->tandem = bench_summarise(seconds, pairs);
    if (compared) times->baseline = bench_summarise(baseline_seconds, pairs);
    return BENCH_TIMED;
}
