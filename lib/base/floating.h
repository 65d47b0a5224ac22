/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The floating-point state in which the library computes, whatever its caller's is: rounding to nearest, subnormals
 * kept, no traps. Another library may have set the thread to flush subnormals to zero, or to round upwards. */
#ifndef TDMI_FLOATING_H
#define TDMI_FLOATING_H

#if defined(__x86_64__)
/* MXCSR without its flags of what has happened; x87 computes nothing here. */
typedef unsigned tdmi_floating;
enum { TDMI_FLOATING_DEFAULT = 0x1f80, TDMI_FLOATING_FLAGS = 0x3f };

static inline tdmi_floating tdmi_floating_enter(void) {
    const tdmi_floating before = __builtin_ia32_stmxcsr();
    if ((before & ~(unsigned)TDMI_FLOATING_FLAGS) != TDMI_FLOATING_DEFAULT)
        __builtin_ia32_ldmxcsr(TDMI_FLOATING_DEFAULT);
    return before;
}

static inline void tdmi_floating_leave(tdmi_floating before) {
    if ((before & ~(unsigned)TDMI_FLOATING_FLAGS) != TDMI_FLOATING_DEFAULT)
        __builtin_ia32_ldmxcsr(before);
}
#elif defined(__aarch64__)
typedef unsigned long long tdmi_floating; /* FPCR */

static inline tdmi_floating tdmi_floating_enter(void) {
    tdmi_floating before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    if (before != 0) __asm__ volatile("msr fpcr, %0" : : "r"(0ull));
    return before;
}

static inline void tdmi_floating_leave(tdmi_floating before) {
    if (before != 0) __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#else
#include <fenv.h>
typedef fenv_t tdmi_floating;

static inline tdmi_floating tdmi_floating_enter(void) {
    tdmi_floating before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV);
    return before;
}

static inline void tdmi_floating_leave(tdmi_floating before) { (void)fesetenv(&before); }
#endif

#endif
