/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plan of an elementwise kernel over strided tensors of one shape. */
#ifndef TDMI_STRIDED_H
#define TDMI_STRIDED_H

#include "launch.h"

/* Runs an elementwise kernel (elementwise, cast, fill). operands[0] is y; a NULL operand is not
 * bound. The dimensions are reordered after y's strides and merged where all operands allow it, so
 * that contiguous tensors become one row. args gives alpha; its other members are filled in here.
 * The tensors have been checked; an empty y is a no-op. */
tdm_status tdmi_run_strided(tdm_queue *queue, tdmi_variant variant,
                            const tdm_tensor *const operands[3],
                            tdm_elementwise_args *args) TDM_MUST_USE;

/* Checks an input and an output of one dtype, whatever it is; whether y may be x. */
tdm_status tdmi_check_alike(const char *function, tdm_queue *queue, const tdm_tensor *x,
                            const tdm_tensor *y, bool may_be_same) TDM_MUST_USE;

/* Copies x to a y of its shape: bit by bit where that has its dtype, else as tdm_cast does. */
tdm_status tdmi_copy_into(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *y) TDM_MUST_USE;

#endif
