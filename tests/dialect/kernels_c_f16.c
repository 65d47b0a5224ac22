/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The test kernels in C for f16. */
#define T_ID 2 /* TDM_F16 */
#include "kernels_c_16.h"
