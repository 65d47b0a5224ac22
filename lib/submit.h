/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The way of operations to the backend: what a queue is given runs, or is recorded where the queue records a
 * graph. */
#ifndef TDMI_SUBMIT_H
#define TDMI_SUBMIT_H

#include "core.h"

/* A kernel over `groups` groups; the variant is complete. */
tdm_status tdmi_submit_launch(tdm_queue *queue, tdmi_variant variant, uint32_t groups,
                              const tdmi_mem *const *mems, const void *args) TDM_MUST_USE;

tdm_status tdmi_submit_fill(tdm_queue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                            const void *pattern, size_t pattern_size) TDM_MUST_USE;

/* Within the device. */
tdm_status tdmi_submit_copy(tdm_queue *queue, const tdmi_mem *source, size_t source_offset,
                            const tdmi_mem *destination, size_t destination_offset,
                            size_t size) TDM_MUST_USE;

#endif
