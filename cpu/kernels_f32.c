/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels for f32, compiled once per instruction set. */
#define T_ID 0 /* TDM_F32 */
#include "kernels_dtype.h"
