/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads, locks and conditions of Windows. */
#include "platform/threads.h"

#include <process.h>
#include <stdlib.h>

#include "platform/clock.h"
#include "win.h"

_Static_assert(sizeof(tdmi_mutex) == sizeof(SRWLOCK), "a lock is a pointer");
_Static_assert(sizeof(tdmi_cond) == sizeof(CONDITION_VARIABLE), "a condition is a pointer");
_Static_assert(sizeof(tdmi_once) == sizeof(INIT_ONCE), "a once is a pointer");

static SRWLOCK *lock_of(tdmi_mutex *mutex) { return (SRWLOCK *)(void *)mutex; }
static CONDITION_VARIABLE *condition_of(tdmi_cond *cond) {
    return (CONDITION_VARIABLE *)(void *)cond;
}

void tdmi_win_lock(tdmi_mutex *mutex) { AcquireSRWLockExclusive(lock_of(mutex)); }

bool tdmi_win_try_lock(tdmi_mutex *mutex) { return TryAcquireSRWLockExclusive(lock_of(mutex)); }

void tdmi_win_unlock(tdmi_mutex *mutex) { ReleaseSRWLockExclusive(lock_of(mutex)); }

bool tdmi_cond_init(tdmi_cond *cond) {
    cond->variable = NULL;
    return true;
}

void tdmi_win_wait(tdmi_cond *cond, tdmi_mutex *held) {
    (void)SleepConditionVariableSRW(condition_of(cond), lock_of(held), INFINITE, 0);
}

/* In milliseconds, rounded up. A wait too long for them ends early, which waits may do. */
bool tdmi_cond_wait_for(tdmi_cond *cond, tdmi_mutex *held, uint64_t nanoseconds) {
    const uint64_t wanted = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
    const DWORD time = wanted < INFINITE - 1 ? (DWORD)wanted : INFINITE - 1;
    return SleepConditionVariableSRW(condition_of(cond), lock_of(held), time, 0) || time < wanted;
}

void tdmi_win_wake_all(tdmi_cond *cond) { WakeAllConditionVariable(condition_of(cond)); }

/* ---- once ---- */

typedef struct call {
    void (*function)(void);
} call;

static BOOL CALLBACK run_call(INIT_ONCE *once, void *context, void **unused) {
    (void)once, (void)unused;
    ((call *)context)->function();
    return TRUE;
}

void tdmi_win_once(tdmi_once *once, void (*function)(void)) {
    call made = {function};
    (void)InitOnceExecuteOnce((INIT_ONCE *)(void *)once, run_call, &made, NULL);
}

/* ---- what each thread has ---- */

/* A destructor gets the pointer alone, so that it is not known which key it is for: each has a function here. At the
 * process's end the last thread's are called when the others have been ended, perhaps with a lock: nothing is done. */
enum { KEYS = 4 };
static void (*destructors[KEYS])(void *pointer);
static LONG key_count;

BOOLEAN NTAPI RtlDllShutdownInProgress(void);

static void end(int key, void *pointer) {
    if (pointer && !RtlDllShutdownInProgress()) destructors[key](pointer);
}
static void CALLBACK end_0(void *pointer) { end(0, pointer); }
static void CALLBACK end_1(void *pointer) { end(1, pointer); }
static void CALLBACK end_2(void *pointer) { end(2, pointer); }
static void CALLBACK end_3(void *pointer) { end(3, pointer); }

bool tdmi_key_create(tdmi_key *key, void (*destroy)(void *pointer)) {
    static const PFLS_CALLBACK_FUNCTION ends[KEYS] = {end_0, end_1, end_2, end_3};
    const LONG number = InterlockedIncrement(&key_count) - 1;
    if (number >= KEYS) return false;
    destructors[number] = destroy;
    *key = FlsAlloc(destroy ? ends[number] : NULL);
    return *key != FLS_OUT_OF_INDEXES;
}

void *tdmi_win_get(tdmi_key key) { return FlsGetValue(key); }

bool tdmi_win_set(tdmi_key key, void *pointer) { return FlsSetValue(key, pointer); }

/* ---- threads ---- */

typedef struct beginning {
    void *(*run)(void *context);
    void *context;
} beginning;

static unsigned __stdcall begin(void *given) {
    const beginning what = *(beginning *)given;
    free(given);
    (void)what.run(what.context);
    return 0;
}

bool tdmi_thread_start(tdmi_thread *thread, void *(*run)(void *context), void *context) {
    beginning *what = malloc(sizeof *what);
    if (!what) return false;
    *what = (beginning){run, context};
    const uintptr_t handle = _beginthreadex(NULL, 0, begin, what, 0, NULL);
    if (!handle) {
        free(what);
        return false;
    }
    if (thread)
        *thread = (tdmi_thread)handle;
    else
        CloseHandle((HANDLE)handle);
    return true;
}

void tdmi_thread_join(tdmi_thread thread) {
    (void)WaitForSingleObject((HANDLE)thread, INFINITE);
    CloseHandle((HANDLE)thread);
}

uint64_t tdmi_thread_id(void) { return GetCurrentThreadId(); }

void tdmi_thread_yield(void) { (void)SwitchToThread(); }
