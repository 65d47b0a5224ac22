/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* fill of T_ID and the casts from every dtype to T_ID, as C. Included by kernels_cast.c once for
 * each T_ID, so it has no include guard. */
#define U_ID 0
#include "cast.cl"
#undef U_ID
#define U_ID 1
#include "cast.cl"
#undef U_ID
#define U_ID 2
#include "cast.cl"
#undef U_ID
#define U_ID 3
#include "cast.cl"
#undef U_ID
#define U_ID 4
#include "cast.cl"
#undef U_ID
#define U_ID 5
#include "cast.cl"
#undef U_ID
#define U_ID 6
#include "cast.cl"
#include "fill.cl"
#undef U_ID
