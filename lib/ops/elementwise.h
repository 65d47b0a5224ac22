/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TDMI_OPS_ELEMENTWISE_H
#define TDMI_OPS_ELEMENTWISE_H

#include <tandem/tensor.h>

/* y = a op b, a TDM_OP_, of floats of one dtype. Checks everything. */
tdm_status tdmi_combine_alike(const char *function, tdm_queue *queue, unsigned op,
                              const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *y);

#endif
