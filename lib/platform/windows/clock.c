/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Clocks. */
#include "platform/clock.h"

#include "win.h"

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2
#endif

enum { SECOND = 1000000000, MILLISECOND = 1000000 };

/* The frequency is fixed when the system starts. */
uint64_t tdmi_nanoseconds(void) {
    static uint64_t frequency; /* each thread that finds it 0 writes the same */
    LARGE_INTEGER number;
    uint64_t f = __atomic_load_n(&frequency, __ATOMIC_RELAXED);
    if (f == 0) {
        QueryPerformanceFrequency(&number);
        f = (uint64_t)number.QuadPart;
        __atomic_store_n(&frequency, f, __ATOMIC_RELAXED);
    }
    QueryPerformanceCounter(&number);
    const uint64_t ticks = (uint64_t)number.QuadPart;
    return ticks / f * SECOND + ticks % f * SECOND / f;
}

/* Sleep() alone rests until the next tick of the system, which may be 16 ms away. */
void tdmi_sleep(uint64_t nanoseconds) {
    const HANDLE timer =
        CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
    LARGE_INTEGER due = {.QuadPart = -(LONGLONG)(nanoseconds / 100)};
    if (timer && due.QuadPart < 0 && SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE))
        (void)WaitForSingleObject(timer, INFINITE);
    else {
        const uint64_t time = nanoseconds / MILLISECOND + (nanoseconds % MILLISECOND != 0);
        Sleep(time < INFINITE - 1 ? (DWORD)time : INFINITE - 1);
    }
    if (timer) CloseHandle(timer);
}
