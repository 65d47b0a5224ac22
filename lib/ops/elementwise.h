/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on elements, for others that are made of them. */
#ifndef TDMI_OPS_ELEMENTWISE_H
#define TDMI_OPS_ELEMENTWISE_H

#include "user_kernels/kernel.h"

/* y = a op b, a TDM_OP_, of floats of one dtype. Checks everything. */
tdm_status tdmi_combine_alike(const char *function, tdm_queue *queue, unsigned op,
                              const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *y);

/* The kernels of expressions that a device keeps: those of function_list.h, and these. */
enum {
    TDMI_CLAMP_NUMBERS = TDM_FUNCTION_COUNT,
    TDMI_CLAMP_INTEGERS,
    TDMI_NEXT_F16,
    TDMI_NEXT_BF16,
    TDMI_TRIL,
    TDMI_TRIU,
    TDMI_IS_IN,
    TDMI_FLAT_PLACE,
    TDMI_KEPT_KERNEL_COUNT
};

_Static_assert((int)TDMI_KEPT_KERNEL_COUNT <= (int)TDMI_MOST_KEPT_KERNELS, "one for each kernel");

#endif
