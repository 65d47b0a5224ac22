/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tdm_status tdmi_comm_error(tdm_status status, const char *format, ...) {
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return tdm_fail(status, text);
}

tdm_status tdmi_comm_error_of(const char *function, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    const char *said = tdm_last_error(), *rest = strstr(said, ": ");
    const bool named = strncmp(said, "tdm_", 4) == 0 && rest;
    return tdmi_comm_error(status, "%s: %.1900s", function, named ? rest + 2 : said);
}

void tdmi_comm_outcome_add(tdmi_comm_outcome *outcome, tdm_status status) {
    if (status == TDM_OK || outcome->status != TDM_OK) return;
    outcome->status = status;
    snprintf(outcome->why, sizeof outcome->why, "%s", tdm_last_error());
}

tdm_status tdmi_comm_outcome_end(const tdmi_comm_outcome *outcome) {
    return outcome->status == TDM_OK ? TDM_OK : tdm_fail(outcome->status, outcome->why);
}
