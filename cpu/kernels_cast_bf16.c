/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts to bf16, compiled once per instruction set. */
#define T_ID 3 /* TDM_BF16 */
#include "kernels_cast_16.h"
