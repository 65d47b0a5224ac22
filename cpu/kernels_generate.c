/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What makes elements (fill, ranges, random numbers) and what moves them (transposed copies, rows that indices
 * name, sorts), compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "random.h"
#include "reduce.h"
/* behind reduce.h */
#include "select.h"

#define U_ID T_ID
#define EACH_T "kernels_generate_kernels.h"
#include "kernels_each_t.h"
