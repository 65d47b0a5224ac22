/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Its case in the function that chooses among the casts to T_ID. */
#if CAST_EXISTS
case U_ID:
TDM_ENTRY(cast)(group, buffers, args);
break;
#endif
