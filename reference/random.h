/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random inputs: xoshiro256** (Blackman & Vigna 2018), its state filled by splitmix64. */
#ifndef REFERENCE_RANDOM_H
#define REFERENCE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tensor.h>

typedef struct random_stream {
    uint64_t state[4];
} random_stream;

/* A stream for each seed; near seeds have streams that are far apart. */
random_stream random_stream_start(uint64_t seed);
uint64_t random_stream_next(random_stream *stream);

/* Fills `count` elements of any dtype with values of a seed's stream, uniform in [low, high) and
 * rounded to the dtype; there are 65536 such values for a dtype of 16 bits. False when memory is
 * short. */
bool random_fill(uint64_t seed, tdm_dtype dtype, int64_t count, double low, double high,
                 void *elements);

#endif
