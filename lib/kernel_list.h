/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels as the core sees them: their list, and their sources, which the build embeds. */
#ifndef TDMI_KERNEL_LIST_H
#define TDMI_KERNEL_LIST_H

#include <string.h>

#include "backend.h"
#include "manifest.h"

/* A host f64 in the two forms that kernels take. */
static inline tdm_scalar tdmi_scalar(double value) {
    tdm_scalar scalar = {.f32 = (float)value};
    memcpy(&scalar.f64_bits, &value, sizeof value);
    return scalar;
}

/* A source file as the build embedded it; the list ends where file is NULL. */
typedef struct tdmi_embedded_text {
    const char *file;
    const char *text;
} tdmi_embedded_text;

extern const tdmi_embedded_text tdmi_embedded_texts[];

/* The dialect in C, which defines the macros that it has in every language. */
extern const char tdmi_dialect_c[];

#endif
