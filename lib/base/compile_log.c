/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Each thread's last compiler log. It has any length, so it is kept apart from the last error. */

#include <tandem/kernel.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/threads.h"

static tdmi_once once = TDMI_ONCE_INIT;
static tdmi_key key;
static bool has_key;

static void make_key(void) { has_key = tdmi_key_create(&key, tdmi_free); }

void tdmi_keep_compile_log(const char *log) {
    tdmi_once_run(&once, make_key);
    if (!has_key) return;
    char *kept = tdmi_strdup(log), *before = tdmi_key_get(key);
    if (tdmi_key_set(key, kept))
        tdmi_free(before);
    else
        tdmi_free(kept);
}

const char *tdm_last_compile_log(void) {
    TDMI_UNCANCELLED();
    tdmi_once_run(&once, make_key);
    const char *log = has_key ? tdmi_key_get(key) : NULL;
    return log ? log : "";
}
