/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers and ranges of every dtype, compiled once per instruction set. */
#include "dialect_c.h"
#include "numeric.h"
#include "random.h"

#define U_ID T_ID
#define T_ID 0
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 1
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 2
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 3
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 4
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 5
#include "random.cl"
#include "range.cl"
#undef T_ID
#define T_ID 6
#include "random.cl"
#include "range.cl"
