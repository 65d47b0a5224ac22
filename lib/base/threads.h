/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What threads are owed: a call of the library's that is not cut short, and threads of ours that
 * stay out of the way. */
#ifndef TDMI_THREADS_H
#define TDMI_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* First line of every public function that takes a lock, opens a file or calls a driver: the thread
 * cannot be cancelled before the function returns. Most of what these do is a cancellation point,
 * and a thread that ended in one would leave locks taken and files open, drivers' among them. */
#define TDMI_UNCANCELLED()                                                                         \
    __attribute__((cleanup(tdmi_allow_cancel), unused)) const int tdmi_cancel_state_ =             \
        tdmi_forbid_cancel()

static inline int tdmi_forbid_cancel(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void tdmi_allow_cancel(const int *before) {
    int unused;
    (void)pthread_setcancelstate(*before, &unused);
}

/* Holds a mutex until the block ends. */
#define TDMI_LOCKED(mutex)                                                                         \
    __attribute__((cleanup(tdmi_unlock), unused)) pthread_mutex_t *const tdmi_locked_ =            \
        tdmi_lock(mutex)

static inline pthread_mutex_t *tdmi_lock(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    return mutex;
}

static inline void tdmi_unlock(pthread_mutex_t *const *mutex) { pthread_mutex_unlock(*mutex); }

/* Makes a thread that takes none of the process's signals: they are for the threads of the program.
 * `thread` is NULL for one that will not be joined. False when there cannot be another thread. */
bool tdmi_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

#endif
