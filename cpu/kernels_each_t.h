/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Includes EACH_T once for each dtype, with its number as T_ID. No include guard, as it is meant
 * to be included again. */
#define T_ID 0
#include EACH_T
#undef T_ID
#define T_ID 1
#include EACH_T
#undef T_ID
#define T_ID 2
#include EACH_T
#undef T_ID
#define T_ID 3
#include EACH_T
#undef T_ID
#define T_ID 4
#include EACH_T
#undef T_ID
#define T_ID 5
#include EACH_T
#undef T_ID
#define T_ID 6
#include EACH_T
#undef T_ID
#define T_ID 7
#include EACH_T
#undef T_ID
#define T_ID 8
#include EACH_T
#undef T_ID
#define T_ID 9
#include EACH_T
#undef T_ID
#define T_ID 10
#include EACH_T
#undef T_ID
#define T_ID 11
#include EACH_T
#undef T_ID
#define T_ID 12
#include EACH_T
#undef T_ID
_Static_assert(TDM_DTYPE_COUNT == 13, "a dtype has no lines above");
