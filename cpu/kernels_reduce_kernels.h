/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of T_ID, as which signed integers, bools and the bits of floats are read, too. Included once for each
 * dtype. */
#if T_KIND == TDM_KIND_UNSIGNED
#include "extreme.cl"
#include "reduce.cl"
#endif
