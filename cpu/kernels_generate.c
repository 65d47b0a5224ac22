/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Fill, ranges, random numbers and transposed copies, compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "random.h"

#define U_ID T_ID
#define EACH_T "kernels_generate_kernels.h"
#include "kernels_each_t.h"
