/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts between all dtypes, compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "convert.h"

#define EACH_T "kernels_cast_to.h"
#include "kernels_each_t.h"
