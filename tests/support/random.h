/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the tests: one generator per process, seeded from TDM_TEST_SEED or the time.
 * The seed is printed by every test that starts and by every failure. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

/* Seeds the generator from TDM_TEST_SEED (any base that strtoull takes) or from the time. */
void random_start(void);

/* The seed in use. */
uint64_t random_seed(void);

uint64_t random_bits(void);

/* Uniform in [lo, hi). */
double random_uniform(double lo, double hi);

/* Uniform in [lo, hi], both included. */
int64_t random_integer(int64_t lo, int64_t hi);

/* Fills bytes. */
void random_bytes(void *bytes, uint64_t size);

#endif
