/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Making tensors, for other files. */
#ifndef TDMI_CREATE_H
#define TDMI_CREATE_H

#include <tandem/create.h>

/* A contiguous tensor with x's content, for the caller to release: x itself with one more
 * reference, or a copy, bit by bit, that the queue, which is of x's device, makes. x has been
 * checked; *packed is all zero on failure. */
tdm_status tdmi_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) TDM_MUST_USE;

/* Bytes of all elements of a tensor that has been checked. */
size_t tdmi_bytes_of(const tdm_tensor *x);

#endif
