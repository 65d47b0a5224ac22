/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of functions, which load.c fills in. */
#include "api.h"

tdmi_cl_functions tdmi_cl;
