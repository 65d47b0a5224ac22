/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What makes elements of T_ID, or only moves them. Signed integers have the bits of unsigned ones. Included once for
 * each dtype. */
#if T_KIND == TDM_KIND_UNSIGNED
#include "fill.cl"
#include "transpose.cl"
#endif
#if T_KIND != TDM_KIND_SIGNED
#include "random.cl"
#include "range.cl"
#endif
