/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* f16 to f32 and back by the processor's own instructions. */
#ifndef TDMI_HOST_HALF_H
#define TDMI_HOST_HALF_H

#include "host/kernels.h"

/* Is there such an instruction for these dtypes? */
bool tdmi_half_has(tdm_dtype from, tdm_dtype to);

/* to = from, rounded to nearest even, for dtypes that it has. */
void tdmi_half_convert(int64_t rows, int64_t cols, tdmi_host_matrix from, tdmi_host_matrix to);

#endif
