/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts to f16, compiled once per instruction set. */
#define T_ID 2 /* TDM_F16 */
#include "kernels_cast_16.h"
