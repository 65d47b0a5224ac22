/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Values in host memory: random inputs, and elements of any dtype as double. */
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tensor.h>

/* xorshift64*; the state is never 0. */
typedef struct bench_random {
    uint64_t state;
} bench_random;

bench_random bench_random_seed(uint64_t seed);
uint64_t bench_random_next(bench_random *random);

/* Fills `count` elements of a float dtype with values uniform in [low, high), rounded to it. */
void bench_fill_random(void *data, tdm_dtype dtype, int64_t count, double low, double high,
                       uint64_t seed);

/* Element i, exactly. */
double bench_value(const void *data, tdm_dtype dtype, int64_t i);

/* The machine epsilon of a float dtype (1 to the next number), and a number below which its
 * rounding errors are absolute: the smallest one of f16, the smallest normal one elsewhere (devices
 * may flush). */
double bench_epsilon(tdm_dtype dtype);
double bench_smallest(tdm_dtype dtype);

/* No NaN and no infinity among `count` elements? */
bool bench_all_finite(const void *data, tdm_dtype dtype, int64_t count);

#endif
