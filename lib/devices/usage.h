/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The present state of a listed device. */
#ifndef TDMI_USAGE_H
#define TDMI_USAGE_H

#include "devices/registry.h"

/* Fills in *usage for one device of a list: tdm_get_listed_device_usage after its checks. */
void tdmi_usage_of(const tdmi_listed_device *devices, size_t index, tdm_device_usage *usage);

#endif
