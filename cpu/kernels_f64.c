/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels for f64, compiled once per instruction set. */
#define T_ID 1 /* TDM_F64 */
#include "kernels_dtype.h"
