/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Includes EACH_U once for each dtype, with its number as U_ID. No include guard, as it is meant
 * to be included again. */
#define U_ID 0
#include EACH_U
#undef U_ID
#define U_ID 1
#include EACH_U
#undef U_ID
#define U_ID 2
#include EACH_U
#undef U_ID
#define U_ID 3
#include EACH_U
#undef U_ID
#define U_ID 4
#include EACH_U
#undef U_ID
#define U_ID 5
#include EACH_U
#undef U_ID
#define U_ID 6
#include EACH_U
#undef U_ID
#define U_ID 7
#include EACH_U
#undef U_ID
#define U_ID 8
#include EACH_U
#undef U_ID
#define U_ID 9
#include EACH_U
#undef U_ID
#define U_ID 10
#include EACH_U
#undef U_ID
#define U_ID 11
#include EACH_U
#undef U_ID
#define U_ID 12
#include EACH_U
#undef U_ID
_Static_assert(TDM_DTYPE_COUNT == 13, "a dtype has no lines above");
