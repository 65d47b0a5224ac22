/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Status names, the thread's last error message, and the log that a program may ask for. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/output.h"
#include "base/text.h"
#include "base/threads.h"

#include <tandem/library.h>
#include <tandem/tandem.h>

/* ---- the log ---- */

volatile int tdmi_forked;

static atomic_int most; /* the level up to which lines are wanted */
static tdmi_mutex lock = TDMI_MUTEX_INIT;
static struct {
    tdm_log_function function;
    void *user;
} sink;
static bool is_set;             /* by the program */
static tdmi_output_file output; /* of TANDEM_LOG */

void tdm_set_log(tdm_log_level level, tdm_log_function function, void *user) {
    TDMI_UNCANCELLED();
    if (tdmi_forked) return;
    TDMI_LOCKED(&lock);
    is_set = true;
    sink.function = function;
    sink.user = user;
    atomic_store(&most, function ? (int)level : TDM_LOG_OFF);
}

static void write_line(tdm_log_level level, const char *line, void *user) {
    static const char *const words[] = {"", "error", "warning", "info", "debug"};
    const int error = errno;
    char text[1100];
    (void)user;
    const int length = snprintf(text, sizeof text, "tandem: %s: %s\n", words[level], line);
    if (length > 0) (void)!tdmi_output_write(&output, text, (size_t)length);
    errno = error;
}

bool tdmi_log_to(tdm_log_level level, const char *path) {
    TDMI_LOCKED(&lock);
    if (!tdmi_output_open(&output, path, true)) return false;
    if (is_set) return true;
    sink.function = write_line;
    atomic_store(&most, (int)level);
    return true;
}

bool tdmi_logs(tdm_log_level level) {
    return atomic_load_explicit(&most, memory_order_relaxed) >= (int)level;
}

void tdmi_log(tdm_log_level level, const char *format, ...) {
    if (!tdmi_logs(level) || tdmi_forked) return; /* a thread of the parent may have had the lock */
    char line[1024];
    va_list list;
    va_start(list, format);
    tdmi_print_list(line, sizeof line, format, list);
    va_end(list);
    tdmi_clean_text(line, false);
    tdmi_mutex_lock(&lock);
    tdm_log_function function = sink.function;
    void *user = sink.user;
    tdmi_mutex_unlock(&lock);
    /* not under the lock: the function may take its time */
    if (function) function(level, line, user);
}

/* ---- statuses ---- */

static _Thread_local char last_error[2048];
static _Thread_local struct {
    int depth;
    bool failed;
    char message[sizeof last_error]; /* before the first failure */
} attempt;

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
    if (attempt.depth > 0 && !attempt.failed) {
        memcpy(attempt.message, last_error, sizeof text);
        attempt.failed = true;
    }
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

void tdmi_attempt_begin(void) {
    if (attempt.depth++ == 0) attempt.failed = false;
}

tdm_status tdmi_attempt_end(tdm_status status) {
    if (--attempt.depth == 0 && attempt.failed && status == TDM_OK)
        memcpy(last_error, attempt.message, sizeof last_error);
    return status;
}

void tdmi_outcome_add(tdmi_outcome *outcome, tdm_status status) {
    if (status == TDM_OK || outcome->status != TDM_OK) return;
    outcome->status = status;
    snprintf(outcome->why, sizeof outcome->why, "%s",
             last_error[0] ? last_error : tdm_status_text(status));
}

tdm_status tdmi_outcome_end(const tdmi_outcome *outcome) {
    if (outcome->status == TDM_OK) return TDM_OK;
    return tdmi_fail(outcome->status, "%s", outcome->why);
}
