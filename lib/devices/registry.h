/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The list of devices, made at the first call; nothing is opened for it. */
#ifndef TDMI_REGISTRY_H
#define TDMI_REGISTRY_H

#include "backend.h"

/* Every backend that was built, in the order of `auto`. */
extern const tdmi_backend *const tdmi_backends[];
extern const size_t tdmi_backend_count;

/* The i-th backend of the selection (tdmi_env.backends). */
const tdmi_backend *tdmi_registry_backend(size_t i);

/* TANDEM_BACKEND has not left the backend of this name out. */
bool tdmi_registry_selects(const char *backend);

/* The listed devices, which are never freed. Each keeps its index, and more may follow, where
 * something failed by accident before. Any thread. */
tdm_status tdmi_registry_get(const tdmi_listed_device **devices, size_t *count) TDM_MUST_USE;

/* The wanted-th physical GPU in the order of the list: an entry counts unless an earlier GPU
 * is the same card. False when there are not that many; *seen is then how many there are. The list
 * has been made. */
bool tdmi_registry_gpu(size_t wanted, size_t *index, size_t *seen);

/* Resolves a name (NULL: the default device) to an index of the list. */
tdm_status tdmi_registry_find(const char *name, size_t *index) TDM_MUST_USE;

/* The reason that this is the default device, in words that follow its id and a comma. */
const char *tdmi_registry_why(const tdm_device_info *chosen);

#endif
