/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts to a 16-bit float, T_ID. Included once by each of kernels_cast_<dtype>.c. */
#include "dialect_c.h"
#include "dtypes.h"
/* behind dtypes.h */
#include "lines.h"
#include "numeric.h"
/* behind numeric.h */
#include "convert.h"

#include "kernels_cast_to.h"
