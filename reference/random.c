/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "reference/random.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

static uint64_t splitmix(uint64_t *x) {
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

random_stream random_stream_start(uint64_t seed) {
    random_stream stream;
    for (int i = 0; i < 4; i++)
        stream.state[i] = splitmix(&seed);
    return stream;
}

uint64_t random_stream_next(random_stream *stream) {
    uint64_t *state = stream->state;
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

/* Elements drawn from a table of the values, as rounding one takes long: four of each number. */
static bool draw(random_stream *stream, tdm_dtype dtype, int64_t count, double low, double high,
                 unsigned char *elements) {
    enum { VALUES = 65536 };
    const size_t size = dtype_size(dtype);
    unsigned char *table = malloc(VALUES * size);
    if (!table) return false;
    for (int i = 0; i < VALUES; i++) {
        encode(dtype, (long double)(low + (high - low) * i / (double)VALUES),
               table + (size_t)i * size);
    }
    uint64_t bits = 0;
    for (int64_t i = 0; i < count; i++) {
        bits = i % 4 == 0 ? random_stream_next(stream) : bits >> 16;
        memcpy(elements + (size_t)i * size, table + (bits % VALUES) * size, size);
    }
    free(table);
    return true;
}

bool random_fill(uint64_t seed, tdm_dtype dtype, int64_t count, double low, double high,
                 void *elements) {
    random_stream stream = random_stream_start(seed);
    const size_t size = dtype_size(dtype);
    if (size <= 2) return draw(&stream, dtype, count, low, high, elements);
    const double step = (high - low) * 0x1p-53;
    for (int64_t i = 0; i < count; i++) {
        const double x = low + step * (double)(random_stream_next(&stream) >> 11);
        if (dtype == TDM_F32)
            ((float *)elements)[i] = (float)x;
        else if (dtype == TDM_F64)
            ((double *)elements)[i] = x;
        else
            encode(dtype, (long double)x, (unsigned char *)elements + (size_t)i * size);
    }
    return true;
}
