/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The launch of bias_add, which is also the epilogue of a product. */
#ifndef TDMI_BIAS_ADD_H
#define TDMI_BIAS_ADD_H

#include "launch.h"

/* mems: x, bias, residual, y. Of variant t and op are given; args but for the chunks, with rows and
 * columns that are not 0 and fewer than 2^31 columns. residual_stride is that of x where there is
 * no residual. in_place: y's buffer is one that is read, too. */
tdm_status tdmi_run_bias_add(tdm_queue *queue, tdmi_variant variant, bool in_place,
                             const tdmi_mem *const mems[4], tdm_bias_add_args *args) TDM_MUST_USE;

/* Refuses what is no activation. */
tdm_status tdmi_check_activation(const char *function, tdm_activation activation) TDM_MUST_USE;

#endif
