/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts between all dtypes but to 16-bit floats, compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "convert.h"

#define EACH_T "kernels_cast_wide.h"
#include "kernels_each_t.h"
