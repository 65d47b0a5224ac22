/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of a 16-bit float, T_ID. Included once by each of kernels_reduce_<dtype>.c. */
#include "dialect_c.h"
#include "dtypes.h"
/* behind dtypes.h */
#include "lines.h"
#include "numeric.h"
/* behind numeric.h */
#include "reduce.h"
/* behind reduce.h */
#include "groups.h"

#define U_ID T_ID
#include "cumsum.cl"
#include "reduce.cl"

/* sums so far may go to f32 */
#undef U_ID
#define U_ID TDM_ID_F32
#include "cumsum.cl"
