/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman & Vigna 2018), its state filled by splitmix64. */
#include "random.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t seed_in_use;
static uint64_t state[4];

static uint64_t splitmix(uint64_t *x) {
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

void random_start(void) {
    const char *text = getenv("TDM_TEST_SEED");
    if (text && *text) {
        seed_in_use = strtoull(text, NULL, 0);
    } else {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed_in_use =
            (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40);
    }
    uint64_t x = seed_in_use;
    for (int i = 0; i < 4; i++) {
        state[i] = splitmix(&x);
    }
}

uint64_t random_seed(void) { return seed_in_use; }

uint64_t random_bits(void) {
    uint64_t result = rotate(state[1] * 5, 7) * 9;
    uint64_t t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate(state[3], 45);
    return result;
}

double random_uniform(double lo, double hi) {
    return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

int64_t random_integer(int64_t lo, int64_t hi) {
    return lo + (int64_t)(random_bits() % ((uint64_t)(hi - lo) + 1));
}

void random_bytes(void *bytes, uint64_t size) {
    unsigned char *out = bytes;
    for (uint64_t i = 0; i < size; i++) {
        out[i] = (unsigned char)(random_bits() >> 32);
    }
}
