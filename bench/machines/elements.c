/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operands whose elements every rank can work out by itself. */
#include <math.h>
#include <stdlib.h>

#include "cases.h"

double machines_element(int which, int64_t i, int64_t j) {
    uint64_t h = ((uint64_t)i << 32 ^ (uint64_t)j ^ (uint64_t)which << 60) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
    return (double)(int64_t)(h & 0xffff) / 32768 - 1;
}

static void put(void *at, tdm_dtype dtype, int64_t i, double value) {
    if (dtype == TDM_F64)
        ((double *)at)[i] = value;
    else
        ((float *)at)[i] = (float)value;
}

void *machines_fill(tdm_dtype dtype, int which, const int64_t first[2], const int64_t shape[2],
                    bool by_columns) {
    void *memory = malloc((size_t)(shape[0] * shape[1] + 1) * tdm_dtype_size(dtype));
    if (!memory) return NULL;
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t j = 0; j < shape[1]; j++)
            put(memory, dtype, by_columns ? j * shape[0] + i : i * shape[1] + j,
                which < 0 ? (double)NAN : machines_element(which, first[0] + i, first[1] + j));
    return memory;
}

bool machines_make(tdm_queue *queue, tdm_dtype dtype, int which, const int64_t first[2],
                   const int64_t shape[2], tdm_tensor *tensor) {
    void *memory = machines_fill(dtype, which, first, shape, false);
    const bool good = memory && tdm_from_host(queue, memory, dtype, 2, shape, tensor) == TDM_OK;
    free(memory);
    return good;
}
