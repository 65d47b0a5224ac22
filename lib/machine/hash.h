/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The hash of the project: FNV-1a of 64 bits, by Fowler, Noll and Vo (draft-eastlake-fnv). It finds damage
 * and tells things apart; it does not protect against anybody. cuda/blas_plan.c takes whole words with it,
 * as each product waits for that. */
#ifndef TDMI_HASH_H
#define TDMI_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TDMI_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what gave `hash` so far (TDMI_HASH_START: nothing), followed by these bytes. */
static inline uint64_t tdmi_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
