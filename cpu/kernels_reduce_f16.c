/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of f16, compiled once per instruction set. */
#define T_ID 2 /* TDM_F16 */
#include "kernels_reduce_16.h"
