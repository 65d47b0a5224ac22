/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <stdlib.h>
#include <time.h>

#include "platform/clock.h"
#include "platform/process.h"
#include "reference/random.h"

static uint64_t seed_in_use;
static random_stream stream;

void random_start(void) {
    const char *text = getenv("TDM_TEST_SEED");
    if (text && *text) {
        seed_in_use = strtoull(text, NULL, 0);
    } else {
        seed_in_use =
            (uint64_t)time(NULL) * 1000000007u + tdmi_nanoseconds() + (tdmi_process_id() << 40);
    }
    stream = random_stream_start(seed_in_use);
}

uint64_t random_seed(void) { return seed_in_use; }

uint64_t random_bits(void) { return random_stream_next(&stream); }

double random_uniform(double lo, double hi) {
    return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

int64_t random_integer(int64_t lo, int64_t hi) {
    return lo + (int64_t)(random_bits() % ((uint64_t)(hi - lo) + 1));
}

void random_bytes(void *bytes, uint64_t size) {
    unsigned char *out = bytes;
    for (uint64_t i = 0; i < size; i++)
        out[i] = (unsigned char)(random_bits() >> 32);
}
