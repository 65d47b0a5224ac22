/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The hash of the project: FNV-1a of 64 bits, by Fowler, Noll and Vo (draft-eastlake-fnv). It finds damage
 * and keeps things apart; it does not protect against attacks. */
#ifndef TDMI_HASH_H
#define TDMI_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TDMI_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what gave `hash` so far (TDMI_HASH_START: nothing), followed by these bytes. */
static inline uint64_t tdmi_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Of a struct without padding, by whole words: for what each call waits for. */
static inline uint64_t tdmi_hash_words(const void *data, size_t size) {
    uint64_t hash = TDMI_HASH_START;
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
        uint64_t word;
        memcpy(&word, (const char *)data + i * sizeof word, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 32;
}

#endif
