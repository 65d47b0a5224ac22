/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads, and what they wait for each other by. The types are the system's, so that a lock costs what it costs there:
 * tdmi_mutex, tdmi_cond, tdmi_once, tdmi_key, tdmi_thread. Those of static storage are initialised by
 * TDMI_MUTEX_INIT and TDMI_ONCE_INIT. None is ever copied. */
#ifndef TDMI_PLATFORM_THREADS_H
#define TDMI_PLATFORM_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "system_threads.h"

/* TDMI_EXIT_KEEPS_THREADS, of system_threads.h: whether other threads still run while the process ends, in functions
 * of atexit() and in destructors. Where they were ended before, nothing may be waited for there: a lock that one of
 * them held is never released. */

/* A lock for one thread. Not recursive: a thread that has it must not lock it again. Held for short, and never over a
 * call of the program's functions. `init` fails when resources are short. */
static inline bool tdmi_mutex_init(tdmi_mutex *mutex);
static inline void tdmi_mutex_destroy(tdmi_mutex *mutex);
static inline void tdmi_mutex_lock(tdmi_mutex *mutex);
static inline bool tdmi_mutex_trylock(tdmi_mutex *mutex); /* false: another thread has it */
static inline void tdmi_mutex_unlock(tdmi_mutex *mutex);

/* Threads wait for a change of what a mutex guards. They may wake without one. */
bool tdmi_cond_init(tdmi_cond *cond);
static inline void tdmi_cond_destroy(tdmi_cond *cond);
static inline void tdmi_cond_wait(tdmi_cond *cond, tdmi_mutex *held);
static inline void tdmi_cond_broadcast(tdmi_cond *cond);
/* False when that time has passed, by the clock of tdmi_nanoseconds. */
bool tdmi_cond_wait_for(tdmi_cond *cond, tdmi_mutex *held, uint64_t nanoseconds);

/* Runs the function in the first thread that comes here; others wait until it has returned. */
static inline void tdmi_once_run(tdmi_once *once, void (*function)(void));

/* A pointer that each thread has for itself, NULL at first. A thread's end calls `destroy` with its pointer, if that is
 * not NULL, which it was set to before. `create` and `set` fail when resources are short. A key is never given back. */
bool tdmi_key_create(tdmi_key *key, void (*destroy)(void *pointer));
static inline void *tdmi_key_get(tdmi_key key);
static inline bool tdmi_key_set(tdmi_key key, void *pointer);

/* Makes a thread that takes no signal of the process, which are for the program's threads, but those of its faults.
 * `thread` is NULL for one that will not be joined. False when there cannot be another thread. */
bool tdmi_thread_start(tdmi_thread *thread, void *(*run)(void *context), void *context);
void tdmi_thread_join(tdmi_thread thread);

/* The system's number of the calling thread, as debuggers show it. */
uint64_t tdmi_thread_id(void);

/* Lets another thread have this core. */
void tdmi_thread_yield(void);

/* From forbid to allow, which gets what forbid returned, the calling thread is not cancelled (pthread_cancel). They
 * nest. Nothing where a system has no cancellation. */
static inline int tdmi_cancel_forbid(void);
static inline void tdmi_cancel_allow(int before);

/* Holds a mutex until the block ends. */
#define TDMI_LOCKED(mutex)                                                                         \
    __attribute__((cleanup(tdmi_unlock), unused)) tdmi_mutex *const tdmi_locked_ = tdmi_lock(mutex)

static inline tdmi_mutex *tdmi_lock(tdmi_mutex *mutex) {
    tdmi_mutex_lock(mutex);
    return mutex;
}

static inline void tdmi_unlock(tdmi_mutex *const *mutex) { tdmi_mutex_unlock(*mutex); }

#endif
