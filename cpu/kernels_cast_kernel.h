/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cast from U_ID to T_ID, where there is one: tdmi_cast_variant makes the others of these. */
#if CAST_EXISTS
#include "cast.cl"
#endif
