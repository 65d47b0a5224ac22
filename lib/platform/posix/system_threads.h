/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* POSIX threads under the names of platform/threads.h, which says what each does. */
#ifndef TDMI_SYSTEM_THREADS_H
#define TDMI_SYSTEM_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef pthread_mutex_t tdmi_mutex;
typedef pthread_cond_t tdmi_cond;
typedef pthread_once_t tdmi_once;
typedef pthread_key_t tdmi_key;
typedef pthread_t tdmi_thread;

#define TDMI_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define TDMI_ONCE_INIT PTHREAD_ONCE_INIT
enum { TDMI_EXIT_KEEPS_THREADS = true };

static inline bool tdmi_mutex_init(tdmi_mutex *mutex) {
    return pthread_mutex_init(mutex, NULL) == 0;
}
static inline void tdmi_mutex_destroy(tdmi_mutex *mutex) { (void)pthread_mutex_destroy(mutex); }
static inline void tdmi_mutex_lock(tdmi_mutex *mutex) { (void)pthread_mutex_lock(mutex); }
static inline bool tdmi_mutex_trylock(tdmi_mutex *mutex) {
    return pthread_mutex_trylock(mutex) == 0;
}
static inline void tdmi_mutex_unlock(tdmi_mutex *mutex) { (void)pthread_mutex_unlock(mutex); }

static inline void tdmi_cond_destroy(tdmi_cond *cond) { (void)pthread_cond_destroy(cond); }
static inline void tdmi_cond_wait(tdmi_cond *cond, tdmi_mutex *held) {
    (void)pthread_cond_wait(cond, held);
}
static inline void tdmi_cond_broadcast(tdmi_cond *cond) { (void)pthread_cond_broadcast(cond); }

static inline void tdmi_once_run(tdmi_once *once, void (*function)(void)) {
    (void)pthread_once(once, function);
}

static inline void *tdmi_key_get(tdmi_key key) { return pthread_getspecific(key); }
static inline bool tdmi_key_set(tdmi_key key, void *pointer) {
    return pthread_setspecific(key, pointer) == 0;
}

static inline int tdmi_cancel_forbid(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}
static inline void tdmi_cancel_allow(int before) {
    int unused;
    (void)pthread_setcancelstate(before, &unused);
}

#endif
