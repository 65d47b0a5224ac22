/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The checks that all movements of bytes share. */
#ifndef TDMI_TRANSFER_H
#define TDMI_TRANSFER_H

#include "core.h"

/* The queue, the buffer, the range inside it, and that both are of one device. Then the queue comes after
 * what may still use the memory (order.c). */
tdm_status tdmi_check_on_queue(const char *function, tdm_queue *queue, const tdm_buffer *buffer,
                               size_t offset, size_t size) TDM_MUST_USE;

/* The buffer is not read-only. */
tdm_status tdmi_check_writable(const char *function, const char *name,
                               const tdm_buffer *buffer) TDM_MUST_USE;

#endif
