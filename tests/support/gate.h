/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Where threads wait until all of them have come. */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include <stdatomic.h>

#include "platform/threads.h"

typedef atomic_int gate; /* 0 at first */

static inline void gate_pass(gate *g, int threads) {
    atomic_fetch_add(g, 1);
    while (atomic_load(g) < threads)
        tdmi_thread_yield();
}

#endif
