/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The test kernels in C for a 16-bit dtype, T_ID. Included once by each of kernels_c_<dtype>.c. */
#define TDMI_ISA test
#include "dialect_c.h"
#include "dtypes.h"
/* behind dtypes.h */
#include "lines.h"
#include "numeric.h"
/* behind numeric.h */
#include "random.h"
#include "reduce.h"

#define U_ID T_ID
#include "macros.cl"
