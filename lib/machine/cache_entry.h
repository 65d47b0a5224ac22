/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The description of a kept kernel: a text after its binary, for people and for tidying up. */
#ifndef TDMI_CACHE_ENTRY_H
#define TDMI_CACHE_ENTRY_H

#include "machine/disk_cache.h"

/* How entries name a device. Kernels: by its cache_key, or name and API where it has none, as it compiles nothing.
 * Measurements are kept by the device and its driver, on which compiled kernels may not depend. */
enum { TDMI_CACHE_DEVICE = 512 };
void tdmi_cache_device(const tdmi_device_facts *facts, char text[TDMI_CACHE_DEVICE]);
void tdmi_cache_measured_device(const tdmi_device_facts *facts, char text[TDMI_CACHE_DEVICE]);

typedef struct tdmi_cache_about {
    const char *backend, *device; /* the backend's name, and the device's */
    const tdmi_program_source *source;
} tdmi_cache_about;

/* tdmi_disk_cache_read and _write for kernels. The blob is the driver's binary alone. */
tdmi_cache_result tdmi_cache_read_kernel(tdmi_cache_key key, tdmi_blob *binary);
void tdmi_cache_write_kernel(tdmi_cache_key key, const tdmi_blob *binary,
                             const tdmi_cache_about *about);

/* Takes the text off a blob: its five lines (version, backend, device, kernel, options) as five
 * texts in the blob's own memory. False when there is none. */
enum { TDMI_CACHE_LINES = 5 };
bool tdmi_cache_split(tdmi_blob *blob, char *lines[TDMI_CACHE_LINES]);

#endif
