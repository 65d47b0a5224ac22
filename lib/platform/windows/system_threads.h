/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Windows' threads under the names of platform/threads.h, which says what each does. Windows' own header, with its many
 * short macros, is for this folder alone: a lock, a condition and a once are a pointer each, NULL at first. */
#ifndef TDMI_SYSTEM_THREADS_H
#define TDMI_SYSTEM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tdmi_mutex {
    void *slim; /* an SRWLOCK */
} tdmi_mutex;
typedef struct tdmi_cond {
    void *variable; /* a CONDITION_VARIABLE */
} tdmi_cond;
typedef struct tdmi_once {
    void *state; /* an INIT_ONCE */
} tdmi_once;
typedef uint32_t tdmi_key;    /* an index of fibers' storage, which alone calls destructors */
typedef intptr_t tdmi_thread; /* a handle */

/* clang-format off */
#define TDMI_MUTEX_INIT {NULL}
#define TDMI_ONCE_INIT {NULL}
/* clang-format on */
enum { TDMI_EXIT_KEEPS_THREADS = false };

void tdmi_win_lock(tdmi_mutex *mutex);
bool tdmi_win_try_lock(tdmi_mutex *mutex);
void tdmi_win_unlock(tdmi_mutex *mutex);
void tdmi_win_wait(tdmi_cond *cond, tdmi_mutex *held);
void tdmi_win_wake_all(tdmi_cond *cond);
void tdmi_win_once(tdmi_once *once, void (*function)(void));
void *tdmi_win_get(tdmi_key key);
bool tdmi_win_set(tdmi_key key, void *pointer);

static inline bool tdmi_mutex_init(tdmi_mutex *mutex) {
    mutex->slim = NULL;
    return true;
}
static inline void tdmi_mutex_destroy(tdmi_mutex *mutex) { (void)mutex; }
static inline void tdmi_mutex_lock(tdmi_mutex *mutex) { tdmi_win_lock(mutex); }
static inline bool tdmi_mutex_trylock(tdmi_mutex *mutex) { return tdmi_win_try_lock(mutex); }
static inline void tdmi_mutex_unlock(tdmi_mutex *mutex) { tdmi_win_unlock(mutex); }

static inline void tdmi_cond_destroy(tdmi_cond *cond) { (void)cond; }
static inline void tdmi_cond_wait(tdmi_cond *cond, tdmi_mutex *held) { tdmi_win_wait(cond, held); }
static inline void tdmi_cond_broadcast(tdmi_cond *cond) { tdmi_win_wake_all(cond); }

static inline void tdmi_once_run(tdmi_once *once, void (*function)(void)) {
    tdmi_win_once(once, function);
}

static inline void *tdmi_key_get(tdmi_key key) { return tdmi_win_get(key); }
static inline bool tdmi_key_set(tdmi_key key, void *pointer) { return tdmi_win_set(key, pointer); }

static inline int tdmi_cancel_forbid(void) { return 0; }
static inline void tdmi_cancel_allow(int before) { (void)before; }

#endif
