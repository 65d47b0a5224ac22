/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels as the core sees them: their sources (embedded by the build) and argument structs. */
#ifndef TDMI_KERNEL_LIST_H
#define TDMI_KERNEL_LIST_H

#include <string.h>

#include "args.h"
#include "backend.h"

typedef enum tdmi_kernel_id {
#define TDMI_KERNEL_ENUM(ID, entry, buffers, args) TDMI_KERNEL_##ID,
    TDM_KERNEL_LIST(TDMI_KERNEL_ENUM)
#undef TDMI_KERNEL_ENUM
        TDMI_KERNEL_COUNT,
    TDMI_KERNEL_USER = TDMI_KERNEL_COUNT /* a user's: tdmi_variant.user says which */
} tdmi_kernel_id;

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
