/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The checks of a linear layer. */
#ifndef TDMI_LINEAR_H
#define TDMI_LINEAR_H

#include <tandem/layers.h>

/* All of tdm_linear's arguments; x and y as matrices. y's last extent is `out`, or -1: that of the weight alone. */
tdm_status tdmi_check_linear(const char *function, tdm_queue *queue, const tdm_tensor *x,
                             const tdm_tensor *weight, const tdm_tensor *bias,
                             tdm_activation activation, int64_t out, const tdm_tensor *y,
                             tdm_tensor *x_rows, tdm_tensor *y_rows) TDM_MUST_USE;

#endif
