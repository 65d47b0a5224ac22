/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Philox after Salmon et al. (SC 2011), and the streams of ops.h made of it. */
#include "reference/philox.h"

#include <math.h>
#include <string.h>

#include "reference/values.h"

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]) {
    uint32_t k[2] = {key[0], key[1]};
    memcpy(words, counter, 4 * sizeof *words);
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)words[0] * 0xd2511f53u;
        uint64_t right = (uint64_t)words[2] * 0xcd9e8d57u;
        uint32_t next[4] = {(uint32_t)(right >> 32) ^ words[1] ^ k[0], (uint32_t)right,
                            (uint32_t)(left >> 32) ^ words[3] ^ k[1], (uint32_t)left};
        memcpy(words, next, sizeof next);
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
}

/* The words of the block that holds an element, and which element of it that is. */
static unsigned block_of(uint64_t seed, uint64_t number, tdm_dtype dtype, uint32_t words[4]) {
    unsigned per_block = dtype_size(dtype) == 8 ? 2 : 4;
    uint64_t block = number / per_block;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), per_block == 2, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox(counter, key, words);
    return (unsigned)(number % per_block);
}

static uint64_t pair(const uint32_t *words) { return (uint64_t)words[1] << 32 | words[0]; }

void philox_uniform(uint64_t seed, uint64_t number, tdm_dtype dtype, double low, double high,
                    void *bytes) {
    uint32_t words[4];
    unsigned which = block_of(seed, number, dtype, words);
    uint64_t wide = pair(words + which % 2 * 2);
    uint32_t word = words[which];
    if (dtype == TDM_BOOL) {
        encode_integer(dtype, word >> 31, bytes);
    } else if (!dtype_is_float(dtype)) { /* the top bits of a word, or two words */
        size_t size = dtype_size(dtype);
        encode_integer(dtype, size == 8 ? wide : word >> (32 - 8 * size), bytes);
    } else if (dtype == TDM_F64) {
        double v = fma(ldexp((double)(wide >> 11), -53), high - low, low);
        memcpy(bytes, &v, sizeof v);
    } else {
        int bits = dtype == TDM_F32 ? 24 : dtype == TDM_F16 ? 11 : 8;
        float fraction = ldexpf((float)(word >> (32 - bits)), -bits);
        encode(dtype, (long double)fmaf(fraction, (float)(high - low), (float)low), bytes);
    }
}

static const long double two_pi = 6.283185307179586476925286766559005768L;

long double philox_normal(uint64_t seed, uint64_t number, tdm_dtype dtype) {
    uint32_t words[4];
    unsigned which = block_of(seed, number, dtype, words);
    long double u, v; /* v in turns, after whole quarters are taken away and it is rounded */
    int quarter;
    if (dtype == TDM_F64) {
        double w = (double)pair(words);
        u = ldexpl((long double)(w < 0.5 ? 0.5 : w), -64);
        uint64_t turn = pair(words + 2);
        quarter = (int)((turn + ((uint64_t)1 << 61)) >> 62);
        v = ldexpl((long double)(double)(int64_t)(turn - ((uint64_t)quarter << 62)), -64);
    } else {
        const uint32_t *two = words + which / 2 * 2;
        float w = (float)two[0];
        u = ldexpl((long double)(w < 0.5f ? 0.5f : w), -32);
        quarter = (int)((two[1] + (UINT32_C(1) << 29)) >> 30);
        v = ldexpl((long double)(float)(int32_t)(two[1] - ((uint32_t)quarter << 30)), -32);
    }
    if (which % 2) quarter += 3; /* sin x = cos(x - a quarter) */
    long double wave = quarter % 2 ? sinl(two_pi * v) : cosl(two_pi * v);
    if (quarter % 4 == 1 || quarter % 4 == 2) wave = -wave;
    return sqrtl(-2 * logl(u)) * wave;
}
