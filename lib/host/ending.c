/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Keeps BLAS libraries from being used while the process ends and they take themselves down. */
#include "host/ending.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/env.h"
#include "platform/clock.h"
#include "platform/threads.h"

static atomic_uint running; /* uses in progress */
static atomic_bool ending, gave_up;
static _Atomic uint64_t
    kinds[TDMI_HOST_BLAS_COUNT]; /* of uses that there have been, a bit for each */
static _Thread_local bool in_use;

/* From here on libraries are not used. Waits a few seconds for uses in progress, once. A thread that ends
 * the process from inside one, in a signal handler, does not wait. */
static void wait_for_uses(void) {
    enum { TRIES = 5000, NANOSECONDS = 1000000 };
    atomic_store(&ending, true);
    if (tdmi_forked || in_use || !TDMI_EXIT_KEEPS_THREADS || atomic_load(&gave_up)) return;
    for (int tries = 0; atomic_load(&running) > 0; tries++) {
        if (tries == TRIES) {
            atomic_store(&gave_up, true);
            return;
        }
        tdmi_sleep(NANOSECONDS);
    }
}

/* For libraries that end by destructors: this comes before those of libraries opened later. */
__attribute__((destructor)) static void end(void) { wait_for_uses(); }

static void leave(void) {
    atomic_fetch_sub(&running, 1);
    in_use = false;
}

/* Counted before it looks, as the end of the process looks after it has said so. */
bool tdmi_use_begin(void) {
    in_use = true;
    atomic_fetch_add(&running, 1);
    if (!atomic_load(&ending)) return true;
    leave();
    return false;
}

/* The objects that a C++ library makes at its first use of a kind are destroyed by a function that exit() calls before
 * all that were registered earlier. So ours is registered after it. */
void tdmi_use_end(tdmi_blas_id library, unsigned kind) {
    const uint64_t bit = UINT64_C(1) << kind;
    if ((atomic_load_explicit(&kinds[library], memory_order_relaxed) & bit) == 0 &&
        (atomic_fetch_or(&kinds[library], bit) & bit) == 0)
        (void)atexit(wait_for_uses);
    leave();
}
