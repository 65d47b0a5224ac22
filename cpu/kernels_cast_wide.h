/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts to T_ID, unless that has a file of its own. */
#if T_ID != 2 && T_ID != 3
#include "kernels_cast_to.h"
#endif
