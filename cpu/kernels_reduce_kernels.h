/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of T_ID, unless that has a file of its own: of floats, and of unsigned integers, as which signed ones,
 * bools and, where elements are compared, the bits of floats are read. Included once for each dtype. */
#if T_KIND == TDM_KIND_UNSIGNED
#include "extreme.cl"
#endif
#if T_KIND == TDM_KIND_UNSIGNED || (T_IS_FLOAT && T_SIZE != 2)
#include "reduce.cl"
#undef U_ID
#if T_IS_FLOAT
#define U_ID T_ID
#else
#define U_ID TDM_ID_U64 /* what sums of integers are */
#endif
#include "cumsum.cl"
#undef U_ID
#define U_ID T_ID
#endif
