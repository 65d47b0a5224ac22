/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Signals that ask the program to end, which come through only while something is waited for. */
#ifndef TDMI_WISHES_H
#define TDMI_WISHES_H

#include <poll.h>
#include <signal.h>

/* The signals that were blocked before they are caught, for a new process. */
void tdmi_wish_mask(sigset_t *mask);

/* ppoll, during which such signals come through. */
int tdmi_wish_poll(struct pollfd *ready, nfds_t count, double seconds);

#endif
