/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors that an operation of several launches has between them. */
#ifndef TDMI_TEMPORARY_H
#define TDMI_TEMPORARY_H

#include "core.h"

/* A contiguous tensor for work on the queue, to be released when that is queued: what comes to its memory next runs
 * after it, and a graph that is recorded holds it. */
tdm_status tdmi_temporary(tdm_queue *queue, tdm_dtype dtype, int ndim, const int64_t *shape,
                          tdm_tensor *tensor) TDM_MUST_USE;

#endif
