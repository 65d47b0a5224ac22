/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Findings of the search for libraries and devices: tdmi_diagnose (backend.h) adds to them. */
#ifndef TDMI_FINDINGS_H
#define TDMI_FINDINGS_H

#include <tandem/device.h>

/* All items so far, in the order in which they were added; they never move. */
const tdm_diagnostic *tdmi_findings(size_t *count);

#endif
