/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of bf16, compiled once per instruction set. */
#define T_ID 3 /* TDM_BF16 */
#include "kernels_reduce_16.h"
