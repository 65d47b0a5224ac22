/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A function of expressions as a call, for those that have a kernel for floats of one dtype, too. */
#ifndef TDMI_OPS_FUNCTIONS_H
#define TDMI_OPS_FUNCTIONS_H

#include "kernels/kernel.h"

/* y = f(a, b) by the device's kernel number `which`, a TDM_FUNCTION_, made of the text with the first call. Checks
 * everything. */
tdm_status tdmi_function_of_two(const char *function, tdm_queue *queue, int which, const char *text,
                                const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y);

#endif
