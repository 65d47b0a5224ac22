/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts between all dtypes, and fill, compiled once per instruction set. */
#include "dialect_c.h"
#include "numeric.h"

#define T_ID 0
#include "kernels_cast.h"
#undef T_ID
#define T_ID 1
#include "kernels_cast.h"
#undef T_ID
#define T_ID 2
#include "kernels_cast.h"
#undef T_ID
#define T_ID 3
#include "kernels_cast.h"
#undef T_ID
#define T_ID 4
#include "kernels_cast.h"
#undef T_ID
#define T_ID 5
#include "kernels_cast.h"
#undef T_ID
#define T_ID 6
#include "kernels_cast.h"
