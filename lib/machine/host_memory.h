/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's own memory. */
#ifndef TDMI_HOST_MEMORY_H
#define TDMI_HOST_MEMORY_H

#include <stdint.h>

/* Bytes in all, and bytes that a program could have without swapping: what the system would give back
 * at need (caches) is among them. TDM_UNKNOWN where the system does not tell. Any thread. */
void tdmi_host_memory(uint64_t *total, uint64_t *available);

#endif
