/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions but of 16-bit floats, compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "reduce.h"
/* behind reduce.h */
#include "groups.h"

#define U_ID T_ID
#define EACH_T "kernels_reduce_kernels.h"
#include "kernels_each_t.h"
