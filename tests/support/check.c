/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reporting through Criterion, and the comparison of numbers. */
#include "check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tandem/tandem.h>

#include "random.h"

enum { FAILURES_SHOWN = 5 };

static char case_text[512] = "";
static char device_text[64] = "no device";
static int failures;

void check_case(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(case_text, sizeof case_text, format, args);
    va_end(args);
}

void check_device(const char *id) { snprintf(device_text, sizeof device_text, "%s", id); }

void check_fail(const char *file, int line, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *slash = strrchr(file, '/');
    failures++;
    char whole[3072];
    snprintf(whole, sizeof whole, "%s:%d: %s\n    case: %s\n    device: %s, TDM_TEST_SEED=%llu",
             slash ? slash + 1 : file, line, text, case_text, device_text,
             (unsigned long long)random_seed());
    if (failures < FAILURES_SHOWN)
        cr_expect_fail("%s", whole);
    else
        cr_assert_fail("%s\n    (five failures: the test ends here)", whole);
}

static void (*before_skip)(void);

void check_before_skip(void (*clean_up)(void)) { before_skip = clean_up; }

void check_skip(const char *reason) {
    if (before_skip) before_skip();
    cr_skip_test("%s", reason);
}

static _Thread_local char message_before[512];

void check_before(void) { snprintf(message_before, sizeof message_before, "%s", tdm_last_error()); }

bool check_ok(const char *file, int line, const char *call, tdm_status status) {
    const char *message = tdm_last_error();
    if (status == TDM_OK && strncmp(message_before, message, sizeof message_before - 1) != 0)
        check_fail(file, line, "%s\n    succeeded and left the message '%s'", call, message);
    if (status == TDM_OK) return true;
    check_fail(file, line, "%s\n    gave %s: %s", call, tdm_status_name(status), tdm_last_error());
    return false;
}

bool contains_words(const char *text, const char *words) {
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words ? words : "");
    char *rest = NULL;
    for (char *word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
        size_t length = strlen(word);
        bool found = false;
        for (const char *at = text; *at && !found; at++)
            found = strncasecmp(at, word, length) == 0;
        if (!found) return false;
    }
    return true;
}

static const char earlier[] = "the message of an earlier failure";

void check_before_refusal(void) { (void)tdm_fail(TDM_ERROR_BACKEND, earlier); }

bool check_refused(const char *file, int line, const char *call, tdm_status status,
                   tdm_status wanted, const char *words) {
    const char *message = tdm_last_error();
    if (status != wanted) {
        check_fail(file, line, "%s\n    gave %s (%s), not %s", call, tdm_status_name(status),
                   status == TDM_OK ? "" : message, tdm_status_name(wanted));
        return false;
    }
    if (!message[0] || strcmp(message, earlier) == 0 || !contains_words(message, words)) {
        check_fail(file, line, "%s\n    message '%s' lacks one of '%s'", call, message,
                   words ? words : "any text");
        return false;
    }
    return true;
}

int64_t first_difference(const double *got, const double *want, const double *bound,
                         int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double limit = bound ? bound[i] : 0.0;
        bool near;
        if (isnan(want[i]) || isinf(want[i])) {
            near = isnan(want[i]) ? isnan(got[i]) : got[i] == want[i];
        } else {
            /* Written so that a NaN in got or in the bound is a difference. */
            near = fabs(got[i] - want[i]) <= limit;
        }
        if (!near) return i;
    }
    return -1;
}
