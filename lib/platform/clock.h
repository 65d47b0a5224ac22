/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Time that passes. The calendar is C's: time(). */
#ifndef TDMI_PLATFORM_CLOCK_H
#define TDMI_PLATFORM_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that only runs forward. It may stand still while the machine sleeps. */
uint64_t tdmi_nanoseconds(void);

/* The calling thread rests for about that long; less when a signal comes. */
void tdmi_sleep(uint64_t nanoseconds);

#endif
