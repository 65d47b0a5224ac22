/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which card a listed device is: its UUID and its address on the bus. */
#ifndef TDMI_IDENTITY_H
#define TDMI_IDENTITY_H

#include "backend.h"

/* Whether two entries of the list are one card. */
bool tdmi_is_same_device(const tdmi_listed_device *devices, size_t count, size_t a, size_t b);

/* Whether a text is the device's UUID: its digits in either case, after "GPU-" or "MIG-" (or what
 * the device's own text begins with) or alone, as CUDA and clinfo print them. */
bool tdmi_has_uuid(const tdm_device_info *info, const char *text);

#endif
