/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The random streams of ops.h, from their definitions and without the library. */
#ifndef REFERENCE_PHILOX_H
#define REFERENCE_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tensor.h>

/* Philox 4x32-10: a block of four words. */
void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* Element `number` of a seed's stream, as stored: uniform in [low, high), or an integer dtype's
 * whole range. */
void philox_uniform(uint64_t seed, uint64_t number, tdm_dtype dtype, double low, double high,
                    void *bytes);

/* The same of the standard normal distribution, before it is rounded. */
long double philox_normal(uint64_t seed, uint64_t number, tdm_dtype dtype);

#endif
