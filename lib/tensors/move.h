/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Moving tensors, for the files that move many at once. */
#ifndef TDMI_MOVE_H
#define TDMI_MOVE_H

#include <tandem/move.h>

/* y[i] = x[i] on `device`, as tdm_to does it, all in one transfer; the x have been checked and are
 * on the queue's device. On failure all y are zero. */
tdm_status tdmi_move(const char *function, tdm_queue *queue, size_t count, const tdm_tensor *x,
                     tdm_device *device, tdm_tensor *y) TDM_MUST_USE;

#endif
