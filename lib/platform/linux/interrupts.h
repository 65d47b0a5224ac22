/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Signals that ask the program to end, which come through only while something is waited for. */
#ifndef TDMI_INTERRUPTS_H
#define TDMI_INTERRUPTS_H

#include <poll.h>
#include <signal.h>

/* The signals that were blocked before they are caught, for a new process. */
void tdmi_interrupt_mask(sigset_t *mask);

/* ppoll, during which such signals come through. */
int tdmi_interrupt_poll(struct pollfd *ready, nfds_t count, double seconds);

#endif
