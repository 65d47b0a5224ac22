/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Findings of the search for libraries and devices, kept for the diagnostics. */
#include "base/findings.h"

#include "backend.h"
#include "base/log.h"

enum { LIMIT = 512 };

static tdm_diagnostic items[LIMIT];
static size_t item_count;
static tdmi_mutex lock = TDMI_MUTEX_INIT;

static const char *keep(const char *text) {
    char *copy = tdmi_strdup(text ? text : "");
    if (!copy) return "";
    tdmi_clean_text(copy, true);
    return copy;
}

static void add(tdm_diagnostic_kind kind, bool ok, bool missing, const char *subject,
                const char *detail, const char *advice) {
    tdmi_log(TDM_LOG_DEBUG, "%s: %s%s%s", subject, detail ? detail : "",
             advice && *advice ? "; " : "", advice ? advice : "");
    TDMI_LOCKED(&lock);
    if (item_count < LIMIT)
        items[item_count++] = (tdm_diagnostic){.kind = kind,
                                               .ok = ok,
                                               .missing = missing,
                                               .subject = keep(subject),
                                               .detail = keep(detail),
                                               .advice = keep(advice)};
}

void tdmi_diagnose(tdm_diagnostic_kind kind, bool ok, const char *subject, const char *detail,
                   const char *advice) {
    add(kind, ok, false, subject, detail, advice);
}

void tdmi_diagnose_missing(tdm_diagnostic_kind kind, const char *subject, const char *detail,
                           const char *advice) {
    add(kind, false, true, subject, detail, advice);
}

const tdm_diagnostic *tdmi_findings(size_t *count) {
    TDMI_LOCKED(&lock);
    *count = item_count;
    return items;
}
