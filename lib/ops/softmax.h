/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* softmax, as its public functions are made of it. */
#ifndef TDMI_OPS_SOFTMAX_H
#define TDMI_OPS_SOFTMAX_H

#include <tandem/arrays.h>

/* op: 0, or TDM_OP_SOFTMAX_LOG. The mask is of x's dtype. */
tdm_status tdmi_softmax(const char *function, tdm_queue *queue, unsigned op,
                        const tdm_softmax_options *options, const tdm_tensor *x,
                        const tdm_tensor *y) TDM_MUST_USE;

/* Its checks of shapes, strides and options; the mask may be of any dtype. */
tdm_status tdmi_check_softmax(const char *function, const tdm_softmax_options *options,
                              const tdm_tensor *x, const tdm_tensor *y) TDM_MUST_USE;

#endif
