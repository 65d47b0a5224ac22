/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Keeps BLAS libraries from being used while the process ends and they take themselves down. */
#ifndef TDMI_HOST_ENDING_H
#define TDMI_HOST_ENDING_H

#include <stdbool.h>

#include "base/blas_list.h"

/* A use of a library: a product, where each code path that a library may have is a kind, below TDMI_PRODUCT_KINDS; or
 * one of these. */
enum { TDMI_PRODUCT_KINDS = 32, TDMI_KIND_OPEN = TDMI_PRODUCT_KINDS, TDMI_KIND_PREPARE };

/* Around whatever calls a library. False: the process is ending, and the library must not be called any
 * more. Any thread. */
bool tdmi_use_begin(void);
void tdmi_use_end(tdmi_blas_id library, unsigned kind);

#endif
