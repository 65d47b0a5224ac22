/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The test kernels in C for bf16. */
#define T_ID 3 /* TDM_BF16 */
#include "kernels_c_16.h"
