/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine: its memory, its processor. */
#ifndef TDMI_PLATFORM_MACHINE_H
#define TDMI_PLATFORM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes in all, and bytes that a program could have without swapping: what the system would give back at need (caches)
 * is among them. UINT64_MAX where the system does not tell. */
void tdmi_machine_memory(uint64_t *total, uint64_t *available);

/* The processor's name and its maker's, for people; never "". */
void tdmi_machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size);

/* Bytes of the cache that all cores share; 0 when unknown. */
uint64_t tdmi_machine_cache(void);

/* A text that differs where processors have other instructions, in pieces for `take`: machines that share a home may
 * differ in them alone. */
void tdmi_machine_instructions(void (*take)(void *context, const char *text), void *context);

#endif
