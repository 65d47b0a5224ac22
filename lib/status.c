/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Status names and the thread's last error message. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "log.h"
#include "machine/text.h"
#include "threads.h"

#include <tandem/library.h>
#include <tandem/tandem.h>

static _Thread_local char last_error[2048];

const char *tdm_version(void) {
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
    return TEXT(TDM_VERSION_MAJOR) "." TEXT(TDM_VERSION_MINOR) "." TEXT(TDM_VERSION_PATCH);
}

const char *tdm_status_name(tdm_status status) {
    switch (status) {
#define NAME_CASE(name, text)                                                                      \
    case TDM_##name:                                                                               \
        return "TDM_" #name;
        TDM_STATUS_LIST(NAME_CASE)
    case TDM_STATUS_COUNT:
        break;
    }
    return "TDM_STATUS_UNKNOWN";
}

const char *tdm_status_text(tdm_status status) {
    switch (status) {
#define TEXT_CASE(name, text)                                                                      \
    case TDM_##name:                                                                               \
        return text;
        TDM_STATUS_LIST(TEXT_CASE)
    case TDM_STATUS_COUNT:
        break;
    }
    return "unknown status";
}

const char *tdm_last_error(void) { return last_error; }

tdm_status tdmi_fail(tdm_status status, const char *format, ...) {
    /* Formatted aside, because an argument may be the message that is being replaced. */
    char text[sizeof last_error];
    va_list list;
    va_start(list, format);
    tdmi_print_list(text, sizeof text, format, list);
    va_end(list);
    memcpy(last_error, text, sizeof text);
    tdmi_log(TDM_LOG_DEBUG, "%s: %s", tdm_status_name(status), last_error);
    return status;
}

tdm_status tdm_fail(tdm_status status, const char *sentence) {
    TDMI_UNCANCELLED();
    return tdmi_fail(status, "%s", sentence ? sentence : tdm_status_text(status));
}

tdm_status tdmi_fail_in(tdm_status status, const char *format, ...) {
    char context[512];
    va_list list;
    va_start(list, format);
    tdmi_print_list(context, sizeof context, format, list);
    va_end(list);
    char before[sizeof last_error];
    memcpy(before, last_error, sizeof before);
    return tdmi_fail(status, "%s: %.*s", context, (int)(sizeof before - sizeof context - 3),
                     before);
}

void tdmi_outcome_add(tdmi_outcome *outcome, tdm_status status) {
    if (status == TDM_OK || outcome->status != TDM_OK) return;
    outcome->status = status;
    snprintf(outcome->why, sizeof outcome->why, "%s", last_error);
}

tdm_status tdmi_outcome_end(const tdmi_outcome *outcome) {
    if (outcome->status == TDM_OK) return TDM_OK;
    return tdmi_fail(outcome->status, "%s", outcome->why);
}
