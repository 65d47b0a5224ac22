/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What makes elements of T_ID, or only moves them. Signed integers have the bits of unsigned ones. Included once for
 * each dtype. */
#if T_KIND == TDM_KIND_UNSIGNED
#include "fill.cl"
#include "gather_rows.cl"
#include "one_hot.cl"
#include "sort_keys.cl"
#include "sort_select.cl"
#include "sort_take.cl"
#include "transpose.cl"
#endif
#if T_ID == TDM_ID_U32
#include "scatter_order.cl"
#endif
#if T_ID == TDM_ID_U64
#include "sort_merge.cl"
#endif
#if T_KIND != TDM_KIND_SIGNED
#include "random.cl"
#include "range.cl"
#endif
