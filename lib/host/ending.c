/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Keeps BLAS libraries from being used while the process ends and they take themselves down. */
#define _GNU_SOURCE
#include "host/ending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/env.h"

/* Held for reading by uses, and for writing to wait for them. Writers first where the C library
 * supports that, or products without a pause would hold up the process's end. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t running = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
static pthread_rwlock_t running = PTHREAD_RWLOCK_INITIALIZER;
#endif

static atomic_bool ending, gave_up;
static _Atomic uint64_t
    kinds[TDMI_HOST_BLAS_COUNT]; /* of uses that there have been, a bit for each */
static _Thread_local bool in_use;

/* From here on libraries are not used. Waits a few seconds for uses in progress, once. A thread that ends
 * the process from inside one, in a signal handler, does not wait. */
static void wait_for_uses(void) {
    enum { SECONDS = 5 };
    struct timespec until;
    atomic_store(&ending, true);
    if (tdmi_forked || in_use || atomic_load(&gave_up) ||
        clock_gettime(CLOCK_REALTIME, &until) != 0)
        return;
    until.tv_sec += SECONDS;
    if (pthread_rwlock_timedwrlock(&running, &until) == 0)
        pthread_rwlock_unlock(&running);
    else
        atomic_store(&gave_up, true);
}

/* For libraries that end by destructors: this comes before those of libraries opened later. */
__attribute__((destructor)) static void end(void) { wait_for_uses(); }

bool tdmi_use_begin(void) {
    in_use = true;
    if (pthread_rwlock_rdlock(&running) == 0) {
        if (!atomic_load(&ending)) return true;
        pthread_rwlock_unlock(&running);
    }
    in_use = false;
    return false;
}

/* What a library in C++ makes at its first use of a kind ends by a function that exit() calls before all
 * that were registered earlier. So ours is registered after it. */
void tdmi_use_end(tdmi_blas_id library, unsigned kind) {
    const uint64_t bit = UINT64_C(1) << kind;
    if ((atomic_load_explicit(&kinds[library], memory_order_relaxed) & bit) == 0 &&
        (atomic_fetch_or(&kinds[library], bit) & bit) == 0)
        (void)atexit(wait_for_uses);
    pthread_rwlock_unlock(&running);
    in_use = false;
}
