/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The findings of `tdm doctor`: diagnostics of the library, and the program's own trials. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/device.h>

typedef enum finding_state {
    FINDING_OK,
    FINDING_MISSING, /* an optional thing that is not installed */
    FINDING_BROKEN   /* installed, and does not work; or set, and refused */
} finding_state;

typedef struct finding {
    tdm_diagnostic_kind kind;
    finding_state state;
    const char *subject, *detail, *advice;
} finding;

typedef struct findings {
    finding *items; /* allocated texts */
    size_t count;
} findings;

/* Adds a finding whose texts are copied, or replaces the one with that kind and subject. */
void findings_put(findings *list, const finding *item);
void findings_free(findings *list);

bool findings_have(const findings *list, finding_state state);

#endif
